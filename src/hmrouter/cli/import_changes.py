"""What an import changes in outcomes that are known: shown, and asked for, before it is done."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hmrouter.cli.output import say
from hmrouter.cli.words import counted
from hmrouter.errors import UsageError

if TYPE_CHECKING:
    from hmrouter.cli.import_job import Manner
    from hmrouter.logs import Request
    from hmrouter.store import AddReport, Change, OutcomeStore

SHOWN = 5
"""How many changes are shown of a log."""


def change_lines(added: AddReport) -> Iterator[str]:
    """Say what differs between a log and what the store has of it."""
    for change in added.changes[:SHOWN]:
        yield in_words(change)
    if added.differing > SHOWN:
        yield f"and {added.differing - SHOWN:,} more"


def in_words(change: Change) -> str:
    """Say one change: `T-101 on codex:gpt-5: score 0 -> 1, cost unknown -> 0.31`."""
    values = (f"{name} {_shown(old)} -> {_shown(new)}" for name, (old, new) in change.values.items())
    return f"{change.task.id} on {change.route}: {', '.join(values)}"


def ask_to_replace(kept: OutcomeStore, paths: Sequence[Path], format: str, request: Request, manner: Manner) -> None:
    """Show what an import would change, and ask whether to go on; without a person to ask, refuse."""
    from hmrouter.cli.import_job import ImportJob
    from hmrouter.cli.refused_rows import RefusedRows
    from hmrouter.logs import Notes

    look = replace(request, notes=Notes())
    with RefusedRows(None) as nowhere:
        job = ImportJob(kept, nowhere, look, replace(manner, dry_run=True), None, embedder=None)
        logs = [log for path in paths for log in job.run(path, format)]
    changed = [(log.path, log.added) for log in logs if log.added is not None and log.added.differing]
    total = sum(added.differing for _, added in changed)
    if not total:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"nobody is there to ask whether to replace the values of {counted(total, 'outcome')}; give --yes, "
            "or --dry-run to see them"
        )
    for path, added in changed:
        say(f"{path} changes {counted(added.differing, 'outcome')}:")
        for line in change_lines(added):
            say(f"  {line}")
    if not typer.confirm("Replace?", err=True):
        raise typer.Exit(1)


def _shown(value: object) -> str:
    if value is None:
        return "unknown"
    return f"{value:g}" if isinstance(value, float) else str(value)
