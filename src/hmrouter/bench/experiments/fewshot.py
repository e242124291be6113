"""`fewshot` (Fig. adaptation_forecasting a): a new route, model or harness after k tasks.

All training outcomes of one route, model or harness are hidden, then those on k tasks are shown again; everything
else stays known. Only what is missed counts: those whose removal costs the oracle more than one point. `hm` is the
paper's probe, fitted once without the new component, whose outcomes then update summaries while its identity stays
zero. `hm_refit` and all other methods learn anew for each k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Figure, ReportTable, Row, RunRequest, Unit
from hmrouter.bench.experiments.choices import row_of, share_of
from hmrouter.bench.experiments.common import prepared, split_of
from hmrouter.bench.experiments.fewshot_report import curve_figures, curve_tables, ends_sentence
from hmrouter.bench.experiments.newcomers import REVEALED, mask_of, missed, oracle_loss, probed, routes_of
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.judge.evaluate import Predictions, choose, dense, predict, tie_order, uniform
from hmrouter.bench.judge.history import informed
from hmrouter.bench.methods import METHODS
from hmrouter.evidence.dataset import Dataset
from hmrouter.types import Route


class FewShot(Experiment):
    """How many tasks a new route or component needs."""

    name: ClassVar[str] = "fewshot"
    title: ClassVar[str] = "Sample efficiency for new routes, models and harnesses"
    methods: ClassVar[Sequence[str]] = ("random", "fixed", "embedllm", "hm", "hm_refit", "safe_alone", "safe", "oracle")
    own_methods: ClassVar[Mapping[str, str]] = {"hm_refit": "hm"}
    quick: ClassVar[Quick] = Quick(held_out=2)

    def refusal(self, benchmark: Benchmark) -> str:
        """A curve needs all of its points."""
        n = len(split_of(benchmark, 0, 0).train.tasks)
        return "" if n >= REVEALED[-1] else f"{n} training tasks, but the last point of a curve needs {REVEALED[-1]}"

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, split, held-out route, model or harness, and method."""
        return [
            Unit(self.name, b.name, method, number, f"{kind} {name}")
            for b in request.benchmarks
            for number in range(request.splits)
            for kind, name in missed(split_of(b, request.seed, number))
            for method in request.methods
        ]

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """One row per k."""
        split, (kind, _, name) = split_of(benchmark, request.seed, unit.split), unit.setting.partition(" ")
        routes = routes_of(split.train, kind, name)
        shown = [split.train.withhold(routes=routes, reveal=k, seed=request.seed) for k in REVEALED]
        loss, rows = oracle_loss(split.test, routes), []
        for k, train, found in zip(REVEALED, shown, self._curve(unit, benchmark, shown, routes, request), strict=True):
            if found is not None or unit.method == "oracle":
                value = found.merit if found else dense(split.test)
                shares = choose(value, ~np.isnan(dense(split.test)), tie_order(train))
            else:
                shares = uniform(split.test)
            own = replace(unit, setting=f"{kind} k={k}")
            rows.append(
                row_of(own, train, split.test, shares, found, k=k, kind=kind, held_out=name, oracle_loss=loss,
                       held_out_picked=share_of(mask_of(split.test, routes), shares))
            )  # fmt: skip
        return rows

    def _curve(
        self, unit: Unit, benchmark: Benchmark, shown: Sequence[Dataset], routes: Sequence[Route], request: RunRequest
    ) -> Iterator[Predictions | None]:
        """What the method predicts at each k; None for random and oracle."""
        if unit.method in ("random", "oracle"):
            yield from (None for _ in shown)
            return
        split = split_of(benchmark, request.seed, unit.split)
        training, x_test = prepared(split, request)  # texts are not hidden, so one embedding serves every k
        method = self.own_methods.get(unit.method, unit.method)
        training = informed(training, method, benchmark, request.benchmarks)
        if unit.method == "hm":
            yield from probed(METHODS.load(method)(), training, shown, routes, x_test, split)
            return
        for train in shown:
            yield predict(method, replace(training, data=train), x_test, split.test)

    def tables(self, rows: Sequence[Row]) -> list[ReportTable]:
        """Accuracy by kind and k, and what each method is above EmbedLLM and above Fixed."""
        return curve_tables(rows)

    def figures(self, rows: Sequence[Row]) -> list[Figure]:
        """Accuracy against k, for each kind of held-out unit."""
        return curve_figures(rows)

    def headline(self, rows: Sequence[Row]) -> str:
        """The method of the paper against the baseline, at both ends of the curve."""
        return ends_sentence(rows)
