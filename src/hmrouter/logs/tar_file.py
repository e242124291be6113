"""The members of a tar archive that nobody vouched for, plain or compressed by gzip, bzip2 or xz."""

from __future__ import annotations

import bz2
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from hmrouter.logs.base import problem
from hmrouter.logs.decompress import Decoder, Decompressor, Stream
from hmrouter.logs.files import open_bytes
from hmrouter.logs.members import BLOCK, Member, MemberKind

XZ_MEMORY = 128 * 2**20
"""Bytes that unpacking xz may take; its strongest setting takes 65 MiB, a header may ask for 4 GiB."""
HEADER_LIMIT = 2**20
"""Bytes between two members. Long names stand there; the standard library reads them at once."""

PADDING_LIMIT = 16 * 2**20
"""Zeros behind the end mark; real ones fill up a block of a tape."""

# What the standard library raises on an archive that is broken: headers hold numbers, names and more headers.
_BROKEN = (
    tarfile.TarError, zlib.error, OSError, EOFError, ValueError, LookupError, OverflowError, RecursionError,
)  # fmt: skip


def is_tar(path: Path) -> bool:
    """Whether a file begins with a tar header, whose checksum is right."""
    with _unpacked(path) as stream:
        start = b""
        while len(start) < tarfile.BLOCKSIZE and (block := stream.read(tarfile.BLOCKSIZE - len(start))):
            start += block
    try:
        tarfile.TarInfo.frombuf(start, "utf-8", "surrogateescape")
    except _BROKEN:
        return False
    return True


def tar_members(path: Path) -> Iterator[Member]:
    """Read the members, in the order of the archive; whatever is wrong with it is a `LogError`."""
    with _unpacked(path) as stream:
        watched = _HeaderLimiter(path, stream)
        try:
            # As a stream, so that nothing in a header can lead back, and the archive is read once.
            with tarfile.open(fileobj=cast(BinaryIO, watched), mode="r|") as archive:
                remembered: Any = archive
                while member := archive.next():
                    watched.allowance = None
                    yield Member(member.name, _kind(member), _blocks(path, archive, member))
                    watched.allowance = HEADER_LIMIT
                    # It remembers every member and every global header, however many there are.
                    remembered.members.clear()
                    remembered.pax_headers.clear()
                # A header that it does not understand is the end to it, as is the end of the data.
                _check_end(watched.since(archive.offset), stream)
        except _BROKEN as error:
            raise problem(path, f"the tar archive is truncated or corrupt ({error})") from None


def _kind(member: tarfile.TarInfo) -> MemberKind:
    return MemberKind.FILE if member.isreg() else MemberKind.FOLDER if member.isdir() else MemberKind.OTHER


def _blocks(path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    try:
        if file := archive.extractfile(member):
            yield from iter(partial(file.read, BLOCK), b"")
    except _BROKEN as error:
        raise problem(path, f"member {member.name!r} is truncated or corrupt ({error})") from None


def _check_end(rest: bytes, stream: Stream) -> None:
    """Check that an archive ends with zeros; only at the very end does compressed data say whether it is whole."""
    if len(rest) < tarfile.BLOCKSIZE or rest.strip(b"\0"):
        raise tarfile.ReadError("no end mark where the members end")
    behind = 0
    while block := stream.read(BLOCK):
        behind += len(block)
        if block.strip(b"\0") or behind > PADDING_LIMIT:
            raise tarfile.ReadError("more data behind its end mark")


class _HeaderLimiter:
    """A stream for the standard library that bounds what is read for headers and remembers the last bytes."""

    def __init__(self, path: Path, stream: Stream) -> None:
        self.allowance: int | None = HEADER_LIMIT
        """Bytes that may still be read; None while a member's own are read, which are counted elsewhere."""
        self._path, self._stream = path, stream
        self._read = 0
        self._last = b""

    def read(self, size: int) -> bytes:
        block = self._stream.read(size)
        self._read += len(block)
        self._last = self._last[-2 * size :] + block
        if self.allowance is not None:
            self.allowance -= len(block)
            if self.allowance < 0:
                raise problem(self._path, f"a header is larger than {HEADER_LIMIT // 2**20} MiB, the limit")
        return block

    def since(self, offset: int) -> bytes:
        """Return the bytes read from a place on, which was a short while ago."""
        return self._last[max(0, offset - (self._read - len(self._last))) :]


_DECODERS: dict[bytes, Callable[[], Decoder]] = {
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=XZ_MEMORY),
}


@contextmanager
def _unpacked(path: Path) -> Iterator[Stream]:
    with open_bytes(path) as stream:
        start = stream.read(8)
        stream.seek(0)
        decoder = next((decoder for magic, decoder in _DECODERS.items() if start.startswith(magic)), None)
        yield stream if decoder is None else Decompressor(path, stream, decoder)
