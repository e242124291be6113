"""Decoding bzip2 and xz in blocks of a bounded size; the standard library's files and archives do not bound them."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from hmrouter.logs.base import problem
from hmrouter.logs.members import BLOCK


class Stream(Protocol):
    """Something that bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Read at most so many bytes; none at the end."""


class Decoder(Protocol):
    """What `bz2` and `lzma` decode with."""

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was reached."""

    @property
    def needs_input(self) -> bool:
        """Whether it has nothing more to give for what it got."""

    @property
    def unused_data(self) -> bytes:
        """What was found behind the end of the stream."""

    def decompress(self, data: bytes, max_length: int = ...) -> bytes:
        """Decode to at most so many bytes."""


class Decompressor:
    """Decodes bzip2 or xz data in blocks."""

    def __init__(self, path: Path, raw: Stream, start: Callable[[], Decoder]) -> None:
        self._path, self._raw, self._start = path, raw, start
        self._decoder = start()

    def read(self, size: int, /) -> bytes:
        """Read at most so many decoded bytes; none at the end."""
        try:
            while True:
                data = b""
                if self._decoder.eof:  # perhaps another stream follows, after a padding of zeros
                    data = (self._decoder.unused_data or self._raw.read(BLOCK)).lstrip(b"\0")
                    if not data:
                        return b""
                    self._decoder = self._start()
                elif self._decoder.needs_input and not (data := self._raw.read(BLOCK)):
                    raise EOFError("it ends too early")
                if block := self._decoder.decompress(data, size):
                    return block
        except (EOFError, OSError, lzma.LZMAError) as error:
            raise problem(self._path, f"the compressed data is truncated or corrupt ({error})") from None
