"""The members of a ZIP archive that nobody vouched for."""

from __future__ import annotations

import bz2
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, cast

from hmrouter.logs.base import problem
from hmrouter.logs.decompress import Decompressor
from hmrouter.logs.files import open_bytes
from hmrouter.logs.members import BLOCK, Member, MemberKind

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
DIRECTORY_LIMIT = 32 * 2**20
"""Bytes of the table of contents, which the standard library reads at once."""

_ENCRYPTED = 0x1
_LOCAL_HEADER = struct.Struct("<26xHH")  # it ends with the lengths of the name and of what stands behind that
# Those that unpack in a small memory; the LZMA of ZIP files asks for as much as its header likes.
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}
# What the standard library raises on an archive that is broken, or that it cannot read.
_BROKEN = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, LookupError, OverflowError, NotImplementedError,
)  # fmt: skip


def is_zip(path: Path) -> bool:
    """Whether a file begins as a ZIP archive does."""
    with open_bytes(path, unpack=False) as stream:
        return stream.read(4).startswith(MAGIC)


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive with its table of contents; whatever is wrong with it is a `LogError`."""
    with open_bytes(path, unpack=False) as raw:
        try:
            with zipfile.ZipFile(cast(IO[bytes], _ReadLimiter(path, raw))) as archive:
                yield archive
        except _BROKEN as error:
            raise problem(path, f"the ZIP archive is truncated or corrupt ({error})") from None


def zip_members(path: Path, most: int) -> Iterator[Member]:
    """Read the members, in the order of the archive; whatever is wrong with it is a `LogError`.

    One that has more than `most` yields none: nothing of it has to be unpacked to know.
    """
    with open_zip(path) as archive:
        if len(archive.infolist()) > most:
            raise problem(path, f"holds {len(archive.infolist()):,} files and folders, and {most:,} is the limit")
        for info in archive.infolist():
            # Some packers of Windows write backslashes.
            name = info.filename.replace("\\", "/")
            yield Member(name, _kind(info), _blocks(path, archive, info))


def _kind(info: zipfile.ZipInfo) -> MemberKind:
    if info.is_dir():
        return MemberKind.FOLDER
    # The Unix mode stands in the upper half, and is 0 where the archive was made elsewhere.
    kind = stat.S_IFMT(info.external_attr >> 16)
    return MemberKind.FILE if kind in (0, stat.S_IFREG) else MemberKind.OTHER


def _blocks(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    if info.flag_bits & _ENCRYPTED:
        raise problem(path, f"member {info.filename!r} is encrypted; unpack it with its password first")
    if info.compress_type not in _METHODS:
        raise problem(path, f"member {info.filename!r} is compressed by method {info.compress_type}; use deflate")
    try:
        if info.compress_type == zipfile.ZIP_BZIP2:  # the standard library would unpack it in one piece
            yield from _bzip2_blocks(path, info)
        else:
            with archive.open(info) as file:
                yield from iter(partial(file.read, BLOCK), b"")
    except _BROKEN as error:
        raise problem(path, f"member {info.filename!r} is truncated or corrupt ({error})") from None


def _bzip2_blocks(path: Path, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with open_bytes(path, unpack=False) as raw:
        raw.seek(info.header_offset)
        header = raw.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(MAGIC[0]):
            raise zipfile.BadZipFile("no header where the member begins")
        name, extra = _LOCAL_HEADER.unpack(header)
        raw.seek(name + extra, os.SEEK_CUR)
        unpacked = Decompressor(path, _Part(raw, info.compress_size), bz2.BZ2Decompressor)
        checksum = 0
        for block in iter(partial(unpacked.read, BLOCK), b""):
            checksum = zlib.crc32(block, checksum)
            yield block
        if checksum != info.CRC:
            raise zipfile.BadZipFile("its checksum is wrong")


class _Part:
    """The next bytes of a file, up to a number of them."""

    def __init__(self, raw: BinaryIO, left: int) -> None:
        self._raw, self._left = raw, left

    def read(self, size: int, /) -> bytes:
        block = self._raw.read(min(size, self._left))
        self._left -= len(block)
        return block


class _ReadLimiter:
    """A file from which nobody reads a huge piece at once because a header says so."""

    def __init__(self, path: Path, raw: BinaryIO) -> None:
        self._path, self._raw = path, raw
        self.seek, self.tell, self.seekable = raw.seek, raw.tell, raw.seekable

    def read(self, size: int = -1) -> bytes:
        if size > DIRECTORY_LIMIT:
            raise problem(self._path, f"its table of contents is larger than {DIRECTORY_LIMIT // 2**20} MiB, the limit")
        return self._raw.read(size)
