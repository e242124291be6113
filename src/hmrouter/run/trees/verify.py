"""Verify an attempt: in a clean checkout, with its changes applied and the files that decide taken from the base."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from hmrouter.errors import GitError, HarnessError
from hmrouter.run.trees.checkout import Cancelled, Checkouts
from hmrouter.run.trees.git import git
from hmrouter.run.trees.protected import ProtectedPaths
from hmrouter.run.trees.repository import GITLINK, files_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verification said."""

    passed: bool
    seconds: float = 0.0
    note: str = ""
    """Why it failed, in a line."""
    restored: tuple[str, ...] = ()
    """Files that the attempt changed and the verification took from the base."""
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Verifier:
    """Runs a command in clean checkouts; its exit code 0 means that the task is done."""

    checkouts: Checkouts
    command: str
    protected: ProtectedPaths

    def check(self, base: str, tree: Path, output: Path, stop: threading.Event | None = None) -> Verdict:
        """Verify the base itself, before any money is spent; a command that is not there is refused."""
        with self.checkouts.ready(tree, base, output / "setup", stop):
            end = self.checkouts.shell.run(self.command, tree, output / "verify", stop)
        if end.missing:
            raise HarnessError(f"the verify command {self.command!r} cannot be run ({end.note})", argument="verify")
        return Verdict(end.succeeded, end.seconds, end.note, cancelled=end.cancelled)

    def verify(self, base: str, diff: bytes, tree: Path, output: Path, stop: threading.Event | None = None) -> Verdict:
        """Verify a diff in a checkout at `tree`, which is removed afterwards; what is printed is kept in `output`."""
        if not diff:
            return Verdict(False, note="it changed nothing")
        try:
            with self.checkouts.ready(tree, base, output / "setup", stop):
                return self._changed(base, diff, tree, output, stop)
        except Cancelled:
            return Verdict(False, note="cancelled", cancelled=True)

    def _changed(self, base: str, diff: bytes, tree: Path, output: Path, stop: threading.Event | None) -> Verdict:
        git(tree, "reset", "--quiet")  # what the set-up left is in no commit and in no diff
        try:
            git(tree, "apply", "--index", "--binary", "-", stdin=diff)
        except GitError as error:
            return Verdict(False, note=f"its changes do not apply: {error}")
        if foreign := [path for path, mode in files_of(tree, base).items() if mode == GITLINK]:
            return Verdict(False, note=f"it changed {foreign[0]}, a repository of its own, which a diff cannot carry")
        restored = self._restore(tree, base)
        end = self.checkouts.shell.run(self.command, tree, output / "verify", stop)
        return Verdict(end.succeeded, end.seconds, end.note, restored, end.cancelled)

    def _restore(self, tree: Path, base: str) -> tuple[str, ...]:
        """Take the protected files from the base: what was changed comes back, what was added goes."""
        touched = [path for path in files_of(tree, base) if self.protected(path)]
        if touched:
            known = set(self.checkouts.repository.files(base))
            git(tree, "reset", "--quiet", base, "--", *touched)
            for path in touched:
                if path not in known:
                    (tree / path).unlink(missing_ok=True)
            if back := [path for path in touched if path in known]:
                git(tree, "checkout", "--quiet", base, "--", *back)
        return tuple(touched)
