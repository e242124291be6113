"""Remove what killed runs left: processes, checkouts, and entries in the ledger that say they are still under way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hmrouter.run.leftovers import alive, end_all, mark_of
from hmrouter.run.trees.repository import Repository
from hmrouter.run.work_folder import WorkFolder
from hmrouter.store import AttemptState, LedgerEntry, OutcomeStore
from hmrouter.types import Report, ReportSource, Status

PARTS = ("harness", "setup", "check/setup", "check/verify")
"""The folders below that of an attempt that its processes are marked with."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What a cleaning removed."""

    processes: int
    worktrees: int
    attempts: int
    """Attempts that were under way when their process ended; they are reported as unknown."""


def clean(
    store: OutcomeStore, repository: Repository, work: WorkFolder, *, keep_unfinished: bool = False, grace: float = 5.0
) -> Removed:
    """Remove everything that no living run owns. Output and diffs stay, and so does what waits to be verified.

    `keep_unfinished` leaves the ledger as it is, for a run that goes on with it.
    """
    below = str(work.root)
    entries = [e for e in store.unfinished_attempts() if e.folder.startswith(below)]
    dead = [e for e in entries if not work.alive(str(e.detail.get("owner", "")))]
    living = {f"{e.plan}-{e.attempt}" for e in entries if e not in dead}
    processes = sum(end_processes(e, grace) for e in dead)
    trees = [t for t in _trees(repository, work) if not any(t.name.startswith(name) for name in living)]
    for tree in trees:
        repository.remove_worktree(tree)
    interrupted = [e for e in dead if e.state is AttemptState.STARTED and not keep_unfinished]
    for entry in interrupted:
        store.finish_attempt(_interrupted(entry), entry.detail)
    return Removed(processes, len(trees), len(interrupted))


def end_processes(entry: LedgerEntry, grace: float = 5.0) -> int:
    """End the processes of an attempt whose own process is gone; return how many there were."""
    found = 0
    for part in PARTS:
        mark = mark_of(Path(entry.folder) / part)
        if processes := alive(mark):
            found += len(processes)
            end_all(mark, grace=grace)
    return found


def _interrupted(entry: LedgerEntry) -> Report:
    note = "interrupted: the process that ran it ended"
    return Report(
        entry.plan, None, entry.attempt, Status.UNKNOWN, route=entry.route, source=ReportSource.VERIFIER, note=note
    )


def _trees(repository: Repository, work: WorkFolder) -> Iterable[Path]:
    """All checkouts below the work folder, those that git knows and those that it does not know any more."""
    known = repository.worktrees(work.trees)
    there = [path for path in work.trees.iterdir() if path.is_dir()] if work.trees.is_dir() else []
    return sorted({path.resolve() for path in (*known, *there)})
