"""What the experiments share: prepared splits, rows in the documented form, and means and differences of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from hmrouter.bench.benchmark import Benchmark
from hmrouter.bench.evaluate import Metrics, prepare
from hmrouter.bench.experiments.base import Cell, Interval, Plan, Row, Table, Unit
from hmrouter.bench.methods import REFERENCES
from hmrouter.bench.statistics import benchmark_interval, split_interval
from hmrouter.dataset import Dataset, Split
from hmrouter.features.base import EMBEDDERS
from hmrouter.scorers.base import Training
from hmrouter.state import Floats

ALL_METHODS = ("random", "fixed", "component_average", "knn", "mirt", "irtnet", "avengers", "embedllm",
               "component_only", "hm", "oracle")  # fmt: skip
"""In the order of the tables: the references first and last, the product's own before the oracle."""


@lru_cache(maxsize=16)
def split_of(benchmark: Benchmark, seed: int, number: int) -> Split:
    """Split `number` of a benchmark: the same for every method."""
    return benchmark.data().splits(number + 1, seed)[number]


@lru_cache(maxsize=4)
def prepared(split: Split, embedder: str) -> tuple[Training, Floats]:
    """Vectors of a split, fitted on its training tasks; shared by the methods that run in this process."""
    return prepare(split, EMBEDDERS.load(embedder)())


def product_of(experiment: str, plan: Plan, settings: Sequence[str] = ("",)) -> list[Unit]:
    """One unit per benchmark, setting, split and method; the units of one split follow each other."""
    return [
        Unit(experiment, b.name, method, split, setting)
        for b in plan.benchmarks
        for setting in settings
        for split in range(plan.splits)
        for method in plan.methods
    ]


def row(unit: Unit, metrics: Metrics, train: Dataset, fit_seconds: float | None, **extra: Any) -> dict[str, Any]:
    """A line of results.json."""
    known = asdict(metrics)
    return {
        "experiment": unit.experiment, "benchmark": unit.benchmark, "method": unit.method, "split": unit.split,
        "setting": unit.setting, **known, "n_train": len(train.tasks), "fit_seconds": fit_seconds, **extra,
    }  # fmt: skip


def distinct(rows: Iterable[Row], key: str) -> list[Any]:
    """The values of a key, in the order in which they first appear."""
    return list(dict.fromkeys(r[key] for r in rows))


def values(rows: Iterable[Row], key: str, **where: Any) -> list[float]:
    """The known values of a key in the rows that match."""
    found = (r[key] for r in rows if all(r[k] == v for k, v in where.items()))
    return [v for v in found if v is not None]


def mean(rows: Iterable[Row], key: str, **where: Any) -> float | None:
    """Mean of a key over the matching rows, None without any."""
    known = values(rows, key, **where)
    return float(np.mean(known)) if known else None


def benchmark_means(rows: Sequence[Row], key: str, method: str, scale: float = 1.0, **where: Any) -> list[float | None]:
    """Per benchmark, the mean over splits."""
    out = []
    for benchmark in distinct(rows, "benchmark"):
        value = mean(rows, key, benchmark=benchmark, method=method, **where)
        out.append(None if value is None else scale * value)
    return out


def mean_of_all(cells: Sequence[float | None]) -> float | None:
    """Mean over the benchmarks; None if one of them is missing, as means over different sets do not compare."""
    return None if not cells or any(c is None for c in cells) else float(np.mean([c for c in cells if c is not None]))


def differences(
    rows: Sequence[Row], key: str, method: str, to: str, scale: float = 100.0, **where: Any
) -> dict[str, list[float]]:
    """Per benchmark, method minus `to` on the same splits."""
    out: dict[str, list[float]] = {}
    matching = [r for r in rows if all(r[k] == v for k, v in where.items())]
    base = {(r["benchmark"], r["split"]): r[key] for r in matching if r["method"] == to}
    for r in matching:
        other = base.get((r["benchmark"], r["split"]))
        if r["method"] == method and other is not None and r[key] is not None:
            out.setdefault(r["benchmark"], []).append(scale * (r[key] - other))
    return out


def accuracy_table(rows: Sequence[Row], title: str, key: str = "normalized_accuracy", **where: Any) -> Table:
    """Benchmarks x methods, mean over splits in percent, with the mean of benchmarks below."""
    rows = [r for r in rows if all(r[k] == v for k, v in where.items())]
    methods, benchmarks = distinct(rows, "method"), distinct(rows, "benchmark")
    columns = {m: benchmark_means(rows, key, m, 100.0) for m in methods}
    body: list[list[Cell]] = [[b, *(columns[m][i] for m in methods)] for i, b in enumerate(benchmarks)]
    body.append(["mean", *(mean_of_all(columns[m]) for m in methods)])
    splits = len(distinct(rows, "split"))
    note = f"Percent of the oracle's accuracy on test tasks, mean of {splits} splits." if key.startswith("norm") else (
        f"Accuracy on test tasks in percent, mean of {splits} splits.")  # fmt: skip
    return Table(title, ["benchmark", *methods], body, note, best="row", footer_rows=1)


def difference_table(rows: Sequence[Row], title: str, to: str = "fixed", **where: Any) -> Table | None:
    """Benchmarks x methods: points above `to` on the same splits, with 95% intervals."""
    rows = [r for r in rows if all(r[k] == v for k, v in where.items())]
    methods = [m for m in distinct(rows, "method") if m not in (*REFERENCES, to)]
    if to not in distinct(rows, "method") or not methods:
        return None
    sizes = {r["benchmark"]: (r["n_test"], r["n_train"]) for r in rows}
    found = {m: differences(rows, "normalized_accuracy", m, to) for m in methods}
    body: list[list[Cell]] = []
    for b in distinct(rows, "benchmark"):
        cells = [split_interval(found[m][b], *sizes[b]) if found[m].get(b) else None for m in methods]
        body.append([b, *cells])
    body.append(["mean", *(overall_difference(found[m]) for m in methods)])
    note = (
        f"Points of normalised accuracy above {to} on identical splits, with 95% intervals: per benchmark for other "
        "splits of the same tasks (variance corrected for overlapping splits), in the last line for other benchmarks "
        "like these (benchmarks and splits drawn with replacement)."
    )
    return Table(title, ["benchmark", *methods], body, note, footer_rows=1)


def overall_difference(found: dict[str, list[float]]) -> Interval | None:
    """The mean over benchmarks with its interval."""
    return benchmark_interval(found) if found else None
