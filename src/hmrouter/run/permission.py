"""Whether harnesses may act without asking in a workspace: only if its user said so, in plain words.

The sentence is kept in the repository's own configuration, which a clone does not bring along: nobody can say it for
somebody else.
"""

from __future__ import annotations

from hmrouter.errors import UsageError
from hmrouter.run.trees.git import git, succeeds
from hmrouter.run.trees.repository import Repository

KEY = "hmrouter.unattended"
SENTENCE = "harnesses may run any command in this workspace without asking me"
NO = "no"


def may_act_unasked(repository: Repository) -> bool:
    """Whether the user of this workspace allowed it."""
    words = ("config", "--local", "--get", KEY)
    return succeeds(repository.root, *words) and git(repository.root, *words).decode().strip() == SENTENCE


def say(repository: Repository, words: str) -> None:
    """Keep what the user says about it: the whole sentence allows it, "no" takes it back."""
    said = " ".join(words.lower().rstrip(".").split())
    if said == NO:
        if may_act_unasked(repository):
            git(repository.root, "config", "--local", "--unset-all", KEY)
    elif said == SENTENCE:
        git(repository.root, "config", "--local", KEY, SENTENCE)
    else:
        raise UsageError(
            f"is not what allows it; say: {SENTENCE!r}, or {NO!r} to take it back", argument="unattended", value=words
        )
