"""Checks a benchmark directory: counts what it holds and lists everything that is wrong with it.

The reader in `logs` refuses a directory with a bad row. Here the same reader goes on behind it, so that one report
lists them all, together with what it reads but nobody may have meant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hmrouter.bench.benchmarks.rectangles import count_rectangles
from hmrouter.errors import LogError
from hmrouter.evidence.dataset import Dataset
from hmrouter.logs.base import Refusals, Request, problem
from hmrouter.logs.formats.benchmark import OUTCOMES, QUERIES, directory_outcomes, directory_tasks
from hmrouter.names import Names
from hmrouter.types import Outcome, Route

EXAMPLES = 5
"""How many examples of one kind a report shows."""

Item = TypeVar("Item")


class Severity(StrEnum):
    """Tells how much a finding stands in the way of using the directory."""

    ERROR = "error"
    """The reader refuses the directory."""
    WARNING = "warning"
    """It is read, but perhaps not as it is meant."""
    NOTE = "note"
    """Worth knowing."""


_KINDS = {
    "file": (Severity.ERROR, "files that cannot be read, or only up to there"),
    "task": (Severity.ERROR, f"lines of {QUERIES} that are no task"),
    "score": (Severity.ERROR, "scores that are no number from 0 to 1"),
    "row": (Severity.ERROR, f"rows of {OUTCOMES} that are no outcome for another reason"),
    "duplicate": (Severity.WARNING, "rows with the task, model and harness of an earlier one; they count as trials"),
    "unknown_task": (Severity.WARNING, f"tasks with outcomes that {QUERIES} does not list"),
    "unused_task": (Severity.WARNING, "tasks without outcomes; they are not used"),
    "no_text": (Severity.WARNING, "tasks without a text, which a router can only treat alike"),
    "one_harness": (Severity.WARNING, "a single harness, so there is none to choose and no interaction to measure"),
    "same_name": (Severity.WARNING, "names that are written in several ways and become one"),
    "spelling": (Severity.NOTE, "names that are not canonical and are replaced"),
}
"""Kind of finding -> its severity and what it says, the worst first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """All that was found of one kind."""

    severity: Severity
    kind: str
    message: str
    """What `count` counts."""
    count: int
    examples: tuple[str, ...]
    """The first few."""

    def __str__(self) -> str:
        more = f"; and {self.count - len(self.examples)} more" if self.count > len(self.examples) else ""
        return f"{self.severity}: {self.message} ({self.count}): {'; '.join(self.examples)}{more}"


@dataclass(frozen=True, slots=True)
class Validation:
    """The report on a benchmark directory. Its numbers are of the outcomes that can be read, by canonical names."""

    path: Path
    tasks: int
    """Tasks with at least one outcome; so for routes, models and harnesses."""
    routes: int
    models: int
    harnesses: int
    cells: int
    """(task, route) pairs with an outcome."""
    rectangles: int
    """Choices of two models and two harnesses whose four routes all have outcomes."""
    cells_with_cost: int
    cells_with_route_mean: int
    """Those of them whose cost is the mean of the route, not of the task."""
    tasks_without_text: int
    findings: tuple[Finding, ...]
    """The worst first."""

    @property
    def ok(self) -> bool:
        """Whether the reader takes the directory."""
        return all(finding.severity is not Severity.ERROR for finding in self.findings)

    @property
    def density(self) -> float:
        """Share of the tasks x routes grid that has outcomes."""
        return self.cells / max(1, self.tasks * self.routes)

    @property
    def pair_density(self) -> float:
        """Share of the models x harnesses grid that has outcomes."""
        return self.routes / max(1, self.models * self.harnesses)

    @property
    def cost_share(self) -> float:
        """Share of the cells that have a cost."""
        return self.cells_with_cost / max(1, self.cells)

    @property
    def route_mean_share(self) -> float:
        """Share of the cells whose cost is a route mean."""
        return self.cells_with_route_mean / max(1, self.cells)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        derived = ("ok", "density", "pair_density", "cost_share", "route_mean_share")
        return asdict(self) | {"path": str(self.path)} | {name: getattr(self, name) for name in derived}

    def lines(self) -> list[str]:
        """The report for people: what there is, then one line per finding."""
        return [
            f"{self.path.absolute().name}: {self.tasks} tasks, {self.routes} routes of {self.models} models and"
            f" {self.harnesses} harnesses ({self.pair_density:.1%} of their pairs), {self.rectangles} 2x2 rectangles",
            f"{self.cells} cells, {self.density:.1%} of tasks x routes; "
            f"cost on {self.cost_share:.1%} of the cells ({self.route_mean_share:.1%} only as route mean),"
            f" text for {self.tasks - self.tasks_without_text} of {self.tasks} tasks",
            *map(str, self.findings),
        ]


def validate(path: str | Path) -> Validation:
    """Read a whole benchmark directory and report; only a path that is no directory raises.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "queries.jsonl").write_text('{"query_id": "q1", "text": "Fix it"}')
    ...     _ = Path(folder, "outcomes.csv").write_text("query_id,model,harness,score\\nq1,gpt-5,codex,1.7\\n")
    ...     print(validate(folder).findings[0])
    error: scores that are no number from 0 to 1 (1): outcomes.csv line 2: score 1.7 is outside 0 to 1
    """
    directory = Path(path)
    if not os.path.isdir(directory):
        raise problem(directory, f"is not a directory; a benchmark is one with {OUTCOMES} and {QUERIES}")
    found, names = _Findings(directory), _Spellings()
    request = Request(names=names, refusals=Refusals(skip=True, keep=found.refused))
    tasks = {task.id: task for task in found.until_broken(directory_tasks(directory, request))}
    data = Dataset(found.duplicates(found.until_broken(directory_outcomes(directory, tasks, request))))
    if not found.has("file"):  # else what was not read would look as if it were missing
        found.add("unknown_task", *(repr(task.id) for task in data.tasks if task.id not in tasks))
        found.add("unused_task", *map(repr, sorted(tasks.keys() - {task.id for task in data.tasks})))
    run = [data.tasks[i] for i in np.unique(data.cells.task)]
    without_text = [task.id for task in run if not task.text.strip()]
    found.add("no_text", *map(repr, without_text))
    routes = [route for route, observed in zip(data.routes, data.observed, strict=True) if observed]
    harnesses = {route.harness for route in routes}
    if len(harnesses) == 1:
        found.add("one_harness", *map(repr, harnesses))
    names.report(found)
    costed = ~np.isnan(data.cells.cost)
    return Validation(
        path=directory,
        tasks=len(run),
        routes=len(routes),
        models=len({route.model for route in routes}),
        harnesses=len(harnesses),
        cells=len(data.cells),
        rectangles=count_rectangles(routes),
        cells_with_cost=int(costed.sum()),
        cells_with_route_mean=int((costed & data.cells.cost_is_route_mean).sum()),
        tasks_without_text=len(without_text),
        findings=found.all(),
    )


class _Findings:
    """Collects what is found, by kind."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = dict.fromkeys(_KINDS, 0)
        self._examples: dict[str, list[str]] = {kind: [] for kind in _KINDS}

    def add(self, kind: str, *examples: str) -> None:
        self._count[kind] += len(examples)
        room = EXAMPLES - len(self._examples[kind])
        self._examples[kind] += examples[:room]

    def has(self, kind: str) -> bool:
        return self._count[kind] > 0

    def all(self) -> tuple[Finding, ...]:
        return tuple(
            Finding(severity, kind, message, self._count[kind], tuple(self._examples[kind]))
            for kind, (severity, message) in _KINDS.items()
            if self.has(kind)
        )

    def refused(self, record: dict[str, Any]) -> None:
        """Take a record that the reader refused."""
        message = self._local(record["error"])
        row = "score" if _BAD_SCORE.match(message) else "row"
        self.add("task" if message.startswith(QUERIES) else row, message)

    def until_broken(self, records: Iterator[Item]) -> Iterator[Item]:
        """The records up to where the file's structure breaks, which is reported: nobody knows what follows."""
        try:
            yield from records
        except LogError as error:
            self.add("file", self._local(str(error)))

    def duplicates(self, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        """The outcomes; a second one of a cell is reported."""
        seen: set[tuple[str, Route]] = set()
        for outcome in outcomes:
            cell = (outcome.task.id, outcome.route)
            if cell in seen:
                self.add("duplicate", f"{outcome.task.id!r} on {str(outcome.route)!r}")
            seen.add(cell)
            yield outcome

    def _local(self, message: str) -> str:
        """The message without the directory's path, which the report has already."""
        return message.removeprefix(f"{self._directory}{os.sep}")


class _Spellings(Names):
    """Canonical names that remember how each was written."""

    def __init__(self) -> None:
        super().__init__()
        self._written: dict[tuple[str, str], set[str]] = {}

    def model(self, name: str) -> str:
        canonical = super().model(name)
        self._written.setdefault(("model", canonical), set()).add(name)
        return canonical

    def harness(self, name: str) -> str:
        canonical = super().harness(name)
        self._written.setdefault(("harness", canonical), set()).add(name)
        return canonical

    def report(self, found: _Findings) -> None:
        for (kind, canonical), written in sorted(self._written.items()):
            found.add("spelling", *(f"{kind} {name!r} -> {canonical!r}" for name in sorted(written - {canonical})))
            if len(written) > 1:
                found.add("same_name", f"{kind} {', '.join(map(repr, sorted(written)))} -> {canonical!r}")


_BAD_SCORE = re.compile(rf"{re.escape(OUTCOMES)} line \d+: score ")
