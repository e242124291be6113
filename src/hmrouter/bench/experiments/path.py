"""The path of a unit: its split, vectors, what other benchmarks say, the fit, the choices, and the row.

    split = split_of(benchmark, request.seed, unit.split)
    found = fit(unit.method, split, request, self.told_by(unit, request))
    shares = shares_of(unit.method, split, found)
    rows = [row(unit, split, shares, found)]

An experiment differs in what it takes from the split, in what it allows, or in the keys that it adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import RunRequest, Unit
from hmrouter.bench.judge.evaluate import Metrics, realise
from hmrouter.bench.judge.history import informed
from hmrouter.bench.judge.predict import Predictions, predict, prepare
from hmrouter.bench.methods import REFERENCES
from hmrouter.errors import InputError
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.features.base import embedder_named
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Floats
from hmrouter.store import OutcomeStore

ALL_METHODS = ("random", "fixed", "component_average", "knn", "mirt", "irtnet", "avengers", "embedllm",
               "component_only", "hm", "safe_alone", "safe", "oracle")  # fmt: skip
"""In the order of the tables: the references first and last, the product's own before the oracle."""
BY_ROUTE = ("fixed", "knn", "mirt", "irtnet", "avengers", "avengers_pro", "embedllm")
"""Methods that know a route only by its own outcomes."""


def product_of(experiment: str, request: RunRequest, settings: Sequence[str] = ("",)) -> list[Unit]:
    """List one unit per benchmark, setting, split and method; the units of one split follow each other."""
    return [
        Unit(experiment, b.name, method, split, setting)
        for b in request.benchmarks
        for setting in settings
        for split in range(request.splits)
        for method in request.methods
    ]


@lru_cache(maxsize=16)
def split_of(benchmark: Benchmark, seed: int, number: int) -> Split:
    """Give split `number` of a benchmark: the same for every method."""
    return benchmark.data().splits(number + 1, seed)[number]


def embedded(split: Split, request: RunRequest) -> tuple[Training, Floats]:
    """Give a split's vectors, fitted on its training tasks; the methods that run in this process share them."""
    return _embedded(split, request.embedder, request.vectors)


@lru_cache(maxsize=4)
def _embedded(split: Split, name: str, vectors: str) -> tuple[Training, Floats]:
    embedder = embedder_named(name)
    if not (vectors and embedder.cacheable):
        return prepare(split, embedder)
    with OutcomeStore(vectors) as store:
        return prepare(split, embedder, store)


def fit(
    method: str | Scorer, split: Split, request: RunRequest, sources: Sequence[Benchmark], shown: Dataset | None = None
) -> Predictions | None:
    """Fit a method on a split's training side and ask it about the test side; None for random and oracle.

    A method that listens is told what `sources`, other benchmarks, say. `shown` stands for the training side where
    some of its outcomes are hidden: texts never are, so the vectors stay the same.
    """
    for side, data in (("training", split.train), ("test", split.test)):
        if not len(data.cells):
            raise InputError(f"the {side} side of this split has no outcome")
    if method in REFERENCES:
        return None
    training, x_test = embedded(split, request)
    if shown is not None:
        training = replace(training, data=shown)
    return predict(method, informed(training, method, sources), x_test, split.test)


def row(unit: Unit, split: Split, shares: Floats, found: Predictions | None, **extra: Any) -> dict[str, Any]:
    """Write the line of results.json for these choices; `found` is None where nothing was predicted."""
    metrics = realise(split.test, shares, None if found is None else found.success)
    return line(unit, metrics, split.train, None if found is None else found.fit_seconds, **extra)


def line(unit: Unit, metrics: Metrics, train: Dataset, fit_seconds: float | None, **extra: Any) -> dict[str, Any]:
    """Write a line of results.json with these metrics."""
    return {
        "experiment": unit.experiment, "benchmark": unit.benchmark, "method": unit.method, "split": unit.split,
        "setting": unit.setting, **asdict(metrics), "n_train": len(train.tasks), "fit_seconds": fit_seconds, **extra,
    }  # fmt: skip
