"""Files that are whole or not there: atomic replacement, and one writer at a time."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, ENOENT
from pathlib import Path
from typing import BinaryIO

from hmrouter.errors import OutputError

_NAMELESS: int = getattr(os, "O_TMPFILE", 0)  # Linux has it


def atomic_write(path: str | Path, content: bytes, *, follow: bool = True) -> None:
    """Replace a file in one step: a reader sees the old one or the new one, and a failure leaves the old one.

    A link that a person made stays one, and what it leads to is replaced; without `follow` the link is replaced: a name
    that nobody typed may be a trap.
    """
    with replacing(path, follow=follow) as stream:
        stream.write(content)


@contextmanager
def replacing(path: str | Path, *, follow: bool = True) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` in one step at the end; a failure leaves the old one.

    `follow`: as `atomic_write`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as stream:
    ...         _ = stream.write(b"whole")
    ...     Path(folder, "a.txt").read_bytes()
    b'whole'
    """
    target = _target(path, follow)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with os.fdopen(_unnamed(temporary), "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            _give_name(stream.fileno(), temporary)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise _refusal(path, error) from error
        raise


def _unnamed(temporary: Path) -> int:
    """Open a new file that has no name yet, so that nothing stays of it if the process is killed."""
    if _NAMELESS:
        with suppress(OSError):  # a file system that has no such files
            return os.open(temporary.parent, os.O_WRONLY | os.O_CLOEXEC | _NAMELESS, 0o666)
    return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)


def _give_name(handle: int, temporary: Path) -> None:
    if os.fstat(handle).st_nlink == 0:
        # With a folder to start from, `os.link` follows the link that stands for the open file.
        folder = os.open(temporary.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.link(f"/proc/self/fd/{handle}", temporary, src_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)


def require_writable(*paths: str | Path) -> None:
    """Refuse paths that could not be written later, before hours of work; of several files, all or none are written."""
    for path in paths:
        target = _target(path)
        if not target.parent.is_dir():
            raise _refusal(path, FileNotFoundError(ENOENT, os.strerror(ENOENT)))
        if not os.access(target.parent, os.W_OK):
            raise _refusal(path, PermissionError(EACCES, os.strerror(EACCES)))


@contextmanager
def sole_writer(path: str | Path, *, follow: bool = True) -> Iterator[None]:
    """Hold the right to write a file; another process that asks meanwhile gets a clear refusal.

    The lock ends with the process, however that ends; what a killed writer left behind is removed.
    """
    target = _target(path, follow)
    lock_path = target.with_name(f".{target.name}.lock")
    lock = _lock(path, lock_path)
    try:
        for leftover in target.parent.iterdir():
            if leftover.name.startswith(f".{target.name}.") and leftover.suffix == ".tmp":
                with suppress(OSError):
                    leftover.unlink()
        yield
    finally:
        with suppress(OSError):
            lock_path.unlink()
        os.close(lock)


def _target(path: str | Path, follow: bool = True) -> Path:
    """Find the file that is written; refuse what is there and is no file before hours of work.

    Links are followed, so that a link stays a link. Without `follow`, one at the end of the path is itself replaced.
    """
    if not follow and os.path.islink(path):
        return Path(os.path.realpath(os.path.dirname(path) or "."), os.path.basename(path))
    target = Path(os.path.realpath(path))
    if os.path.lexists(target) and not os.path.isfile(target):
        raise OutputError(f"cannot write {path}: it is there and not a regular file; choose another path")
    return target


def _lock(path: str | Path, lock_path: Path) -> int:
    while True:
        try:
            lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as e:
            raise _refusal(path, e) from e
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            os.close(lock)
            if not isinstance(e, BlockingIOError):  # a file system without locks
                raise _refusal(path, e) from e
            raise OutputError(
                f"another process is writing {path} right now; wait for it, or choose another path"
            ) from None
        # The holder before us may have removed the file between our open and our lock: then ours locks nothing.
        with suppress(FileNotFoundError):
            if os.stat(lock_path).st_ino == os.fstat(lock).st_ino:
                return lock
        os.close(lock)


def _refusal(path: str | Path, error: OSError) -> OutputError:
    reason = error.strerror or str(error)
    return OutputError(
        f"cannot write {path}: {reason}; nothing was changed (its folder must exist, be writable and have room)"
    )
