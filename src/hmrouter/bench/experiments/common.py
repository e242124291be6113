"""What the work of the experiments shares: prepared splits, and rows in the documented form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import RunRequest, Unit
from hmrouter.bench.judge.evaluate import Metrics, prepare
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.features.base import embedder_named
from hmrouter.scorers.base import Training
from hmrouter.state import Floats
from hmrouter.store import OutcomeStore

ALL_METHODS = ("random", "fixed", "component_average", "knn", "mirt", "irtnet", "avengers", "embedllm",
               "component_only", "hm", "safe_alone", "safe", "oracle")  # fmt: skip
"""In the order of the tables: the references first and last, the product's own before the oracle."""


@lru_cache(maxsize=16)
def split_of(benchmark: Benchmark, seed: int, number: int) -> Split:
    """Split `number` of a benchmark: the same for every method."""
    return benchmark.data().splits(number + 1, seed)[number]


def prepared(split: Split, request: RunRequest) -> tuple[Training, Floats]:
    """Vectors of a split, fitted on its training tasks; shared by the methods that run in this process."""
    return _prepared(split, request.embedder, request.vectors)


@lru_cache(maxsize=4)
def _prepared(split: Split, name: str, vectors: str) -> tuple[Training, Floats]:
    embedder = embedder_named(name)
    if not (vectors and embedder.cacheable):
        return prepare(split, embedder)
    with OutcomeStore(vectors) as store:
        return prepare(split, embedder, store)


def product_of(experiment: str, request: RunRequest, settings: Sequence[str] = ("",)) -> list[Unit]:
    """One unit per benchmark, setting, split and method; the units of one split follow each other."""
    return [
        Unit(experiment, b.name, method, split, setting)
        for b in request.benchmarks
        for setting in settings
        for split in range(request.splits)
        for method in request.methods
    ]


def row(unit: Unit, metrics: Metrics, train: Dataset, fit_seconds: float | None, **extra: Any) -> dict[str, Any]:
    """A line of results.json."""
    known = asdict(metrics)
    return {
        "experiment": unit.experiment, "benchmark": unit.benchmark, "method": unit.method, "split": unit.split,
        "setting": unit.setting, **known, "n_train": len(train.tasks), "fit_seconds": fit_seconds, **extra,
    }  # fmt: skip
