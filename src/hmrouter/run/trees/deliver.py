"""Bring the changes that solved a task to the user: into the tree, or as a branch."""

from __future__ import annotations

from collections.abc import Collection

from hmrouter.errors import GitError
from hmrouter.run.results import TaskResult
from hmrouter.run.trees.repository import Repository


def require_takeable(repository: Repository, branch: str, in_place: bool, own: Collection[str] = ()) -> None:
    """Refuse a tree or a branch that could not take changes later, before any money is spent.

    `own`: files of this program in the tree.
    """
    if branch and repository.has_branch(branch):
        raise GitError(f"the branch {branch} is there already", argument="branch", hint="choose_another")
    changed = [path for path in repository.changed(untracked=in_place) if path not in own]
    if changed and (in_place or not branch):
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise GitError(
            f"the tree has changes that are not committed ({changed[0]}{more})",
            hint="clean_tree" if in_place else "commit_or_branch",
        )


def deliver(repository: Repository, result: TaskResult, branch: str, message: str) -> str:
    """Apply the changes to the tree, or commit them as a branch; return the new commit, if there is one.

    It is all of them or, with an error that names where they are kept, none.
    """
    if result.diff is None:
        return ""
    diff = result.diff.read_bytes()
    try:
        if branch:
            return repository.make_branch(branch, result.base, diff, message, result.diff.with_name("index"))
        repository.apply(diff)
    except GitError as error:
        raise GitError(
            f"the changes that solved it were not applied ({error}); they are kept in {result.diff}"
        ) from error
    return ""


def branch_name(prefix: str, task: str) -> str:
    """Make a name for the branch of a task from its id.

    >>> branch_name("hmrouter/", "Fix: the  parser~1")
    'hmrouter/Fix-the-parser-1'
    """
    plain = "".join(c if c.isalnum() or c in "._-" else "-" for c in task)
    while "--" in plain or ".." in plain:
        plain = plain.replace("--", "-").replace("..", ".")
    return f"{prefix}{plain.strip('-.').removesuffix('.lock') or 'task'}"
