"""What a batch came to, beside always using the incumbent: measured where it ran, estimated where it did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hmrouter.run.results import TaskResult
from hmrouter.types import Report, Route, Status


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """Counts of a batch."""

    tasks: int
    solved: int
    dollars: float
    without_cost: int
    """Attempts whose harness told no dollars: they are not in the sum."""


@dataclass(frozen=True, slots=True)
class IncumbentSummary:
    """What always using one route would have come to."""

    route: Route
    solved: float
    dollars: float | None
    """None where nothing is known of its cost on some task."""
    measured: int
    """Tasks on which it ran: what happened is counted."""
    estimated: int
    """Tasks on which it did not run: what was expected of it before is counted."""


def summary(results: Sequence[TaskResult]) -> BatchSummary:
    """Count tasks, those that were solved, and dollars."""
    reports = [report for result in results for report in result.reports]
    spent = sum(report.cost or 0.0 for report in reports)
    unknown = sum(report.cost is None for report in reports)
    return BatchSummary(len(results), sum(result.solved for result in results), spent, unknown)


def against(results: Sequence[TaskResult], incumbent: Route) -> IncumbentSummary:
    """Say what the incumbent alone would have come to on the same tasks."""
    solved, measured, dollars = 0.0, 0, 0.0
    known = True
    for result in results:
        own = _own_run(result, incumbent)
        success, cost = result.forecast.get(incumbent, (0.0, None))
        if own is not None:
            measured += 1
            success, cost = float(own.passed), own.cost if own.cost is not None else cost
        solved += success
        known = known and cost is not None
        dollars += cost or 0.0
    return IncumbentSummary(incumbent, solved, dollars if known else None, measured, len(results) - measured)


def _own_run(result: TaskResult, route: Route) -> Report | None:
    """The first attempt of a route at a task that says something about it."""
    return next((r for r in result.reports if r.route == route and r.status is Status.OK), None)
