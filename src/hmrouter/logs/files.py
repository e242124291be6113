"""Bytes and lines of files that nobody vouched for: gzip or plain, bounded, decoded, counted.

Nothing here reads more than `RECORD_LIMIT` into memory at once, whatever the file holds.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, cast

from hmrouter.logs.base import problem
from hmrouter.logs.budget import Budget

CELL_LIMIT = 2**20
"""Characters in one cell. No task text known is near it: more is a broken quote or an attack."""
RECORD_LIMIT = 4 * CELL_LIMIT
"""Bytes in one record (a JSON line, or a CSV row with the line breaks in its quoted cells)."""
CELL_TOO_LONG = f"a cell holds more than {CELL_LIMIT // 2**20} MiB, the limit"

_GZIP_MAGIC = b"\x1f\x8b"
_HEAD = 2**16


@contextmanager
def open_bytes(path: Path, *, unpack: bool = True) -> Iterator[BinaryIO]:
    """Open a file, decompressed if its first bytes say gzip; whatever goes wrong is a `LogError`."""
    try:
        if not path.exists():
            raise problem(path, "does not exist")
        if path.is_dir():
            raise problem(path, "is a directory, not a file")
        if not path.is_file():
            # A pipe or a device cannot be read twice, and sniffing and hashing need that.
            raise problem(path, "is not a regular file")
        with path.open("rb") as raw:
            zipped = raw.peek(2)[:2] == _GZIP_MAGIC
            if unpack and path.suffix == ".gz" and not zipped:
                raise problem(path, "is named .gz but does not hold gzip data")
            if unpack and zipped:
                with gzip.open(raw) as stream:
                    yield cast(BinaryIO, BufferedReader(_Counted(path, stream), _HEAD))
            else:
                yield raw
    except EOFError:
        raise problem(path, "the gzip data is truncated; copy or download the file again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise problem(path, f"the gzip data is corrupt ({error})") from None
    except OSError as error:
        raise problem(path, f"cannot be read: {error.strerror or error}") from None


class _Counted(RawIOBase):
    """Unpacked bytes on their way to a reader, within the budget of the file that they come from."""

    def __init__(self, path: Path, stream: gzip.GzipFile) -> None:
        super().__init__()
        self._path, self._stream = path, stream
        self._budget = Budget.of_file(path)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(len(buffer))
        self._budget.spend(self._path, size=len(block))
        buffer[: len(block)] = block
        return len(block)


def head(path: Path) -> bytes:
    """Read the first 64 KiB, decompressed, without a byte order mark, for sniffing. Nothing for a directory."""
    if os.path.isdir(path):
        return b""
    with open_bytes(path) as stream:
        return stream.read(_HEAD).removeprefix(b"\xef\xbb\xbf")


def content_hash(*paths: Path) -> str:
    """Hash the content of files, compressed or not, so that the same records get the same run id everywhere."""
    digests = []
    for path in paths:
        with open_bytes(path) as stream:
            digest = hashlib.sha256()
            while block := stream.read(_HEAD):
                digest.update(block)
        digests.append(digest.hexdigest())
    # Hashing the hashes keeps ("ab", "c") apart from ("a", "bc").
    whole = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    return whole[:16]


class Lines:
    """The lines of a stream as text, with their line breaks.

    Whoever reads a record from them calls `end_record`, so that a quote that is never closed ends in an error
    and not in the whole file in memory.
    """

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.path = path
        self.number = 0
        """The line handed out last, from 1."""
        self._stream = stream
        self._pending = 0

    def __iter__(self) -> Iterator[str]:
        for line in iter(partial(self._stream.readline, RECORD_LIMIT + 1), b""):
            self.number += 1
            self._pending += len(line)
            if self._pending > RECORD_LIMIT:
                raise self._problem(
                    f"a record is longer than {RECORD_LIMIT // 2**20} MiB, and a cell may hold"
                    f" {CELL_LIMIT // 2**20} MiB; is a quote never closed?"
                )
            if b"\0" in line:
                raise self._problem("NUL byte; this is binary data or UTF-16, and UTF-8 text is expected")
            try:
                yield line.decode("utf-8-sig" if self.number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise self._problem(
                    f"byte {error.start + 1} (0x{line[error.start]:02x}) is not valid UTF-8; convert the file to UTF-8"
                ) from None

    def end_record(self) -> bool:
        """Start counting the next record; return whether this one is long enough to hide a cell above the limit."""
        long = self._pending > CELL_LIMIT
        self._pending = 0
        return long

    def _problem(self, message: str) -> Exception:
        return problem(self.path, message, at=f"line {self.number}")
