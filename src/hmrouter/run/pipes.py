"""What a child prints on its two streams, as lines, read by one thread without waiting for either."""

from __future__ import annotations

import os
import selectors
import subprocess
from collections.abc import Callable
from types import TracebackType
from typing import Self

PART = 2**16
"""Bytes read at once."""
LONGEST_LINE = 2**24
"""Bytes; the rest of a longer line is dropped. Some harnesses print a whole session as one line."""


class Pipes:
    """The output of a child with pipes as its standard output and standard error."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._selector = selectors.DefaultSelector()
        self._begun: dict[str, bytearray] = {}
        """The beginning of a line that has no end yet, for each open stream."""
        for name, stream in (("stdout", child.stdout), ("stderr", child.stderr)):
            if stream is not None:
                self._selector.register(stream, selectors.EVENT_READ, name)
                self._begun[name] = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]  # registered as an object, never as a number
        self._selector.close()

    @property
    def closed(self) -> bool:
        """Whether every stream has come to its end."""
        return not self._begun

    def read(self, seconds: float, hear: Callable[[str, str], None]) -> bool:
        """Wait so long for output and pass each whole line on with its stream's name; says whether there was any."""
        heard = False
        for key, _ in self._selector.select(seconds):
            name = key.data
            part = os.read(key.fd, PART)
            begun = self._begun[name]
            if part:
                heard = True
                *lines, rest = part.split(b"\n")
                for line in lines:
                    hear(name, _text(begun + line))
                    begun.clear()
                begun += rest[: LONGEST_LINE - len(begun)]
            else:
                if begun:
                    hear(name, _text(begun))
                del self._begun[name]
                self._selector.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
        return heard


def _text(line: bytes | bytearray) -> str:
    return line[:LONGEST_LINE].decode("utf-8", "replace").rstrip("\r")
