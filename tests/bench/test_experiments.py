"""Each protocol measures what it says, on planted worlds: references, splits, forecasts."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import RunRequest
from hmrouter.bench.experiments.forecast import coverage
from hmrouter.bench.experiments.path import embedded, fit, split_of
from hmrouter.bench.experiments.sparse import thinned
from hmrouter.bench.judge.choices import dense, shares_of
from hmrouter.bench.judge.predict import predict
from hmrouter.errors import HMRouterError, InputError
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.scorers.fixed import Fixed
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

Plant = Callable[..., Path]
RowsOf = Callable[..., list[dict[str, Any]]]
FAST = ("fixed", "component_average", "knn", "avengers", "safe")
"""Methods that fit in no time; the others are held to the same laws by `hmrouter.checks`."""

# -- references -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["routing", "sparse"])
def test_oracle_is_one_and_nothing_is_above(name: str, sparse_world: Benchmark, rows_of: RowsOf) -> None:
    rows = rows_of(name, sparse_world, "random", *FAST, "oracle")
    oracle = [r["normalized_accuracy"] for r in rows if r["method"] == "oracle"]
    assert oracle == [1.0] * (2 if name == "routing" else 12)
    assert all(0 <= r["normalized_accuracy"] <= 1 for r in rows)
    assert any(r["normalized_accuracy"] < 1 for r in rows)


def test_random_is_the_expectation(sparse_world: Benchmark, rows_of: RowsOf) -> None:
    data = sparse_world.data()
    for row in rows_of("routing", sparse_world, "random", splits=3):
        scores = dense(data.splits(3)[row["split"]].test)
        means, best = [], []
        for line in scores:
            run = [v for v in line if not np.isnan(v)]
            means.append(sum(run) / len(run))
            best.append(max(run))
        assert row["accuracy"] == pytest.approx(sum(means) / len(means))
        assert row["normalized_accuracy"] == pytest.approx(sum(means) / sum(best))
        assert row["fit_seconds"] is None


# -- splits ---------------------------------------------------------------------------------------------------------

GOLDEN = "ea78d8fe7020"
"""Of the test tasks of five splits of `world`, computed apart from this code: never to change."""


def assignment(data: Dataset, seed: int = 0) -> str:
    text = ";".join(",".join(t.id for t in split.test.tasks) for split in data.splits(5, seed))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def test_splits_are_the_same_on_every_machine(world: Benchmark) -> None:
    data = world.data()
    assert assignment(data) == GOLDEN
    assert assignment(data, seed=1) != GOLDEN
    for number, split in enumerate(data.splits(5)):
        mine = split_of(world, 0, number)
        assert [t.id for t in mine.train.tasks] == [t.id for t in split.train.tasks]
        assert (len(split.train.tasks), len(split.test.tasks)) == (21, 9)
        assert not {t.id for t in split.train.tasks} & {t.id for t in split.test.tasks}


def test_the_order_of_the_file_does_not_matter(world: Benchmark) -> None:
    file = Path(world.path, "outcomes.csv")
    header, *lines = file.read_text().splitlines()
    random.Random(0).shuffle(lines)
    file.write_text("\n".join([header, *lines]))
    shuffled = Benchmark.at(world.path)
    assert shuffled.hash != world.hash
    assert assignment(shuffled.data()) == GOLDEN


def test_every_method_runs_on_identical_splits(sparse_world: Benchmark, rows_of: RowsOf) -> None:
    rows = rows_of("routing", sparse_world, "random", *FAST, "oracle", splits=3)
    for split in range(3):
        shared = {(r["n_test"], r["n_train"], r["oracle_accuracy"]) for r in rows if r["split"] == split}
        assert len(shared) == 1


def test_a_split_without_outcomes_is_refused() -> None:
    task, other, route = Task("t", text="Do it"), Task("u", text="Or not"), Route("m", "h")
    full, empty = Dataset([Outcome(task, route, 1.0)]), Dataset([], tasks=[other], routes=[route])
    for method in ("fixed", "random", "oracle"):
        with pytest.raises(InputError, match="the test side"):
            fit(method, Split(0, full, empty), RunRequest([], []), ())
        with pytest.raises(InputError, match="the training side"):
            fit(method, Split(0, empty, full), RunRequest([], []), ())


def test_only_the_oracle_chooses_without_predictions(world: Benchmark) -> None:
    split = split_of(world, 0, 0)
    assert shares_of("oracle", split, None).sum() == len(split.test.tasks)
    with pytest.raises(ValueError, match="the choices of 'fixed' need its predictions"):
        shares_of("fixed", split, None)


def test_scores_that_are_no_numbers_are_refused(world: Benchmark) -> None:
    class Broken(Fixed):
        def score(self, x: Floats, routes: Any) -> Floats:
            return super().score(x, routes) * np.nan

    split = split_of(world, 0, 0)
    with pytest.raises(HMRouterError, match="'fixed' gave scores that are not finite"):
        predict(Broken(), *embedded(split, RunRequest([], [])), split.test)


# -- forecast -------------------------------------------------------------------------------------------------------


def test_forecasts_are_held_against_every_outcome(sparse_world: Benchmark, rows_of: RowsOf) -> None:
    (row,) = [r for r in rows_of("forecast", sparse_world, "fixed", splits=1) if r["setting"] == "full"]
    split = sparse_world.data().splits(1)[0]
    means = np.nanmean(dense(split.train), axis=0)
    y = dense(split.test)
    p = np.broadcast_to(0.005 + 0.99 * means, y.shape)  # the squeeze of logit_of_mean
    seen = ~np.isnan(y)
    y, p = y[seen], p[seen]
    assert row["brier"] == pytest.approx(((y - p) ** 2).mean())
    assert row["log_loss"] == pytest.approx(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())
    assert sum(n for _, _, n in row["reliability"]) == len(y)
    assert row["auc"] is not None
    assert row["ece"] == pytest.approx(
        sum(n * abs(forecast - outcome) for forecast, outcome, n in row["reliability"]) / len(y)
    )


def test_random_forecasts_the_training_mean(sparse_world: Benchmark, rows_of: RowsOf) -> None:
    rows = rows_of("forecast", sparse_world, "random", "oracle")
    assert {r["method"] for r in rows} == {"random"}  # the oracle does not forecast
    for row in rows:
        assert row["auc"] == 0.5
        ((forecast, _, n),) = row["reliability"]
        train = thinned(split_of(sparse_world, 0, row["split"]), row["setting"], 0).train
        assert forecast == pytest.approx(train.cells.score.mean())
        assert row["ece"] is not None
        assert n > 9


def test_coverage_counts_routes_inside_their_intervals(sparse_world: Benchmark) -> None:
    test = split_of(sparse_world, 0, 0).test
    means = test.route_means()
    inside, beside = (means[0] - 0.1, means[0] + 0.1), (means[0] + 0.01, 1.0)
    everything = [(0.0, 1.0)] * 3
    assert coverage([inside, *everything], test) == 1.0
    assert coverage([beside, *everything], test) == 0.75
    assert coverage(None, test) is None
