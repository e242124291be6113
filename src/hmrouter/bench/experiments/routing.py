"""`routing` (Table routing): oracle-normalised accuracy of every method on five fixed 70/30 task splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Row, RunRequest, Unit
from hmrouter.bench.experiments.path import ALL_METHODS, fit, product_of, row, split_of
from hmrouter.bench.experiments.summaries import (
    accuracy_table,
    compared,
    difference_sentence,
    difference_table,
    distinct,
    overall_difference,
)
from hmrouter.bench.judge.choices import shares_of
from hmrouter.bench.report.parts import Figure, ReportTable, Series


class Routing(Experiment):
    """Measures which method chooses best."""

    name: ClassVar[str] = "routing"
    title: ClassVar[str] = "Routing accuracy"
    methods: ClassVar[Sequence[str]] = ALL_METHODS

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, split and method."""
        return product_of(self.name, request)

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Fit, choose, compare."""
        split = split_of(benchmark, request.seed, unit.split)
        found = fit(unit.method, split, request, self.told_by(unit, request))
        return [row(unit, split, shares_of(unit.method, split, found), found)]

    def headline(self, rows: Sequence[Row]) -> str:
        """The two scorers and the strongest baselines against the best fixed pair."""
        return difference_sentence(rows, ("hm", "safe", "embedllm", "irtnet"), "On full evidence")

    def tables(self, rows: Sequence[Row]) -> list[ReportTable]:
        """The paper's table, the same in raw accuracy, and the differences to Fixed."""
        out = [
            accuracy_table(rows, "Routing accuracy, oracle-normalised"),
            accuracy_table(rows, "Routing accuracy, raw", "accuracy"),
        ]
        difference = difference_table(rows, "Difference to Fixed")
        return [*out, difference] if difference else out

    def figures(self, rows: Sequence[Row]) -> list[Figure]:
        """Mean difference to Fixed with intervals."""
        series = []
        for method in compared(rows):
            d = overall_difference(rows, method)
            if d is not None:
                series.append(Series(method, [0.0], [d.value], [d.low], [d.high]))
        if not series:
            return []
        n = len(distinct(rows, "benchmark"))
        return [
            Figure(
                "routing", f"Routing against the best fixed pair, mean of {n} benchmarks", "bars",
                "", "points of normalised accuracy above Fixed", series, reference=0.0,
                note="Bars: mean over benchmarks; lines: 95% intervals for other benchmarks like these.",
            )
        ]  # fmt: skip
