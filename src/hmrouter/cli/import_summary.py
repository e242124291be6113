"""Report an import and the contents of a store, in words for people and as a document for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hmrouter.cli.import_changes import change_lines
from hmrouter.cli.output import percent
from hmrouter.cli.words import counted
from hmrouter.types import Outcome, Route

if TYPE_CHECKING:
    from hmrouter.logs import Notes, Refusals
    from hmrouter.names import Names
    from hmrouter.store import AddReport, Change, Summary

SHOWN = 8
"""How many items of a list are shown; the JSON document has all."""


@dataclass
class Tally:
    """Counts outcomes on their way to the store. It grows with the routes, not with the outcomes."""

    routes: Counter[Route] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    costs: Counter[str] = field(default_factory=Counter)
    """Outcomes whose cost is `reported` by the log, known `from_tokens` only, or `unknown`."""

    def watch(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """Pass the outcomes on, counting them."""
        for outcome in outcomes:
            self.routes[outcome.route] += 1
            self.statuses[outcome.status.value] += 1
            self.costs[_cost_known(outcome)] += 1
            yield outcome

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.routes += other.routes
        self.statuses += other.statuses
        self.costs += other.costs

    def to_dict(self) -> dict[str, Any]:
        """Return the counts for `--json`."""
        return {
            "outcomes": self.routes.total(),
            "routes": len(self.routes),
            "models": len({route.model for route in self.routes}),
            "harnesses": len({route.harness for route in self.routes}),
            "cost": {kind: self.costs[kind] for kind in ("reported", "from_tokens", "unknown")},
            "statuses": dict(sorted(self.statuses.items())),
        }

    def lines(self) -> list[str]:
        """Say the counts in lines for people."""
        if not (total := self.routes.total()):
            return []
        read, cost = self.to_dict(), self.costs
        shares = (percent(cost[kind] / total) for kind in ("reported", "from_tokens", "unknown"))
        return [
            f"Read {counted(total, 'outcome')} on {counted(read['routes'], 'route')} "
            f"({counted(read['models'], 'model')} x {counted(read['harnesses'], 'harness', 'harnesses')}).",
            "Cost: {}% reported, {}% from tokens, {}% unknown.".format(*shares),
            f"Status: {', '.join(f'{n:,} {status}' for status, n in self.statuses.most_common())}.",
        ]


@dataclass
class LogReport:
    """The result of importing one log."""

    path: str
    format: str
    tally: Tally
    refusals: Refusals
    added: AddReport | None = None
    """The store's report; None where the log was refused."""
    error: str = ""
    """Why the log was refused; empty where it was not."""

    def line(self) -> str:
        """Say in one line how many outcomes came of the log.

        `runs.csv: 96 outcomes, 90 new, 6 known already (csv: 24 tasks on 4 routes, 100.0% of the grid)`.
        """
        added = self.added
        assert added is not None, "a refused log has an error, not a line"
        parts = [counted(added.new + added.known, "outcome"), f"{added.new:,} new"]
        parts += [f"{added.known:,} known already"] * bool(added.known)
        parts += [f"{added.replaced:,} replaced"] * bool(added.replaced)
        parts += [f"{self.refusals.count:,} refused"] * bool(self.refusals.count)
        grid = ""
        if added.cells:  # else every record of it was refused
            grid = f": {counted(added.tasks, 'task')} on {counted(added.routes, 'route')}, {_filled(added)} of the grid"
        return f"{self.path}: {', '.join(parts)} ({self.format}{grid})"

    def reasons(self) -> list[tuple[str, int, list[str]]]:
        """List why records were refused: the reason, how many, and the first places."""
        found = []
        for reason, n in self.refusals.reasons.most_common():
            told = [m.removesuffix(f": {reason}") for m in self.refusals.first if m.endswith(f": {reason}")]
            found.append((reason, n, [place.removeprefix(self.path).strip(" /") for place in told]))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the log's result for `--json`."""
        out: dict[str, Any] = {"path": self.path, "format": self.format}
        if (added := self.added) is not None:
            out |= {
                "outcomes": added.new + added.known, "new": added.new, "known": added.known,
                "differing": added.differing, "replaced": added.replaced,
                "changes": [
                    {"task": c.task.id, "suite": c.task.suite, "route": str(c.route), **_both(c)} for c in added.changes
                ],
                "known_as": list(added.known_as),
                "alike": [{"source": a.source, "same": a.same, "differing": a.differing} for a in added.alike],
                "tasks": added.tasks, "cells": added.cells,
                "density": density(added.cells, added.tasks, added.routes), **self.tally.to_dict(),
            }  # fmt: skip
        else:
            out["error"] = self.error
        reasons = [{"reason": reason, "records": n, "first": places} for reason, n, places in self.reasons()]
        return out | {"refused": self.refusals.count, "reasons": reasons}


@dataclass
class ImportReport:
    """The result of an import: its logs, and what a person should know beside them."""

    names: Names
    notes: Notes
    dry_run: bool = False
    logs: list[LogReport] = field(default_factory=list)
    store: Summary | None = None
    """Counts of the store after the import; None where nothing was added to it."""
    refused_file: str | None = None
    """Path of the file with the refused records, if one was written."""

    @property
    def imported(self) -> list[LogReport]:
        """The logs that were imported."""
        return [log for log in self.logs if log.added is not None]

    @property
    def refused(self) -> list[LogReport]:
        """The logs that were refused."""
        return [log for log in self.logs if log.added is None]

    @property
    def total(self) -> Tally:
        """The counts of all imported logs together."""
        tally = Tally()
        for log in self.imported:
            tally.add(log.tally)
        return tally

    @property
    def new_names(self) -> dict[str, list[str]]:
        """Models and harnesses of the imported logs that no table has."""
        routes = self.total.routes
        return {
            "models": sorted({route.model for route in routes} - self.names.known_models),
            "harnesses": sorted({route.harness for route in routes} - self.names.known_harnesses),
        }

    @property
    def look_alikes(self) -> dict[str, list[str]]:
        """New names that resemble known ones, or each other."""
        from hmrouter.names.similar import look_alikes

        new = self.new_names
        return look_alikes(new["models"], self.names.known_models) | look_alikes(
            new["harnesses"], self.names.known_harnesses
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the import's result for `--json`."""
        notes = self.notes
        return {
            "dry_run": self.dry_run,
            "imported": [log.to_dict() for log in self.imported],
            "refused": [log.to_dict() for log in self.refused],
            "refused_file": self.refused_file,
            "read": self.total.to_dict(),
            "store": None if self.store is None else store_dict(self.store),
            "unknown_names": self.new_names,
            "look_alikes": self.look_alikes,
            "skipped": list(notes.skipped),
            "ignored_columns": {file: sorted(columns) for file, columns in notes.ignored_columns.items()},
            "without_query": notes.without_query,
            "remarks": dict(notes.remarks),
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        """Say the totals, to be printed below the lines of the logs."""
        yield from self.total.lines()
        if self.dry_run:
            yield "Dry run: nothing was written."
        elif self.store is not None:
            yield from store_lines(self.store)

    def remarks(self) -> Iterator[str]:
        """List the warnings and notes: no errors, but a person should see them."""
        notes = self.notes
        for log in self.imported:
            yield from _repeats(log)
        for kind, new in self.new_names.items():
            if new:
                yield f"note: {kind} not in the table of known names, kept as they are: {some(new)}"
        for name, others in sorted(self.look_alikes.items())[:SHOWN]:
            yield f"note: {name} looks like {some(others)}; to count them as one, see: hmrouter names"
        for file, columns in sorted(notes.ignored_columns.items())[:SHOWN]:
            yield f"note: {file}: columns not used: {some(sorted(columns))}"
        if len(notes.ignored_columns) > SHOWN:
            yield f"note: columns not used in {counted(len(notes.ignored_columns) - SHOWN, 'more file')}"
        if notes.skipped:
            yield f"note: no log recognised, so not read: {some(sorted(notes.skipped))}"
        if notes.without_query:
            yield f"note: {counted(notes.without_query, 'outcome')} without a text in queries.jsonl"
        for remark, n in notes.remarks.most_common():
            yield f"note: {remark}{f' ({n:,} times)' if n > 1 else ''}"
        if self.refused_file is not None:
            yield f"note: the refused records are in {self.refused_file}"


def _repeats(log: LogReport) -> Iterator[str]:
    """Say which outcomes of a log are known by another name or with other values, and what it resembles."""
    added = log.added
    assert added is not None, "a refused log has no outcomes"
    if added.known_as:
        yield (
            f"note: {log.path} was imported as {some(list(added.known_as))} before: its rows are known by what they "
            "say. If they are other executions: --run NAME"
        )
    if added.differing > added.replaced:
        changes = "; ".join(change_lines(added))
        yield (
            f"warning: {log.path}: {counted(added.differing, 'outcome')} in the store already with other values, and "
            f"these stay: {changes}. To take the new ones: --replace; if they are other executions: --run NAME"
        )
    for alike in added.alike:
        yield (
            f"note: {log.path} resembles {alike.source} ({alike.same:,} rows identical, {alike.differing:,} not) and "
            "counts as other executions. If it is that file corrected: hmrouter store undo, then import with --replace"
        )


def _both(change: Change) -> dict[str, Any]:
    """Return the values that differ, for `--json`."""
    values = change.values.items()
    return {"kept": {name: old for name, (old, _) in values}, "given": {name: new for name, (_, new) in values}}


def some(items: list[str]) -> str:
    """Name the first few of a list, and say how many more there are.

    >>> some(["a", "b"])
    'a, b'
    """
    return ", ".join(items[:SHOWN]) + (f" and {len(items) - SHOWN:,} more" if len(items) > SHOWN else "")


def density(cells: int, tasks: int, routes: int) -> float | None:
    """The share of the grid of tasks and routes that has an outcome.

    >>> density(3, 2, 2)
    0.75
    """
    return cells / (tasks * routes) if tasks and routes else None


def store_dict(summary: Summary) -> dict[str, Any]:
    """Return the contents of a store for `--json`."""
    return {
        "outcomes": summary.outcomes, "tasks": summary.tasks, "texts": summary.texts, "routes": summary.routes,
        "runs": summary.runs, "cells": summary.cells,
        "density": density(summary.cells, summary.tasks, summary.routes),
        "with_cost": summary.with_cost, "with_token_cost": summary.with_token_cost,
        "suites": dict(summary.suites), "statuses": {str(k): n for k, n in summary.statuses.items()},
        "first": summary.first.isoformat() if summary.first else None,
        "last": summary.last.isoformat() if summary.last else None, "bytes": summary.bytes,
    }  # fmt: skip


def store_lines(summary: Summary) -> list[str]:
    """Say the contents of a store in lines for people."""
    grid = f"; {_filled(summary)} of the grid is filled" if summary.cells else ""
    return [
        f"The store holds {counted(summary.outcomes, 'outcome')} of {counted(summary.tasks, 'task')} on "
        f"{counted(summary.routes, 'route')} in {counted(len(summary.suites), 'suite')}{grid}."
    ]


def _filled(grid: AddReport | Summary) -> str:
    """Say the density in per cent, rounded down: a grid with a gap is not 100% full."""
    return f"{1000 * grid.cells // (grid.tasks * grid.routes) / 10}%"


def _cost_known(outcome: Outcome) -> str:
    if outcome.cost is not None:
        return "reported"
    return "unknown" if outcome.token_cost is None else "from_tokens"
