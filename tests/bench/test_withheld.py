"""Nothing that is withheld has any effect, and a router that peeks is caught."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.judge.choices import choose, dense, tie_order
from hmrouter.bench.judge.evaluate import evaluate
from hmrouter.bench.judge.predict import Predictions, predict, prepare
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.scorers.base import Scorer, Training
from hmrouter.scorers.fixed import Fixed
from hmrouter.state import Floats
from hmrouter.types import Outcome

Plant = Callable[..., Path]
RowsOf = Callable[..., list[dict[str, Any]]]
FAST = ("fixed", "component_average", "knn", "avengers", "safe")
"""Methods that fit in no time; the others are held to the same laws by `hmrouter.checks`."""


def with_other_test_outcomes(data: Dataset, test: Dataset) -> Dataset:
    """The same data, but on the test tasks every score and cost is another one; what was run stays."""
    tested = {task.key for task in test.tasks}
    outcomes = []
    for c in range(len(data.cells)):
        task, route = data.tasks[data.cells.task[c]], data.routes[data.cells.route[c]]
        score, cost = float(data.cells.score[c]), float(data.cells.cost[c])
        if task.key in tested:
            score, cost = 1.0 - score, 9.0 / (1.0 + cost)
        outcomes.append(Outcome(task, route, score, cost=cost))
    return Dataset(outcomes)


def looks_at_test_outcomes(make: Callable[[Split], Scorer], data: Dataset) -> bool:
    """Whether the choices or the probabilities of a method change when only test outcomes do."""
    found: list[tuple[Predictions, Floats]] = []
    split = data.splits(1)[0]
    for given in (data, with_other_test_outcomes(data, split.test)):
        own = given.splits(1)[0]
        assert [t.key for t in own.test.tasks] == [t.key for t in split.test.tasks]
        predictions = predict(make(own), *prepare(own), own.test)
        choice = choose(predictions.merit, ~np.isnan(dense(own.test)), tie_order(own.train))
        found.append((predictions, choice))
    (a, choice_a), (b, choice_b) = found
    same = np.array_equal(a.merit, b.merit) and np.array_equal(a.success, b.success)
    return not (same and np.array_equal(choice_a, choice_b))


class Peeker(Fixed):
    """Knows the outcomes of the test tasks by their vectors."""

    def __init__(self, split: Split) -> None:
        super().__init__()
        self.split = split

    def fit(self, training: Training) -> Self:
        super().fit(training)
        self.table = dict(zip((v.tobytes() for v in prepare(self.split)[1]), dense(self.split.test), strict=True))
        return self

    def score(self, x: Floats, routes: Any) -> Floats:
        return np.asarray(np.nan_to_num([self.table[v.tobytes()] for v in x], nan=-1.0))


@pytest.mark.parametrize("method", [*FAST, "component_only", "hm"])
def test_withheld_outcomes_change_nothing(method: str, sparse_world: Benchmark) -> None:
    from hmrouter.bench.methods import METHODS

    assert not looks_at_test_outcomes(lambda _: METHODS.load(method)(), sparse_world.data())


def test_a_router_that_peeks_is_caught(plant: Plant, tmp_path: Path) -> None:
    # Coins: nobody can know them, so an accuracy above every route's own is a sign, and this test the proof.
    coins = random.Random(0)
    data = Benchmark.at(plant(tmp_path / "coins", 60, score=lambda i, j: float(coins.random() < 0.5))).data()
    assert looks_at_test_outcomes(Peeker, data)
    split = data.splits(1)[0]
    found = predict(Peeker(split), *prepare(split), split.test)
    chosen = choose(found.merit, ~np.isnan(dense(split.test)), tie_order(split.train))
    assert float((dense(split.test) * chosen).sum()) == float(dense(split.test).max(axis=1).sum())  # the oracle's
    for method in FAST:
        honest = evaluate(method, split, *prepare(split)).normalized_accuracy
        assert honest is not None
        assert honest < 0.8
