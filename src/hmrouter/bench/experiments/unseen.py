"""`unseen` (Table unseen): routing when some routes of the pool were never run.

The training outcomes of some routes are hidden, the routes stay in the pool, and everything is learned anew from what
is left. The paper hides the routes that were best on training tasks. Then every hidden route beats every visible one
by construction, and a method that prefers hidden routes looks good, whichever of them it picks: so a blind pick among
the hidden routes stands beside the others, and everything is repeated with routes hidden at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Figure, ReportTable, Row, RunRequest, Unit
from hmrouter.bench.experiments.choices import best_among, blind_among, row_of, share_of
from hmrouter.bench.experiments.common import prepared, product_of, split_of
from hmrouter.bench.experiments.hiding import OBSERVED, SETTINGS, hidden_split
from hmrouter.bench.experiments.unseen_report import hardest_sentence, level_figures, level_tables
from hmrouter.bench.judge.evaluate import Predictions, dense, predict, tie_order, uniform
from hmrouter.bench.judge.history import informed
from hmrouter.errors import InputError


class Unseen(Experiment):
    """Who finds good routes among those that were never run."""

    name: ClassVar[str] = "unseen"
    title: ClassVar[str] = "Routing with unobserved combinations"
    methods: ClassVar[Sequence[str]] = (
        "random", "fixed", "component_average", "hm", "hm_observed", "safe_alone", "safe", "blind", "oracle"
    )  # fmt: skip
    own_methods: ClassVar[Mapping[str, str]] = {"hm_observed": "hm", "blind": ""}

    def refusal(self, benchmark: Benchmark) -> str:
        """Two routes leave no choice once one of them is hidden."""
        return "" if len(benchmark.data().routes) > 2 else "fewer than three routes"

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, setting, split and method."""
        return product_of(self.name, request, SETTINGS)

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Hide, fit, choose."""
        split = hidden_split(split_of(benchmark, request.seed, unit.split), unit.setting, request.seed)
        train, test = split.train, split.test
        if not len(test.cells):
            raise InputError("the test side of this split has no outcome")
        hidden, found = ~train.observed, None
        if unit.method == "random":
            shares = uniform(test)
        elif unit.method == "blind":
            shares = blind_among(test, hidden)
        else:
            if unit.method == "oracle":
                value = dense(test)
            else:
                scorer = self.own_methods.get(unit.method, unit.method)
                hashable = replace(request, benchmarks=tuple(request.benchmarks), methods=())
                found = _predicted(scorer, benchmark, unit.split, unit.setting, hashable)
                value = found.merit
            allowed = train.observed if unit.method in OBSERVED else np.ones(len(test.routes), dtype=bool)
            shares = best_among(test, value, allowed, tie_order(train))
        extra = {
            "n_routes": len(train.routes),
            "n_hidden": int(hidden.sum()),
            "hidden_picked": share_of(hidden, shares),
        }
        return [row_of(unit, train, test, shares, found, **extra)]

    def tables(self, rows: Sequence[Row]) -> list[ReportTable]:
        """Both ways of hiding, differences, and the benchmarks at 90%."""
        return level_tables(rows)

    def figures(self, rows: Sequence[Row]) -> list[Figure]:
        """Accuracy against how much is hidden, for both ways of hiding."""
        return level_figures(rows)

    def headline(self, rows: Sequence[Row]) -> str:
        """What a blind pick gets where most is hidden."""
        return hardest_sentence(rows)


@lru_cache(maxsize=2)
def _predicted(method: str, benchmark: Benchmark, number: int, setting: str, request: RunRequest) -> Predictions:
    """One fit for `hm` and `hm_observed`, which follow each other. Texts are not hidden, so vectors stay the same."""
    split = split_of(benchmark, request.seed, number)
    training, x_test = prepared(split, request)
    seen = replace(training, data=hidden_split(split, setting, request.seed).train)
    return predict(method, informed(seen, method, benchmark, request.benchmarks), x_test, split.test)
