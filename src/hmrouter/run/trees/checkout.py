"""Checkouts that are ready to work in: a commit, the files that git does not keep, and a set-up command."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hmrouter.errors import HarnessError, OutputError
from hmrouter.run.trees.command import Shell
from hmrouter.run.trees.git import git, names
from hmrouter.run.trees.repository import Repository

INCLUDE = ".worktreeinclude"
"""A file in the repository whose patterns, as in .gitignore, name untracked files that a checkout needs: .env."""


class Cancelled(Exception):
    """The user stopped the run while a checkout was made ready."""


@dataclass(frozen=True, slots=True)
class Checkouts:
    """Makes checkouts of a repository, and removes them."""

    repository: Repository
    setup: str = ""
    """A command that makes a checkout ready: it installs what is not in the repository."""
    shell: Shell = field(default_factory=Shell)

    @contextmanager
    def ready(self, tree: Path, commit: str, output: Path, stop: threading.Event | None = None) -> Iterator[str]:
        """Check a commit out at `tree` for a while; gives the name of the state that changes count from."""
        try:
            self.repository.add_worktree(tree, commit)
        except OSError as error:
            raise OutputError(
                f"cannot make a checkout at {tree}: {error.strerror or error}", hint="work_folder"
            ) from error
        try:
            yield self.prepare(tree, commit, output, stop)
        finally:
            self.repository.remove_worktree(tree)

    def prepare(self, tree: Path, commit: str, output: Path, stop: threading.Event | None = None) -> str:
        """Bring what git does not keep, run the set-up command, and name the state that changes count from."""
        brought = self._bring(tree)
        if self.setup:
            end = self.shell.run(self.setup, tree, output, stop)
            if end.cancelled:
                raise Cancelled
            if not end.succeeded:
                raise HarnessError(f"the set-up command {self.setup!r} failed: {end.note}", argument="setup")
        if not brought and not self.setup:
            return commit
        git(tree, "add", "--all")
        return git(tree, "write-tree").decode().strip()

    def _bring(self, tree: Path) -> bool:
        root = self.repository.root
        if not (root / INCLUDE).is_file() or tree == root:
            return False
        found = names(git(root, "ls-files", "-z", "--others", "--ignored", f"--exclude-from={INCLUDE}"))
        for name in found:
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target, follow_symlinks=False)
        return bool(found)
