"""How much of what the pooled model leaves of a run is real, and to what it belongs: by moments, shrunk.

The products of two residuals on one task average to the variances of what the two have in common. Two routes that
share nothing have the task in common; two of one model also the model; two of one harness also the harness; a cell
that was run several times tells the noise of single runs from what is the pair's own. Two tasks of a family show how
much of all that they share.

Every estimate is shrunk towards the middle of what public benchmarks show, as if that had been seen on a few tasks
(`PRIOR_TASKS`): a suite that never repeats a task learns what it can, and for the rest the prior decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from hmrouter.evidence.cells import Cells
from hmrouter.state import Array, Floats, Ints
from hmrouter.types import Route

SHARES = {"task": 0.27, "model": 0.05, "harness": 0.09, "pair": 0.12, "noise": 0.47}
"""Shares of a single run's variance: means over six public benchmarks with repeated runs (decision 17)."""
LIKENESS = 0.6
"""How alike two tasks of a family are, where the suite does not tell: variants of public tasks show .6 and .9."""
PRIOR_TASKS = 20.0
"""The number of tasks that the shares above count as."""
LEAST = {"task": 0.1, "model": 0.1, "harness": 0.1, "pair": 0.3}
"""No variance is estimated below this part of the prior's: a few tasks may show none by chance. Many tasks may not."""
MOST_OF_SUITE = 0.5
"""A family that is a larger part of all tasks shows nothing: what it has in common the pooled model has learned."""
BEFORE = 0.25
"""The variance of a single run of which nothing is known: success and failure are as likely."""
WHOLE = 1e-6
"""A score times its runs that is this near to a whole number is a count of successes."""


@dataclass(frozen=True, slots=True)
class RunVariances:
    """Variances of what the pooled model leaves of a single run, and how alike two tasks of a family are."""

    task: float
    model: float
    harness: float
    pair: float
    noise: float
    likeness: float = LIKENESS

    @classmethod
    def usual(cls, scale: float) -> Self:
        """Split the variance of a single run as public benchmarks do."""
        return cls(**{name: share * scale for name, share in SHARES.items()})

    @classmethod
    def learn(
        cls,
        rest: Floats,
        score: Floats,
        runs: Floats,
        task: Ints,
        route: Ints,
        routes: Sequence[Route],
        family: Ints,
        before: float = BEFORE,
    ) -> Self:
        """Learn from cells: `rest`, what the pooled model leaves of `score`, the mean of `runs` runs.

        `task` and `route`: places per cell. `family`: a number per task, the same for tasks of one family. `before`:
        the variance of a cell that was expected.
        """
        if not len(rest):
            return cls.usual(before)
        model, harness = (_codes(routes, part)[route] for part in (_model, _harness))
        noise, repeated = _noise(score, runs)
        # A cell of n runs has less noise than a single one; what a single run varies by is the same everywhere.
        averaged = noise * float((1.0 - 1.0 / np.maximum(runs, 1.0)).mean())
        seen = float((rest**2).mean()) + averaged
        scale = _shrunk(seen, float(len(np.unique(task))), before + averaged, 1e-4)
        usual = cls.usual(scale)
        anyone, of_model, of_harness = (
            _products(rest, group, task) for group in (task, _pairs(task, model), _pairs(task, harness))
        )
        neither = anyone.less(of_model).less(of_harness)
        tasks = _shrunk(neither.mean, neither.tasks, usual.task, LEAST["task"] * usual.task)
        models, harnesses = (
            _shrunk(of.mean - neither.mean, min(of.tasks, neither.tasks), prior, least * prior)
            for of, prior, least in (
                (of_model, usual.model, LEAST["model"]), (of_harness, usual.harness, LEAST["harness"]),
            )
        )  # fmt: skip
        # What no two routes share is the pair's own, or noise; only repeated runs, or a family, tell which.
        left = max(scale - tasks - models - harnesses, 0.2 * scale)
        noise = _shrunk(noise, repeated, left * usual.noise / (usual.noise + usual.pair), 0.05 * scale)
        pair, likeness = left - noise, LIKENESS
        if (across := _across_family(rest, task, route, family)) is not None:
            same, others = across
            if others.count and anyone.mean > 0.0:
                likeness = _shrunk(min(max(others.mean / anyone.mean, 0.0), 0.95), others.tasks, LIKENESS, 0.0)
            if not repeated and same.count:
                # The less the tasks are alike, the less they tell of what is the pair's own.
                of_pair = same.mean / likeness - tasks - models - harnesses
                pair = _shrunk(of_pair, same.tasks * likeness**2, pair, 0.0)
                noise = max(left - pair, 0.05 * scale)
        least = LEAST["pair"] * usual.pair * np.sqrt(PRIOR_TASKS / (repeated + PRIOR_TASKS))
        return cls(tasks, models, harnesses, max(pair, float(least)), noise, likeness)

    @classmethod
    def of_cells(cls, cells: Cells, score: Floats, routes: Sequence[Route]) -> tuple[Self, float, float]:
        """Learn from what the means of the routes leave of the scores of cells.

        Also tell which share of the pairs of cells of one task have the same model, and the same harness.
        """
        n = np.bincount(cells.route, minlength=len(routes))
        mean = np.bincount(cells.route, weights=score, minlength=len(routes)) / np.maximum(n, 1)
        rest, alone = score - mean[cells.route], np.arange(int(cells.task.max(initial=-1)) + 1)
        learned = cls.learn(rest, score, np.maximum(cells.trials, 1.0), cells.task, cells.route, routes, alone)
        parts = (_pairs(cells.task, _codes(routes, part)[cells.route]) for part in (_model, _harness))
        counts = [_products(rest, group, cells.task).count for group in (cells.task, *parts)]
        return learned, counts[1] / max(counts[0], 1.0), counts[2] / max(counts[0], 1.0)

    @property
    def cell(self) -> float:
        """The variance of a cell around its prediction, without noise."""
        return self.task + self.model + self.harness + self.pair

    def to_dict(self) -> dict[str, Any]:
        """Give the variances as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Moment:
    """A sum of products of residuals, how many there are, and on how many tasks."""

    total: float
    count: float
    tasks: float

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def less(self, part: _Moment) -> _Moment:
        count = self.count - part.count
        return _Moment(self.total - part.total, count, self.tasks if count > 0 else 0.0)


def _products(rest: Floats, group: Ints, task: Ints) -> _Moment:
    """Sum the products of all pairs of residuals within groups."""
    _, at, n = np.unique(group, return_inverse=True, return_counts=True)
    total = np.bincount(at, weights=rest) ** 2 - np.bincount(at, weights=rest**2)
    tasks = np.unique(task[(n > 1)[at]])
    return _Moment(float(total.sum()), float((n * (n - 1)).sum()), float(len(tasks)))


def _across_family(rest: Floats, task: Ints, route: Ints, family: Ints) -> tuple[_Moment, _Moment] | None:
    """Sum products between different tasks of a family: of the same route, and of different ones; None without any."""
    of, tasks = family[task], np.unique(task)
    sizes = np.bincount(family[tasks], minlength=int(family.max(initial=0)) + 1)
    several = (sizes[of] > 1) & (sizes[of] <= MOST_OF_SUITE * len(tasks))
    if not several.any():
        return None
    rest, task, route, of = rest[several], task[several], route[several], of[several]
    of_route = _pairs(of, route)
    anyone = _squares(rest, of).less(_squares(rest, task))
    same = _squares(rest, of_route).less(_squares(rest, _pairs(of_route, task)))
    n = float(len(np.unique(task)))
    return replace(same, tasks=n), replace(anyone.less(same), tasks=n)


def _squares(rest: Floats, group: Ints) -> _Moment:
    """Sum the products of all pairs of residuals within groups, each with itself included."""
    _, at, n = np.unique(group, return_inverse=True, return_counts=True)
    return _Moment(float((np.bincount(at, weights=rest) ** 2).sum()), float((n.astype(np.float64) ** 2).sum()), 0.0)


def _noise(score: Floats, runs: Floats) -> tuple[float, float]:
    """Estimate the variance of single runs from cells with several runs that fail or succeed, and count those cells."""
    counts = score * runs
    several = (runs > 1.5) & (np.abs(counts - counts.round()) < WHOLE) & (np.abs(runs - runs.round()) < WHOLE)
    y, n = score[several], runs[several]
    return (float((y * (1.0 - y) * n / (n - 1.0)).mean()), float(len(y))) if len(y) else (0.0, 0.0)


def _shrunk(seen: float, tasks: float, prior: float, least: float) -> float:
    """Weigh what was seen on some tasks against the prior, which counts as PRIOR_TASKS of them.

    >>> [round(_shrunk(-0.01, tasks, 0.06, 0.006), 4) for tasks in (0.0, 20.0, 200.0, 20000.0)]
    [0.06, 0.025, 0.0018, 0.0002]
    """
    by = PRIOR_TASKS / (tasks + PRIOR_TASKS)
    return float(max((1.0 - by) * seen + by * prior, least * np.sqrt(by)))


def _pairs(a: Array, b: Array) -> Ints:
    """Number the combinations of two labels."""
    return np.asarray(a, dtype=np.int64) * (int(np.max(b, initial=0)) + 1) + np.asarray(b, dtype=np.int64)


def _codes(routes: Sequence[Route], part: Callable[[Route], str]) -> Ints:
    return np.unique([part(r) for r in routes], return_inverse=True)[1].astype(np.int64)


def _model(route: Route) -> str:
    return route.model


def _harness(route: Route) -> str:
    return route.harness
