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

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.fewshot import report as fewshot_report
from hmrouter.bench.experiments.fewshot.newcomers import REVEALED, mask_of, missed, oracle_loss, probed, routes_of
from hmrouter.bench.experiments.path import embedded, fit, row, split_of
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.judge.choices import share_of, shares_of
from hmrouter.bench.judge.history import informed
from hmrouter.bench.judge.predict import Predictions, scorer_of
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.types import Route


class FewShot(Experiment):
    """Measures how many tasks a new route or component needs."""

    name: ClassVar[str] = "fewshot"
    title: ClassVar[str] = "Sample efficiency for new routes, models and harnesses"
    report: ClassVar[Report] = fewshot_report
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
        """Give one row per k."""
        split, (kind, _, name) = split_of(benchmark, request.seed, unit.split), unit.setting.partition(" ")
        routes = routes_of(split.train, kind, name)
        shown = [split.train.withhold(routes=routes, reveal=k, seed=request.seed) for k in REVEALED]
        loss, rows = oracle_loss(split.test, routes), []
        found = self._curve(unit, benchmark, shown, routes, request)
        for k, train, predictions in zip(REVEALED, shown, found, strict=True):
            known = Split(split.number, train, split.test)
            shares = shares_of(unit.method, known, predictions)
            rows.append(
                row(replace(unit, setting=f"{kind} k={k}"), known, shares, predictions, k=k, kind=kind, held_out=name,
                    oracle_loss=loss, held_out_picked=share_of(mask_of(split.test, routes), shares))
            )  # fmt: skip
        return rows

    def _curve(
        self, unit: Unit, benchmark: Benchmark, shown: Sequence[Dataset], routes: Sequence[Route], request: RunRequest
    ) -> Iterator[Predictions | None]:
        """Give what the method predicts at each k; None for random and oracle."""
        split, sources = split_of(benchmark, request.seed, unit.split), self.told_by(unit, request)
        if unit.method == "hm":
            training, x_test = embedded(split, request)
            training = informed(training, unit.method, sources)
            yield from probed(scorer_of(unit.method), training, shown, routes, x_test, split)
            return
        for train in shown:
            yield fit(self.behind(unit.method), split, request, sources, train)
