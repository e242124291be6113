"""`cost` (Table cost, Fig. cost): accuracy within a budget, by sweeping the weight of cost.

Per method one fit, then one choice per setting: the cost weight lambda, or Avengers-Pro's alpha. Only cells with a
known cost may be chosen. The paper picks the best setting by realised *test* spend; beside it stands the honest
variant, picked by the spend and accuracy that the same choices have on training tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Cell, Experiment, Figure, ReportTable, Row, RunRequest, Series, Unit
from hmrouter.bench.experiments.path import embedded, fit, line, product_of, split_of
from hmrouter.bench.experiments.summaries import mean_of
from hmrouter.bench.judge.budgets import TEST_RULE, TRAINING_RULE, BudgetRule, Frontiers
from hmrouter.bench.judge.choices import best_among, dense, tie_order, uniform
from hmrouter.bench.judge.evaluate import realise
from hmrouter.bench.judge.predict import ask, scorer_of
from hmrouter.bench.methods import METHODS
from hmrouter.costs import RouteCosts
from hmrouter.errors import InputError
from hmrouter.evidence.cells import Ints
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.scorers.base import Scorer
from hmrouter.state import Floats

LAMBDAS = (0.0, *(float(f"{v:.3g}") for v in np.geomspace(1e-3, 30.0, 24)))
ALPHAS = tuple(float(f"{v:.3g}") for v in np.linspace(1.0, 0.0, 21))
BUDGETS = (0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""The paper's, in dollars per task."""
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Of what Fixed costs on the same benchmark: budgets that fit the data's own range."""
NO_COSTS = "fewer than two routes have a known cost on half of their outcomes"


class CostTradeoff(Experiment):
    """Accuracy that a budget buys."""

    name: ClassVar[str] = "cost"
    title: ClassVar[str] = "Cost-accuracy tradeoff"
    methods: ClassVar[Sequence[str]] = ("random", "fixed", "knn", "irtnet", "embedllm", "avengers_pro",
                                        "component_only", "hm", "safe", "oracle")  # fmt: skip

    def refusal(self, benchmark: Benchmark) -> str:
        """A benchmark without costs has nothing to show."""
        return "" if costed_pool(benchmark.data()) else NO_COSTS

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, split and method."""
        return product_of(self.name, request)

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """One row per setting, from one fit."""
        split = costed_split(split_of(benchmark, request.seed, unit.split))
        order = tie_order(split.train)
        # Learned from all outcomes, judged on those with a cost.
        train, test = costed(split.train), costed(split.test)
        if not len(test.cells):
            raise InputError("no outcome of the test tasks has a known cost")
        exact = not bool(test.cells.cost_is_route_mean.any())
        rows = []
        for setting, value, value_train, seconds in self._settings(unit, split, request, benchmark):
            metrics = realise(test, _choice(test, value, order))
            known = realise(train, _choice(train, value_train, order))
            rows.append(
                line(replace(unit, setting=setting), metrics, split.train, seconds, train_accuracy=known.accuracy,
                     train_cost_usd=known.cost_usd, cost_per_task=exact)
            )  # fmt: skip
        return rows

    def _settings(
        self, unit: Unit, split: Split, request: RunRequest, benchmark: Benchmark
    ) -> Iterator[tuple[str, Floats | None, Floats | None, float | None]]:
        """Give (setting, value on test, value on train, seconds of the fit) for each setting of the method."""
        train, test = split.train, split.test
        if unit.method == "random":
            yield "uniform", None, None, None
            return
        expected = np.array([c.dollars for c in RouteCosts.fit(train).of_all(train.routes)], dtype=np.float64)
        if unit.method == "oracle":
            for weight in LAMBDAS:
                # Ties of success go to the cheaper run, also without any weight.
                least = max(weight, 1e-9)
                yield f"lambda={weight:g}", _true_value(test, least), _true_value(train, least), None
            return

        def merits(scorer: Scorer) -> tuple[Floats, Floats, float]:
            found = fit(scorer, split, request, self.sources(benchmark, request))
            assert found is not None  # it is a scorer, no reference
            return found.merit, ask(scorer, embedded(split, request)[0].x, train.routes).merit, found.fit_seconds

        if unit.method == "avengers_pro":
            for alpha in ALPHAS:
                yield f"alpha={alpha:g}", *merits(METHODS.load("avengers_pro")(alpha=alpha))
            return
        on_test, on_train, seconds = merits(scorer_of(unit.method))
        for weight in LAMBDAS:  # Eq. cost_routing
            yield f"lambda={weight:g}", on_test - weight * expected, on_train - weight * expected, seconds

    def headline(self, rows: Sequence[Row]) -> str:
        """What half of Fixed's cost buys, by settings that were chosen on training tasks."""
        frontiers, said = Frontiers(rows), []
        budget = {b: 0.5 * c for b, c in frontiers.fixed_costs.items()}
        for m in ("hm", "safe", "fixed", "avengers_pro") if budget else ():
            value = frontiers.accuracy(m, TRAINING_RULE, budget)
            said += [f"{m} {value:.1f}"] if value is not None else []
        start = "Within half of Fixed's cost, the setting chosen on training tasks, percent of the oracle"
        return f"{start}: {', '.join(said)}." if said else ""

    def tables(self, rows: Sequence[Row]) -> list[ReportTable]:
        """Budgets in dollars and relative to Fixed, each with the paper's rule and the honest one; hull areas."""
        frontiers = Frontiers(rows)
        out = []
        for rule in (TEST_RULE, TRAINING_RULE):
            dollars = {f"${b:g}": dict.fromkeys(frontiers.benchmarks, b) for b in BUDGETS}
            out.append(self._table("Accuracy within a dollar budget", frontiers, rule, dollars, "Dollars per task"))
        for rule in (TEST_RULE, TRAINING_RULE) if frontiers.fixed_costs else ():
            relative = {f"{s:g}x": {b: s * c for b, c in frontiers.fixed_costs.items()} for s in SHARES}
            words = "Budgets are shares of what Fixed costs on the same benchmark"
            out.append(self._table("Accuracy within a share of Fixed's cost", frontiers, rule, relative, words))
        areas: list[list[Cell]] = []
        for m in frontiers.methods:
            per = [frontiers.area(b, m) for b in frontiers.benchmarks]
            areas.append([m, *per, mean_of(per)])
        note = (
            "RouterBench's summary: area under the non-decreasing convex hull of (cost, accuracy), extended flat to "
            "the largest cost and divided by it, in percent. `fixed` is the hull over single routes, the zero router."
        )
        out.append(ReportTable("Hull area", ["method", *frontiers.benchmarks, "mean"], areas, note, best="column"))
        return out

    def _table(
        self, title: str, frontiers: Frontiers, rule: BudgetRule, budgets: Mapping[str, Mapping[str, float]], words: str
    ) -> ReportTable:
        body: list[list[Cell]] = [
            [m, *(frontiers.accuracy(m, rule, budget) for budget in budgets.values())] for m in frontiers.methods
        ]
        note = (
            f"{words}; percent of the oracle's accuracy, mean of {len(frontiers.benchmarks)} benchmarks. {rule.words} "
            f"A dash: no setting fits on at least one benchmark. {frontiers.which_costs}"
        )
        return ReportTable(f"{title}, {rule.label}", ["method", *budgets], body, note, best="column")

    def figures(self, rows: Sequence[Row]) -> list[Figure]:
        """Accuracy against the budget, mean of benchmarks."""
        frontiers, series = Frontiers(rows), []
        if not frontiers.fixed_costs:
            return []
        for method in frontiers.methods:
            points = []
            for share in np.geomspace(0.03, 1.2, 25).tolist():
                budget = {b: share * c for b, c in frontiers.fixed_costs.items()}
                value = frontiers.accuracy(method, TEST_RULE, budget)
                if value is not None:
                    points.append((share, value))
            if points:
                series.append(Series(method, [p[0] for p in points], [p[1] for p in points]))
        return [
            Figure(
                "cost", f"Accuracy within a budget, mean of {len(frontiers.benchmarks)} benchmarks", "lines",
                "budget as a share of Fixed's cost", "normalised accuracy, %", series, log_x=True,
                note="The best setting affordable by realised test spend (the paper's rule).",
            )
        ]  # fmt: skip


def costed_pool(data: Dataset) -> list[Any] | None:
    """The routes with a known cost on at least half of their cells; None where fewer than two are left."""
    known = np.bincount(data.cells.route, weights=~np.isnan(data.cells.cost), minlength=len(data.routes))
    cells = np.bincount(data.cells.route, minlength=len(data.routes))
    pool = [r for r, k, n in zip(data.routes, known, cells, strict=True) if n and k >= n / 2]
    return pool if len(pool) >= 2 else None


@lru_cache(maxsize=4)
def costed_split(split: Split) -> Split:
    """The split with the pool of routes whose costs are known (decided on the training side)."""
    pool = costed_pool(split.train)
    if pool is None:
        raise InputError(f"{NO_COSTS} in the training tasks")
    return Split(split.number, split.train.restrict(routes=pool), split.test.restrict(routes=pool))


def costed(data: Dataset) -> Dataset:
    """The outcomes whose cost is known."""
    return data.keep(~np.isnan(data.cells.cost))


def _choice(data: Dataset, value: Floats | None, order: Ints) -> Floats:
    return uniform(data) if value is None else best_among(data, value, order)


def _true_value(data: Dataset, weight: float) -> Floats:
    return np.nan_to_num(dense(data) - weight * dense(data, "cost"), nan=-np.inf)
