"""`sparse`: thin evidence, which is what production logs look like."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Row, RunRequest, Unit
from hmrouter.bench.experiments.path import ALL_METHODS, fit, product_of, row, split_of
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.experiments.summaries import (
    accuracy_table,
    compared,
    difference_lines,
    difference_sentence,
    difference_table,
    distinct,
    level,
    overall_difference,
)
from hmrouter.bench.judge.choices import shares_of
from hmrouter.bench.report.parts import Cell, Figure, ReportTable
from hmrouter.evidence.dataset import Dataset, Split, hash_rank

SETTINGS = ("full", "tasks10", "tasks20", "tasks30", "routes2-5", "tasks20_routes2-5")
"""tasksN: that percentage of the training tasks, all their routes; routes2-5: each task seen on 2-5 random routes."""


class Sparse(Experiment):
    """Measures how methods do when little was run."""

    name: ClassVar[str] = "sparse"
    title: ClassVar[str] = "Routing on thin evidence"
    methods: ClassVar[Sequence[str]] = ALL_METHODS
    quick: ClassVar[Quick] = Quick(without=("irtnet", "mirt"))

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, setting, split and method."""
        return product_of(self.name, request, SETTINGS)

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Thin the training side, then as in `routing`."""
        split = thinned(split_of(benchmark, request.seed, unit.split), unit.setting, request.seed)
        found = fit(unit.method, split, request, self.told_by(unit, request))
        return [row(unit, split, shares_of(unit.method, split, found), found)]

    def headline(self, rows: Sequence[Row]) -> str:
        """The two scorers and the strongest baseline where each task was run on few routes."""
        few = [r for r in rows if r["setting"] == "routes2-5"]
        return difference_sentence(few, ("hm", "safe", "embedllm"), "Each task run on 2 to 5 routes")

    def tables(self, rows: Sequence[Row]) -> list[ReportTable]:
        """Settings x methods on the mean of benchmarks, differences to Fixed, and each setting in full."""
        methods, others, settings = distinct(rows, "method"), compared(rows), distinct(rows, "setting")
        levels: list[list[Cell]] = []
        above: list[list[Cell]] = []
        for setting in settings:
            own = [r for r in rows if r["setting"] == setting]
            levels.append([setting, *(level(own, m) for m in methods)])
            above.append([setting, *(overall_difference(own, m) for m in others)])
        note = "Percent of the oracle's accuracy, mean of benchmarks and splits."
        out = [ReportTable("Thin evidence: mean of benchmarks", ["setting", *methods], levels, note, best="row")]
        if others:
            note = "Points of normalised accuracy above Fixed, with 95% intervals for other benchmarks like these."
            out.append(ReportTable("Thin evidence: difference to Fixed", ["setting", *others], above, note))
        for setting in settings:
            out.append(accuracy_table(rows, f"Normalised accuracy, {setting}", setting=setting))
            difference = difference_table(rows, f"Difference to Fixed, {setting}", setting=setting)
            out += [difference] if difference else []
        return out

    def figures(self, rows: Sequence[Row]) -> list[Figure]:
        """Difference to Fixed against the share of training tasks."""
        shares = {"tasks10": 10.0, "tasks20": 20.0, "tasks30": 30.0, "full": 100.0}
        series = difference_lines(rows, shares)
        if not series:
            return []
        return [
            Figure(
                "sparse", "Routing with few training tasks", "lines", "share of the training tasks, %",
                "points of normalised accuracy above Fixed", series, reference=0.0, log_x=True,
                note="Mean over benchmarks with 95% intervals for other benchmarks like these.",
            )
        ]  # fmt: skip


@lru_cache(maxsize=4)
def thinned(split: Split, setting: str, seed: int) -> Split:
    """The split with its training side thinned as the setting says; the test side is untouched."""
    train = split.train
    if setting.startswith("tasks"):
        share = int(setting.removeprefix("tasks").partition("_")[0]) / 100
        keys = sorted((t.key for t in train.tasks), key=lambda key: hash_rank(seed, split.number, "thin", *key))
        train = train.restrict(tasks=set(keys[: max(1, round(share * len(keys)))]))
    if setting.endswith("routes2-5"):
        train = train.keep(_few_routes(train, seed, split.number))
    return Split(split.number, train, split.test)


def _few_routes(train: Dataset, seed: int, number: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """A mask that keeps, of each task, 2 to 5 of its cells at random."""
    keep = np.zeros(len(train.cells), dtype=bool)
    for i, task in enumerate(train.tasks):
        own = range(int(train.starts[i]), int(train.starts[i + 1]))
        n = 2 + hash_rank(seed, number, "routes", *task.key)[0] % 4
        ranked = sorted(own, key=lambda c: hash_rank(seed, number, *task.key, train.routes[train.cells.route[c]]))
        keep[ranked[:n]] = True
    return keep
