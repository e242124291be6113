"""Text files in UTF-16, as spreadsheets and PowerShell save them, as the UTF-8 that the readers take."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from hmrouter.logs.base import problem
from hmrouter.logs.files import head, open_bytes

_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_BLOCK = 2**16


def text_head(path: Path) -> bytes:
    """Read the beginning of a file as UTF-8, for sniffing; what is no text is left as it is."""
    start = head(path)
    name = _encoding(start)
    return start[2:].decode(name, "ignore").encode("utf-8", "replace") if name else start


@contextmanager
def open_utf8(path: Path) -> Iterator[BinaryIO]:
    """Open a text file as UTF-8, whichever of the two encodings its byte order mark says."""
    name = _encoding(head(path))
    with open_bytes(path) as stream:
        yield stream if name is None else cast(BinaryIO, io.BufferedReader(_Recoded(path, stream, name)))


def _encoding(start: bytes) -> str | None:
    return None if start.startswith(_UTF32) else _MARKS.get(start[:2])


class _Recoded(io.RawIOBase):
    """Bytes of one encoding, read as UTF-8; no more than a block of them is held."""

    def __init__(self, path: Path, stream: BinaryIO, name: str) -> None:
        self._path, self._stream = path, stream
        self._decoder = codecs.getincrementaldecoder(name)()
        self._held = b""
        stream.read(2)  # the byte order mark

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._held:
            block = self._stream.read(_BLOCK)
            try:
                self._held = self._decoder.decode(block, final=not block).encode()
            except UnicodeError as error:
                raise problem(self._path, f"is not valid UTF-16: {error.args[-1]}") from None
            if not block:
                break
        size = min(len(buffer), len(self._held))
        buffer[:size], self._held = self._held[:size], self._held[size:]
        return size
