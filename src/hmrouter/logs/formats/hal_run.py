"""A HAL run, its tasks and its cost: the common part of the HAL site's databases and the files uploaded to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hmrouter.errors import InvalidOutcome
from hmrouter.logs import coerce
from hmrouter.logs.base import Notes
from hmrouter.types import Outcome, Route, Status, Task

SOURCE = "hal"
"""The same for the site's databases and for the files that were uploaded to it, because the runs are the same."""
CHEAPEST = 1e-9
"""Dollars per token, a tenth of a cent per million. Nothing is sold for less: such a total was not measured."""


@dataclass(frozen=True, slots=True)
class HalRun:
    """One run of a harness with a model over a benchmark, as HAL reports it."""

    suite: str
    run: str
    route: Route
    model: str
    """The source's spelling."""
    cost: float | None
    """Mean dollars per task."""
    when: datetime | None
    harness_version: str = ""

    def outcome(
        self,
        task: str,
        score: float | None,
        *,
        text: str = "",
        seconds: float | None = None,
        when: datetime | None = None,
    ) -> Outcome:
        """Make the outcome of one task; without a score its status is unknown."""
        return Outcome(
            Task(task, self.suite, text), self.route, score,
            status=Status.UNKNOWN if score is None else Status.OK,
            cost=self.cost, cost_is_route_mean=self.cost is not None,
            seconds=seconds, when=when or self.when, source=SOURCE, run=self.run,
            model_version=self.model if self.model != self.route.model else "",
            harness_version=self.harness_version,
        )  # fmt: skip


def split_agent_name(name: str) -> tuple[str, str]:
    """Split an agent's name into harness and model; the model is "" where there are no parentheses at the end.

    >>> split_agent_name("HAL Generalist Agent (Claude Opus 4.1 (August 2025))")
    ('HAL Generalist Agent', 'Claude Opus 4.1 (August 2025)')
    """
    depth = 0
    for place in range(len(name) - 1, 0, -1) if name.endswith(")") else ():
        depth += (name[place] == ")") - (name[place] == "(")
        if depth == 0:
            return name[:place].strip(), name[place + 1 : -1].strip()
    return name, ""


def scores_of(successful: Iterable[Any], failed: Iterable[Any]) -> dict[str, float]:
    """Score each task 1 or 0; a task that is in neither list is absent, one that is in both is refused."""
    scores: dict[str, float] = {}
    for score, ids in ((1.0, successful), (0.0, failed)):
        for value in ids:
            task = coerce.name(value, "task id")
            if not task:
                raise InvalidOutcome("a task id is empty")
            if scores.setdefault(task, score) != score:
                raise InvalidOutcome(f"task {task!r} is both successful and failed")
    return scores


def mean_cost(total: float | None, tasks: int, tokens: float, notes: Notes) -> float | None:
    """Compute dollars per task of a run; None where the total was not measured: zero, or far too little for its tokens.

    >>> [mean_cost(total, 45, 4e7, Notes()) for total in (9.0, 0.0, 0.01)]
    [0.2, None, None]
    """
    if not total:
        return None
    if 0 < total < CHEAPEST * tokens:
        notes.remarks["HAL runs whose total cost is too low for their tokens; taken as not known"] += 1
        return None
    return total / tasks
