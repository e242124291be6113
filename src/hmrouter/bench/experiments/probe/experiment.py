"""`probe`: how good a choice is after a number of runs, by what was run; and how well a new model is known.

The pool starts without outcomes. Runs are bought one at a time and read off the benchmark; after each, the route with
the highest posterior mean is what would be chosen, and its regret is what it has less than the best route, in mean
score over all tasks. Methods with `_alone` know the suite's own runs only; the others also what other benchmarks say.
`uniform_means` is what is done without any of this: every route in turn, then the one with the highest mean;
`uniform_pooled` judges these runs by the pooled model of `safe_alone`, to which models have no age and no price.

For a new model, all outcomes of one model are hidden, and one of its routes is run on k tasks: `random` takes the mean
of k random ones, `random_curves` the same tasks with what other routes showed about them, and `probe` chooses them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.probe import report as probe_report
from hmrouter.bench.experiments.probe.buying import BOUGHT, BUYERS, SEEN, bought
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.judge.choices import dense
from hmrouter.bench.judge.history import believed, others
from hmrouter.evidence.dataset import Dataset, hash_rank
from hmrouter.probe.curves import Ability, Curves
from hmrouter.probe.posterior import Posterior
from hmrouter.scorers.base import Belief
from hmrouter.scorers.safe.pooled import Pooled
from hmrouter.state import Bools, Floats, Ints
from hmrouter.types import Route

TIMES = 4
"""Every split is so many independent runs, whose mean is the row: single ones are mostly chance."""
NEWCOMERS = 10
"""Routes that are taken for new in each split."""
ALONE, MEANS, POOLED = "_alone", "uniform_means", "uniform_pooled"
NEW = "new"
NEW_METHODS = ("random", "random_curves", "probe_alone", "probe")


class Probe(Experiment):
    """Measures how many runs lead to a good choice, and to a known newcomer."""

    name: ClassVar[str] = "probe"
    title: ClassVar[str] = "Which executions to buy"
    report: ClassVar[Report] = probe_report
    methods: ClassVar[Sequence[str]] = (
        MEANS, POOLED, *(f"{name}{ALONE}" for name in BUYERS), *BUYERS, "random_curves"
    )  # fmt: skip
    own_methods: ClassVar[Mapping[str, str]] = {
        MEANS: "fixed", POOLED: "safe_alone", **{f"{name}{ALONE}": "safe_alone" for name in BUYERS},
        **dict.fromkeys((*BUYERS, "random_curves"), "safe"),
    }  # fmt: skip
    quick: ClassVar[Quick] = Quick(splits=1)

    def refusal(self, benchmark: Benchmark) -> str:
        """There must be something to choose."""
        n = int(benchmark.data().observed.sum())
        return "" if n > 1 else f"{n} route, so there is nothing to choose"

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, part, split and method."""
        return [
            Unit(self.name, b.name, method, split, part)
            for b in request.benchmarks
            for part in ("", NEW)
            for split in range(request.splits)
            for method in request.methods
            if (
                method in NEW_METHODS and newcomers(b.data(), request.seed, split) if part else _buyer(method) in BUYERS
            )
        ]

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Give one row per number of runs."""
        data, alone = benchmark.data(), unit.method.endswith((ALONE, MEANS, POOLED))
        belief = None if alone else believed(others(benchmark, request.benchmarks))
        if unit.setting == NEW:
            errors = [_newcomer(unit, data, r, belief, request.seed) for r in newcomers(data, request.seed, unit.split)]
            return [
                _row(replace(unit, setting=f"{NEW} {k}"), len(data.tasks), runs=k, error=float(error))
                for k, error in zip(SEEN, np.mean(errors, axis=0), strict=True)
            ]
        chosen = [self._chosen(unit, data, belief, (request.seed, unit.split, time)) for time in range(TIMES)]
        rates, costs = data.route_means(), [_mean_cost(data, j) for j in range(len(data.routes))]
        oracle = float(np.nanmax(dense(data), axis=1).mean())
        rows = []
        for i, n in enumerate(BOUGHT):
            routes = [c[i] for c in chosen]
            dollars = [costs[j] for j in routes]
            accuracy = float(np.mean(rates[routes]))
            rows.append(
                _row(
                    replace(unit, setting=str(n)), len(data.tasks), runs=n, accuracy=accuracy, oracle_accuracy=oracle,
                    normalized_accuracy=accuracy / oracle if oracle > 0 else None,
                    cost_usd=None if None in dollars else float(np.mean(np.array(dollars, dtype=np.float64))),
                    regret=float(np.nanmax(rates)) - accuracy,
                )
            )  # fmt: skip
        return rows

    def _chosen(self, unit: Unit, data: Dataset, belief: Belief | None, seed: tuple[int, ...]) -> list[int]:
        """The route that would be chosen after each of the numbers of runs."""
        number = int.from_bytes(hash_rank(unit.benchmark, *seed)[:8])
        steps = bought(data, BUYERS[_buyer(unit.method)], belief, BOUGHT[-1], number)
        judge, leaders = {MEANS: _by_means, POOLED: _by_pooled}.get(unit.method), []
        chance = 1e-9 * np.random.default_rng(number).standard_normal(len(data.routes))
        for n, posterior in enumerate(steps, 1):
            last = n in BOUGHT or n == len(data.cells)
            value = judge(data, posterior.run > 0) + chance if judge and last else posterior.mean
            leaders.append(int(value.argmax()))
        return [leaders[min(n, len(leaders)) - 1] for n in BOUGHT]


def _by_means(data: Dataset, run: Bools) -> Floats:
    """Mean score of what was run, (routes,); below all where nothing was."""
    runs = run.sum(axis=0)
    return np.where(runs > 0, np.where(run, dense(data), 0.0).sum(axis=0) / np.maximum(runs, 1), -1.0)


def _by_pooled(data: Dataset, run: Bools) -> Floats:
    """Expect of each route what the pooled model does, (routes,), knowing them by their names."""
    task, route = np.nonzero(run)
    pooled = Pooled.fit(np.zeros((len(run), 0)), data.routes, task, route, dense(data)[task, route])
    return pooled.effect(data.routes)


def newcomers(data: Dataset, seed: int, split: int) -> list[Route]:
    """Routes that are taken for new: run on more tasks than are shown, with other models beside them."""
    tasks = np.bincount(data.cells.route, minlength=len(data.routes))
    able = [r for r, n in zip(data.routes, tasks, strict=True) if n > SEEN[-1]] if len(data.models) > 1 else []
    return sorted(able, key=lambda r: hash_rank(seed, split, "new", str(r)))[:NEWCOMERS]


def _newcomer(unit: Unit, data: Dataset, new: Route, belief: Belief | None, seed: int) -> list[float]:
    """Measure how far the estimated success rate of a new route is off after each of the numbers of runs."""
    route, of_model = data.routes.index(new), np.array([r.model == new.model for r in data.routes])
    scores = dense(data)[:, route]
    rest, free = data.keep(~of_model[data.cells.route]), ~np.isnan(scores)
    truth, rng = float(scores[free].mean()), np.random.default_rng(list(hash_rank(seed, unit.split, str(new))[:4]))
    if unit.method == "random":
        seen = np.cumsum(scores[rng.permutation(np.flatnonzero(free))[: SEEN[-1]]])
        return [float(abs(seen[k - 1] / k - truth)) for k in SEEN]
    believed_rate = Posterior.of(rest, belief)
    sd = np.sqrt(np.diag(believed_rate.cov))
    curves = Curves.fit(rest.cells, len(data.tasks), len(data.routes))
    ability = Ability(curves, float(believed_rate.mean[route]), float(sd[route]))
    order, off = rng.permutation(len(scores)), {}
    for k, task in enumerate(_tasks(unit.method, ability, free, order), 1):
        ability.add(task, float(scores[task]))
        if k in SEEN:
            off[k] = abs(ability.estimate()[0] - truth)
    return [off[k] for k in SEEN]


def _tasks(method: str, ability: Ability, free: Bools, order: Ints) -> Iterator[int]:
    """The tasks that a newcomer is run on, one after the other: at random, or of those that tell most."""
    free = free.copy()
    for _ in range(SEEN[-1]):
        told = np.where(free, 1.0 if method == "random_curves" else ability.preferred(), -1.0)
        best = np.flatnonzero(told >= told.max() * (1.0 - 1e-9))
        task = int(best[order[best].argmin()])
        free[task] = False
        yield task


def _buyer(method: str) -> str:
    return "uniform" if method in (MEANS, POOLED) else method.removesuffix(ALONE)


def _mean_cost(data: Dataset, route: int) -> float | None:
    cost = data.cells.cost[data.cells.route == route]
    return None if not len(cost) or np.isnan(cost).any() else float(cost.mean())


def _row(unit: Unit, n_tasks: int, **known: Any) -> dict[str, Any]:
    """Write a line of results.json; keys that are not given are null."""
    keys = (
        "accuracy", "oracle_accuracy", "normalized_accuracy", "cost_usd", "auc", "log_loss", "fit_seconds", "runs",
        "regret", "error",
    )  # fmt: skip
    return {
        "experiment": unit.experiment, "benchmark": unit.benchmark, "method": unit.method, "split": unit.split,
        "setting": unit.setting, "n_test": n_tasks, "n_train": n_tasks, **dict.fromkeys(keys), **known,
    }  # fmt: skip
