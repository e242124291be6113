"""Files that are whole or not there: atomic replacement, and one writer at a time."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hmrouter.errors import OutputError


def atomic_write(path: str | Path, content: bytes) -> None:
    """Replace a file in one step: a reader sees the old one or the new one, and a failure leaves the old one."""
    path = Path(path)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as f:
            f.write(content)
            f.flush()
            os.fsync(f.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as e:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        raise OutputError(f"cannot write {path}: {e.strerror or e}; nothing was changed") from e


@contextmanager
def sole_writer(path: str | Path) -> Iterator[None]:
    """Hold the right to write a file; another process that asks meanwhile gets a clear refusal.

    The lock ends with the process, however that ends; what a killed writer left behind is removed.
    """
    path = Path(path)
    lock_path = path.with_name(f".{path.name}.lock")
    lock = _lock(path, lock_path)
    try:
        for leftover in path.parent.glob(f".{path.name}.*.tmp"):
            with suppress(OSError):
                leftover.unlink()
        yield
    finally:
        with suppress(OSError):
            lock_path.unlink()
        os.close(lock)


def _lock(path: Path, lock_path: Path) -> int:
    while True:
        try:
            lock = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as e:
            raise OutputError(f"cannot write {path}: {e.strerror or e}; nothing was changed") from e
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise OutputError(
                f"another process is writing {path} right now; wait for it, or choose another file with --out"
            ) from None
        # The holder before us may have removed the file between our open and our lock: then ours locks nothing.
        with suppress(FileNotFoundError):
            if os.stat(lock_path).st_ino == os.fstat(lock).st_ino:
                return lock
        os.close(lock)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
