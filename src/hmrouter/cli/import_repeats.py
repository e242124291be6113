"""Warn of files that were imported before, under another name or with other content: their rows count twice."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator

HASHED = re.compile(r"[0-9a-f]{16}")
"""The name of a run that has none of its own: a hash of its file."""


def repeats(before: Collection[tuple[str, str]], now: Collection[tuple[str, str]]) -> Iterator[str]:
    """Warn of new runs that repeat others, given the (source, run) of those in the store `before` the import and `now`.

    >>> next(repeats({("runs", "67a10a1afcfd142c")}, {("copy", "67a10a1afcfd142c")})).partition(",")[0]
    'copy holds what was imported as runs'
    """
    for source, run in sorted(set(now) - set(before)):
        if not HASHED.fullmatch(run):
            continue
        undo = f"undo it with: hmrouter store forget {run} --source {shlex.quote(source)}"
        known = [other for other, held in before if held == run]
        beside = [other for other, held in now if held == run and other < source]  # of two that came together, one
        if same := sorted(known or beside):
            yield f"{source} holds what was imported as {same[0]}, so its outcomes count twice; {undo}"
        elif any(other == source and HASHED.fullmatch(held) for other, held in before):
            yield (
                f"{source} was imported before with other content: rows that stand in both count twice; a column "
                f"`run` would tell them apart; {undo}"
            )
