"""The folder of what a harness printed and left: keys masked, and never larger than its limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from hmrouter.errors import OutputError

CUT = "[the rest was not kept: over the limit of {limit:,} bytes]\n"


class KeptOutput:
    """Takes lines while a child runs, and looks over the files that the harness left when it is closed."""

    def __init__(self, folder: Path, limit: int, mask: Callable[[str], str]) -> None:
        self.folder = folder
        self._room = self._limit = limit
        self._mask = mask
        self._files: dict[str, BinaryIO] = {}

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for stream in ("stdout", "stderr"):
                self._files[stream] = (self.folder / f"{stream}.log").open("wb")
        except OSError as error:
            raise self._refusal(error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()
        own = {f"{stream}.log" for stream in self._files}
        for path in sorted(self.folder.rglob("*")):
            if path.name not in own and path.is_file() and not path.is_symlink():
                self._look_over(path)

    def add(self, stream: str, text: str) -> None:
        """Keep one line, as long as there is room."""
        if self._room <= 0:
            return
        line = f"{self._mask(text)}\n".encode("utf-8", "replace")
        try:
            self._files[stream].write(line[: self._room])
            self._room -= len(line)
            if self._room <= 0:
                self._files[stream].write(CUT.format(limit=self._limit).encode())
            self._files[stream].flush()  # who looks at a running attempt sees all of it
        except OSError as error:
            raise self._refusal(error) from error

    def _look_over(self, path: Path) -> None:
        """Mask what a harness wrote by itself; what there is no room for goes."""
        size = path.stat().st_size
        self._room -= size
        if self._room < 0:
            path.write_text(CUT.format(limit=self._limit))
            return
        content = path.read_bytes()
        masked = self._mask(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if masked != content:
            path.write_bytes(masked)

    def _refusal(self, error: OSError) -> OutputError:
        return OutputError(f"cannot keep output in {self.folder}: {error.strerror or error}; it needs room and rights")
