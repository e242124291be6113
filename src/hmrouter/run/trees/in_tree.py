"""The places an attempt can work in: a checkout of its own, or the user's tree itself."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from hmrouter.run.trees.checkout import Checkouts
from hmrouter.run.trees.git import git, succeeds


@contextmanager
def in_own_tree(
    checkouts: Checkouts, commit: str, place: Path, output: Path, stop: threading.Event | None
) -> Iterator[tuple[Path, str]]:
    """Work in a fresh checkout, which goes afterwards; gives it and the state that changes count from."""
    with checkouts.ready(place, commit, output, stop) as start:
        yield place, start


@contextmanager
def in_place(checkouts: Checkouts, commit: str, own: Collection[str] = ()) -> Iterator[tuple[Path, str]]:
    """Work in the user's tree, which must be as its last commit; it is put back as it was afterwards.

    `own`: files of this program, which stay.

    The changes that pass are applied to it again when they are delivered, like any others.
    """
    root = checkouts.repository.root
    on_branch = succeeds(root, "symbolic-ref", "--quiet", "HEAD")
    branch = git(root, "symbolic-ref", "--quiet", "HEAD").decode().strip() if on_branch else ""
    try:
        yield root, commit
    finally:
        if branch:  # a harness may have gone to another
            git(root, "symbolic-ref", "HEAD", branch)
        else:
            git(root, "checkout", "--quiet", "--force", "--detach", commit)
        git(root, "reset", "--quiet", "--hard", commit)
        git(root, "clean", "--quiet", "-d", "--force", *(f"--exclude=/{path}" for path in own))
