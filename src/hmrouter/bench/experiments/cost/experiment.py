"""`cost` (Table cost, Fig. cost): accuracy within a budget, by sweeping the weight of cost.

Per method one fit, then one choice per setting: the cost weight lambda, or Avengers-Pro's alpha. Only cells with a
known cost may be chosen. The paper picks the best setting by realised *test* spend; beside it stands the honest
variant, picked by the spend and accuracy that the same choices have on training tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.cost import report as cost_report
from hmrouter.bench.experiments.cost.pool import NO_COSTS, costed, costed_pool, costed_split
from hmrouter.bench.experiments.path import embedded, fit, line, product_of, split_of
from hmrouter.bench.judge.choices import best_among, dense, tie_order, uniform
from hmrouter.bench.judge.evaluate import realise
from hmrouter.bench.judge.predict import ask, scorer_of
from hmrouter.bench.methods import METHODS
from hmrouter.costs import RouteCosts
from hmrouter.errors import InputError
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.scorers.base import Scorer
from hmrouter.state import Floats, Ints

LAMBDAS = (0.0, *(float(f"{v:.3g}") for v in np.geomspace(1e-3, 30.0, 24)))
ALPHAS = tuple(float(f"{v:.3g}") for v in np.linspace(1.0, 0.0, 21))


class CostTradeoff(Experiment):
    """Measures the accuracy that a budget buys."""

    name: ClassVar[str] = "cost"
    title: ClassVar[str] = "Cost-accuracy tradeoff"
    report: ClassVar[Report] = cost_report
    methods: ClassVar[Sequence[str]] = ("random", "fixed", "knn", "irtnet", "embedllm", "avengers_pro",
                                        "component_only", "hm", "safe", "oracle")  # fmt: skip

    def refusal(self, benchmark: Benchmark) -> str:
        """A benchmark without costs has nothing to show."""
        return "" if costed_pool(benchmark.data()) else NO_COSTS

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, split and method."""
        return product_of(self.name, request)

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Fit once, and give one row per setting."""
        split = costed_split(split_of(benchmark, request.seed, unit.split))
        order = tie_order(split.train)
        # Learned from all outcomes, judged on those with a cost.
        train, test = costed(split.train), costed(split.test)
        if not len(test.cells):
            raise InputError("no outcome of the test tasks has a known cost")
        exact = not bool(test.cells.cost_is_route_mean.any())
        rows = []
        for setting, value, value_train, seconds in self._settings(unit, split, request):
            metrics = realise(test, _choice(test, value, order))
            known = realise(train, _choice(train, value_train, order))
            rows.append(
                line(replace(unit, setting=setting), metrics, split.train, seconds, train_accuracy=known.accuracy,
                     train_cost_usd=known.cost_usd, cost_per_task=exact)
            )  # fmt: skip
        return rows

    def _settings(
        self, unit: Unit, split: Split, request: RunRequest
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
            found = fit(scorer, split, request, self.told_by(unit, request))
            assert found is not None  # it is a scorer, no reference
            return found.merit, ask(scorer, embedded(split, request)[0].x, train.routes).merit, found.fit_seconds

        if unit.method == "avengers_pro":
            for alpha in ALPHAS:
                yield f"alpha={alpha:g}", *merits(METHODS.load("avengers_pro")(alpha=alpha))
            return
        on_test, on_train, seconds = merits(scorer_of(unit.method))
        for weight in LAMBDAS:  # Eq. cost_routing
            yield f"lambda={weight:g}", on_test - weight * expected, on_train - weight * expected, seconds


def _choice(data: Dataset, value: Floats | None, order: Ints) -> Floats:
    return uniform(data) if value is None else best_among(data, value, order)


def _true_value(data: Dataset, weight: float) -> Floats:
    return np.nan_to_num(dense(data) - weight * dense(data, "cost"), nan=-np.inf)
