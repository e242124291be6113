"""Where runs keep checkouts and output, outside of the repository; and which runs are still alive."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hmrouter.errors import OutputError
from hmrouter.run.trees.repository import Repository
from hmrouter.types.ids import new_id


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """The folder of all runs in one repository."""

    root: Path

    @classmethod
    def of(
        cls, repository: Repository, given: Path | None = None, environ: Mapping[str, str] = os.environ
    ) -> WorkFolder:
        """Find the folder: the given one, or one in the user's cache; it is made if need be."""
        cache = Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or "/tmp", ".cache"))
        folder = cls((given or cache / "hmrouter") / repository.name)
        try:
            for path in (folder.trees, folder.root / "runs", folder.root / "owners"):
                path.mkdir(parents=True, exist_ok=True)
                if not os.access(path, os.W_OK):
                    raise PermissionError(13, "Permission denied")
        except OSError as error:
            raise OutputError(f"cannot work in {folder.root}: {error.strerror or error}", hint="work_folder") from error
        return folder

    @property
    def trees(self) -> Path:
        """The folder of the checkouts."""
        return self.root / "trees"

    def attempt(self, plan: str, number: int) -> Path:
        """The folder that an attempt's output and changes are kept in."""
        return self.root / "runs" / plan / str(number)

    def tree(self, plan: str, number: int, purpose: str = "") -> Path:
        """The place of an attempt's checkout, or of the one that it is verified in."""
        return self.trees / f"{plan}-{number}{purpose}"

    @contextmanager
    def owned(self, name: str | None = None) -> Iterator[str]:
        """Hold a name for as long as this process lives; a name that another process holds is refused."""
        own = name or new_id()
        path = self.root / "owners" / own
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise OutputError("another process is running the same tasks right now; wait for it") from None
        try:
            yield own
        finally:
            if name is None:  # a name that others ask for stays: they may have the file open
                with suppress(OSError):
                    path.unlink()
            os.close(handle)

    def alive(self, owner: str) -> bool:
        """Whether the process that holds a name lives."""
        try:
            handle = os.open(self.root / "owners" / owner, os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(handle)
