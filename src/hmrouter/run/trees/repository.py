"""The repository that tasks are worked on in: its state, work trees beside it, and changes as diffs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hmrouter.errors import GitError
from hmrouter.files import atomic_write
from hmrouter.run.trees.git import AUTHOR, git, names, succeeds

GITLINK = "160000"
"""The mode under which git keeps another repository: a submodule."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A checkout of a git repository."""

    root: Path
    common: Path
    """The folder that all of its work trees share: `.git`."""

    @classmethod
    def at(cls, folder: Path) -> Repository:
        """Find the repository that a folder is in; refuse one without a commit."""
        if not succeeds(folder, "rev-parse", "--git-dir"):
            raise GitError(f"{folder} is not in a git repository", hint="make_repository")
        root = Path(os.fsdecode(git(folder, "rev-parse", "--show-toplevel").rstrip(b"\n")))
        common = Path(os.fsdecode(git(folder, "rev-parse", "--git-common-dir").rstrip(b"\n")))
        if not succeeds(folder, "rev-parse", "--verify", "--quiet", "HEAD"):
            raise GitError(f"the repository {root} has no commit to start from", hint="first_commit")
        return cls(root, (folder / common).resolve())

    @property
    def name(self) -> str:
        """A name for folders: that of the repository, and a hash that tells it from others of that name."""
        return f"{self.root.name}-{hashlib.sha256(os.fsencode(self.common)).hexdigest()[:8]}"

    def commit(self, name: str = "HEAD") -> str:
        """Look up the commit that a name stands for."""
        if not succeeds(self.root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"):
            raise GitError(f"{name!r} is not a commit of {self.root}", argument="base")
        return git(self.root, "rev-parse", "--verify", f"{name}^{{commit}}").decode().strip()

    def changed(self, untracked: bool = False) -> list[str]:
        """List the files that differ from the last commit; with `untracked` also those that git does not know."""
        mode = "all" if untracked else "no"
        lines = names(git(self.root, "status", "--porcelain", "-z", f"--untracked-files={mode}"))
        return [line[3:] for line in lines if line[:2].strip()]

    def submodules(self, commit: str) -> list[str]:
        """List the submodules of a commit."""
        entries = names(git(self.root, "ls-tree", "-r", "-z", commit))
        return [entry.partition("\t")[2] for entry in entries if entry.startswith(GITLINK)]

    def files(self, commit: str) -> list[str]:
        """List the files of a commit."""
        return names(git(self.root, "ls-tree", "-r", "-z", "--name-only", commit))

    # -- work trees ---------------------------------------------------------------------------------------------

    def add_worktree(self, folder: Path, commit: str) -> None:
        """Check a commit out in a folder of its own, on no branch."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        with self._alone():  # files are written afterwards: that takes long, and several may do it at once
            git(self.root, "worktree", "add", "--quiet", "--detach", "--no-checkout", str(folder), commit)
        git(folder, "reset", "--quiet", "--hard", commit)

    def remove_worktree(self, folder: Path) -> None:
        """Remove a work tree with everything in it; one that is not there is no error."""
        shutil.rmtree(folder, ignore_errors=True)
        link = os.fsencode(folder / ".git")
        with self._alone():  # by hand: git would prune work trees of others, too, whose disk is not there right now
            for known in self.common.glob("worktrees/*/gitdir"):
                if known.read_bytes().strip() == link:
                    shutil.rmtree(known.parent)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads and processes from work trees: git trips over one that is made or removed meanwhile."""
        with (self.common / "hmrouter.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def worktrees(self, below: Path) -> list[Path]:
        """List the work trees in a folder."""
        with self._alone():
            lines = git(self.root, "worktree", "list", "--porcelain", "-z").split(b"\0")
        found = [Path(os.fsdecode(line[9:])) for line in lines if line.startswith(b"worktree ")]
        return [path for path in found if path.resolve().is_relative_to(below.resolve())]

    # -- changes ------------------------------------------------------------------------------------------------

    def check_applies(self, diff: bytes) -> None:
        """Refuse a diff that the files as they are now do not take."""
        git(self.root, "apply", "--check", "--binary", "-", stdin=diff)

    def apply(self, diff: bytes) -> None:
        """Change the files as a diff says: all of it, or nothing and an error."""
        self.check_applies(diff)
        git(self.root, "apply", "--binary", "-", stdin=diff)

    def has_branch(self, branch: str) -> bool:
        """Whether there is a branch of that name."""
        return succeeds(self.root, "show-ref", "--verify", "--quiet", f"refs/heads/{branch}")

    def make_branch(self, branch: str, base: str, diff: bytes, message: str, index: Path) -> str:
        """Commit a diff on top of a commit as a new branch, without touching any file; return the commit.

        A branch of that name with the same content is left as it is; one with another content is refused. `index` is
        a file that is used meanwhile.
        """
        if not succeeds(self.root, "check-ref-format", "--branch", branch):
            raise GitError(f"{branch!r} is not a name for a branch", argument="branch")
        aside = {"GIT_INDEX_FILE": str(index)}
        try:
            git(self.root, "read-tree", base, env=aside)
            if diff:
                git(self.root, "apply", "--cached", "--binary", "-", stdin=diff, env=aside)
            tree = git(self.root, "write-tree", env=aside).decode().strip()
        finally:
            index.unlink(missing_ok=True)
        if self.has_branch(branch):
            if git(self.root, "rev-parse", f"refs/heads/{branch}^{{tree}}").decode().strip() != tree:
                raise GitError(f"the branch {branch} is there already and holds something else", argument="branch")
            return self.commit(branch)
        made = git(self.root, "commit-tree", tree, "-p", base, "-m", message, env=self._author()).decode().strip()
        with self._alone():
            git(self.root, "update-ref", f"refs/heads/{branch}", made, "0" * len(made))
        return made

    def _author(self) -> dict[str, str]:
        """The user's own name where git knows one."""
        return {} if succeeds(self.root, "var", "GIT_COMMITTER_IDENT") else dict(AUTHOR)


def changes_of(tree: Path, start: str, index: Path, without: Collection[str] = ()) -> bytes:
    """Return everything that differs from a state in a tree as a diff: committed, changed or new, but not ignored.

    `index` is a file that is used meanwhile, so that the tree's own index stays. `without`: paths to leave out.
    """
    aside = {"GIT_INDEX_FILE": str(index)}
    own = tree / os.fsdecode(git(tree, "rev-parse", "--git-path", "index").rstrip(b"\n"))
    try:
        # With what git knows of unchanged files, so that it need not read them again; and with its time, by which git
        # tells files that changed right after they were looked at.
        shutil.copy2(own, index)
        git(tree, "add", "--all", "--", ".", *(f":(exclude,literal){path}" for path in without), env=aside)
        return git(tree, "diff", "--cached", "--binary", "--full-index", "--no-renames", "--no-color",
                   "--no-ext-diff", "--no-textconv", start, env=aside)  # fmt: skip
    finally:
        index.unlink(missing_ok=True)


def files_of(worktree: Path, base: str) -> dict[str, str]:
    """Tell for each file that differs from the base in the index of a work tree which mode it has now."""
    fields = names(git(worktree, "diff", "--cached", "--raw", "-z", "--no-renames", base))
    pairs = zip(fields[::2], fields[1::2], strict=True)
    return {path: raw.split()[1] for raw, path in pairs}


def keep_diff(folder: Path, diff: bytes) -> Path:
    """Keep a diff in the folder of its attempt, whole or not at all."""
    path = folder / "changes.diff"
    atomic_write(path, diff)
    return path
