"""Archives, read in place: unpacked into a temporary folder for as long as their logs are read.

Whoever made the archive decides nothing outside that folder: members are files and folders below it, and what comes
out is counted while it is written. Nothing a header says is believed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import mkdtemp

from hmrouter.logs.base import UNPACKED, Notes, problem, shown
from hmrouter.logs.budget import Budget
from hmrouter.logs.members import Member, MemberKind
from hmrouter.logs.tar_file import is_tar, tar_members
from hmrouter.logs.zip_file import is_zip, zip_members

DEEPEST_MEMBER = 64
"""Folders around a member; removing much deeper ones fails."""
SPARE_DISK = 512 * 2**20
"""Bytes that are left free on the disk: others write there too."""

LEAST_ROOM = 4096
"""Bytes that a file takes on the disk, even an empty one; they count as unpacked."""

_ENDINGS = {".zip", ".tar", ".gz", ".bz2", ".xz", ".tgz", ".tbz2", ".txz"}


def is_archive(path: Path) -> bool:
    """Whether a file is a ZIP or a tar archive (plain or compressed), by its content."""
    return is_zip(path) or is_tar(path)


@contextmanager
def unpacked(path: Path, budget: Budget, notes: Notes) -> Iterator[Path]:
    """Unpack an archive into a folder named after it, which is gone afterwards.

    The budget is the outermost archive's: what is inside it shares that. Links and devices are left out and noted.
    """
    with budget.deeper(path), _scratch(path) as scratch:
        folder = scratch / _stem(path)
        folder.mkdir()
        UNPACKED[folder] = path
        try:
            for member in zip_members(path, budget.members_left) if is_zip(path) else tar_members(path):
                budget.spend(path, size=LEAST_ROOM, members=1)
                _unpack(path, member, folder, budget, notes)
            yield folder
        finally:
            del UNPACKED[folder]


def _stem(path: Path) -> str:
    """Drop the endings that mark an archive; a benchmark at its top gets this as its name."""
    name = path.name  # by hand: versions of Python differ in what the suffix of "..zip" is
    while (dot := name.rfind(".")) > 0 and name[dot:].lower() in _ENDINGS:
        name = name[:dot]
    return name.strip(".") or "archive"


@contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    try:
        scratch = mkdtemp(prefix="hmrouter-")
    except OSError as error:
        raise problem(path, f"there is no temporary folder to unpack it into: {error.strerror or error}") from None
    try:
        yield Path(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _unpack(path: Path, member: Member, folder: Path, budget: Budget, notes: Notes) -> None:
    name = PurePosixPath(member.name)
    parts = name.parts
    if ".." in parts or name.is_absolute() or PureWindowsPath(member.name).is_absolute():
        raise problem(path, f"member {member.name!r} leads out of the archive, which no archive of logs needs")
    if len(parts) > DEEPEST_MEMBER:
        raise problem(
            path, f"a member lies {len(parts)} folders deep, and {DEEPEST_MEMBER} is the limit: {member.name!r}"
        )
    target = folder.joinpath(*parts)
    if member.kind is MemberKind.OTHER:
        notes.remarks[f"{shown(path)}: links and devices in it were left out"] += 1
        return
    try:
        if member.kind is MemberKind.FOLDER:
            target.mkdir(parents=True, exist_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            for block in member.blocks:
                budget.spend(path, size=len(block))
                _check_disk(path, folder)
                file.write(block)
    except OSError as error:
        raise problem(path, f"member {member.name!r} cannot be unpacked: {error.strerror or error}") from None
    except ValueError as error:  # a name that holds a NUL
        raise problem(path, f"member {member.name!r} cannot be unpacked: {error}") from None


def _check_disk(path: Path, folder: Path) -> None:
    if shutil.disk_usage(folder).free < SPARE_DISK:
        raise problem(
            path,
            f"unpacking it would leave less than {SPARE_DISK // 2**20} MiB free in the temporary folder;"
            " make room, or let TMPDIR name a larger one",
        )
