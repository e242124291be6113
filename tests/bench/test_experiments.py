"""Each protocol measures what it says, on planted worlds."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from hmrouter.bench.benchmark import Benchmark
from hmrouter.bench.evaluate import Predictions, choose, dense, predict, prepare, tie_order
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import Experiment, Plan, Unit
from hmrouter.bench.experiments.common import prepared, split_of
from hmrouter.bench.experiments.cost import LAMBDAS, costed_pool
from hmrouter.bench.experiments.judged import judge
from hmrouter.bench.experiments.sparse import SETTINGS, thinned
from hmrouter.dataset import Dataset, Split
from hmrouter.errors import HMRouterError, InputError
from hmrouter.scorers.base import Scorer, Training
from hmrouter.scorers.fixed import Fixed
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

Plant = Callable[..., Path]
FAST = ("fixed", "component_average", "knn", "avengers", "safe")
"""Methods that fit in no time; the others are held to the same laws by `hmrouter.checks`."""


def holes(i: int, j: int) -> float | None:
    """Soft scores, and a third of the cells never run (but task 0 is run everywhere)."""
    return None if i and (i + j) % 3 == 0 else ((7 * i + 3 * j) % 5) / 4


@pytest.fixture
def sparse_world(plant: Plant, tmp_path: Path) -> Benchmark:
    return Benchmark.at(plant(tmp_path / "holes", 30, score=holes))


@pytest.fixture
def world(plant: Plant, tmp_path: Path) -> Benchmark:
    return Benchmark.at(plant(tmp_path / "world", 30))


def rows_of(name: str, benchmark: Benchmark, *methods: str, splits: int = 2) -> list[dict[str, Any]]:
    """The rows of an experiment, in this process."""
    experiment: Experiment = EXPERIMENTS.load(name)()
    plan = Plan([benchmark], methods, splits)
    assert not experiment.refusal(benchmark)
    return [row for unit in experiment.units(plan) for row in experiment.run(unit, benchmark, plan)]


# -- references -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["routing", "sparse"])
def test_oracle_is_one_and_nothing_is_above(name: str, sparse_world: Benchmark) -> None:
    rows = rows_of(name, sparse_world, "random", *FAST, "oracle")
    oracle = [r["normalized_accuracy"] for r in rows if r["method"] == "oracle"]
    assert oracle == [1.0] * (2 if name == "routing" else 12)
    assert all(0 <= r["normalized_accuracy"] <= 1 for r in rows)
    assert any(r["normalized_accuracy"] < 1 for r in rows)


def test_random_is_the_expectation(sparse_world: Benchmark) -> None:
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


# -- withheld outcomes ----------------------------------------------------------------------------------------------


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
        row = judge(Unit("routing", "coins", method, 0), split, Plan([], [method])).row
        assert row["normalized_accuracy"] < 0.8


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


def test_every_method_runs_on_identical_splits(sparse_world: Benchmark) -> None:
    rows = rows_of("routing", sparse_world, "random", *FAST, "oracle", splits=3)
    for split in range(3):
        shared = {(r["n_test"], r["n_train"], r["oracle_accuracy"]) for r in rows if r["split"] == split}
        assert len(shared) == 1


def test_a_split_without_outcomes_is_refused() -> None:
    task, other, route = Task("t", text="Do it"), Task("u", text="Or not"), Route("m", "h")
    full, empty = Dataset([Outcome(task, route, 1.0)]), Dataset([], tasks=[other], routes=[route])
    unit, plan = Unit("routing", "b", "fixed", 0), Plan([], [])
    with pytest.raises(InputError, match="the test side"):
        judge(unit, Split(0, full, empty), plan)
    with pytest.raises(InputError, match="the training side"):
        judge(unit, Split(0, empty, full), plan)


def test_scores_that_are_no_numbers_are_refused(world: Benchmark) -> None:
    class Broken(Fixed):
        def score(self, x: Floats, routes: Any) -> Floats:
            return super().score(x, routes) * np.nan

    split = split_of(world, 0, 0)
    with pytest.raises(HMRouterError, match="'fixed' gave scores that are not finite"):
        predict(Broken(), *prepared(split, Plan([], [])), split.test)


# -- thin evidence --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", SETTINGS)
def test_thinning_is_exactly_as_stated(plant: Plant, tmp_path: Path, setting: str) -> None:
    routes = [(f"m{j}", f"h{j % 3}") for j in range(8)]
    # task 5 was run on one route only: it keeps that one
    data = Benchmark.at(
        plant(tmp_path / "b", 100, routes=routes, score=lambda i, j: None if i == 5 and j else float((i * j) % 2))
    ).data()
    shares = {"tasks10": 7, "tasks20": 14, "tasks30": 21, "tasks20_routes2-5": 14}
    kept: list[tuple[str, ...]] = []
    sizes: set[int] = set()
    for split in data.splits(5):
        thin = thinned(split, setting, 0)
        assert thin.test is split.test
        assert thin.train.routes == split.train.routes
        assert len(thin.train.tasks) == shares.get(setting, 70)
        assert {t.key for t in thin.train.tasks} <= {t.key for t in split.train.tasks}
        full, got = split.train.restrict(tasks=[t.key for t in thin.train.tasks]), thin.train
        per_task, before = np.diff(got.starts), np.diff(full.starts)
        if setting.endswith("routes2-5"):
            assert all(2 <= k <= 5 or k == n == 1 for k, n in zip(per_task, before, strict=True))
            sizes |= set(per_task.tolist())
        else:
            assert per_task.tolist() == before.tolist()
        # what is kept is as it was
        assert np.array_equal(dense(got)[~np.isnan(dense(got))], dense(full)[~np.isnan(dense(got))])
        kept.append(tuple(t.id for t in got.tasks))
    assert len(set(kept)) == 5  # each split thins on its own
    if setting == "routes2-5":
        assert sizes >= {2, 3, 4, 5}
        assert (np.bincount(got.cells.route, minlength=8) > 10).all()  # at random, not the first ones


def test_thinning_is_the_same_every_time_and_nested(world: Benchmark) -> None:
    split = world.data().splits(1)[0]
    again = Benchmark.at(world.path).data().splits(1)[0]
    ids: dict[str, set[str]] = {}
    for setting in SETTINGS:
        a, b = thinned(split, setting, 0).train, thinned(again, setting, 0).train
        assert np.array_equal(dense(a), dense(b), equal_nan=True)
        ids[setting] = {t.id for t in a.tasks}
    assert ids["tasks10"] < ids["tasks20"] < ids["tasks30"] < ids["full"]
    assert ids["tasks20"] == ids["tasks20_routes2-5"]


# -- cost -----------------------------------------------------------------------------------------------------------


def test_the_oracle_of_each_weight_is_the_best_of_all_choices(world: Benchmark) -> None:
    rows = rows_of("cost", world, "oracle", splits=1)
    assert [r["setting"] for r in rows] == [f"lambda={w:g}" for w in LAMBDAS]
    test = world.data().splits(1)[0].test
    scores, costs = dense(test), dense(test, "cost")
    for row, weight in zip(rows, LAMBDAS, strict=True):
        accuracy, dollars = 0.0, 0.0
        for i in range(len(scores)):
            j = max(range(4), key=lambda j: (scores[i, j] - weight * costs[i, j], -costs[i, j]))
            accuracy += scores[i, j] / len(scores)
            dollars += costs[i, j] / len(scores)
        assert (row["accuracy"], row["cost_usd"]) == pytest.approx((accuracy, dollars))


def test_fixed_sweeps_from_the_best_route_to_the_cheapest(world: Benchmark) -> None:
    rows = rows_of("cost", world, "fixed", "random")
    for split in range(2):
        own = [r for r in rows if r["split"] == split and r["method"] == "fixed"]
        (free,) = [r for r in rows_of("routing", world, "fixed") if r["split"] == split]
        assert own[0]["accuracy"] == free["accuracy"]
        train = world.data().splits(2)[split].train
        assert own[-1]["train_cost_usd"] == pytest.approx(np.nanmean(dense(train, "cost"), axis=0).min())
        spent = [r["train_cost_usd"] for r in own]
        assert spent == sorted(spent, reverse=True)
        assert spent[0] > spent[-1]
        (uniform,) = [r for r in rows if r["split"] == split and r["method"] == "random"]
        assert uniform["train_cost_usd"] == pytest.approx(dense(train, "cost").mean())


def test_training_numbers_do_not_look_at_test_outcomes(world: Benchmark, plant: Plant, tmp_path: Path) -> None:
    tested = {t.id for t in world.data().splits(1)[0].test.tasks}
    other = Benchmark.at(
        plant(tmp_path / "elsewhere" / "world", 30, score=lambda i, j: (
            float((i + j) % 2) if f"q{i:03d}" in tested else
            float((j == (0 if i % 2 == 0 else 3)) != ((3 * i + 5 * j) % 7 == 0))
        ))
    )  # fmt: skip
    keys = ("method", "setting", "train_accuracy", "train_cost_usd")
    a, b = ([[r[k] for k in keys] for r in rows_of("cost", w, *FAST, "random", splits=1)] for w in (world, other))
    assert a == b


def test_a_cell_without_cost_is_never_chosen(plant: Plant, tmp_path: Path) -> None:
    # Route 0 always succeeds, but its cost is known on two tasks of three; task 2, 5, ... must go elsewhere.
    # Route 1 has a cost on a third of its outcomes: it is not in the pool.
    benchmark = Benchmark.at(
        plant(
            tmp_path / "b", 30, score=lambda i, j: float(j == 0),
            cost=lambda i, j: None if (j == 0 and i % 3 == 2) or (j == 1 and i % 3) else 1.0 + j,
        )
    )  # fmt: skip
    pool = costed_pool(benchmark.data())
    assert pool is not None
    assert [str(r) for r in pool] == ["loop:atlas", "loop:birch", "pilot:birch"]
    for row in rows_of("cost", benchmark, "fixed", "oracle", "random"):
        test = benchmark.data().splits(2)[row["split"]].test
        known = [int(t.id[1:]) % 3 != 2 for t in test.tasks]
        if row["setting"] == "lambda=0":
            assert row["accuracy"] == pytest.approx(np.mean(known))
            assert row["cost_usd"] == pytest.approx(np.mean([1.0 if k else 3.0 for k in known]))
        if row["setting"] == "uniform":
            assert row["accuracy"] == pytest.approx(np.mean([1 / 3 if k else 0.0 for k in known]))
        assert row["n_test"] == 9


def test_route_means_are_said(plant: Plant, tmp_path: Path) -> None:
    means = Benchmark.at(plant(tmp_path / "means", 30, route_means=True))
    own = Benchmark.at(plant(tmp_path / "own", 30))
    rows = [*rows_of("cost", means, "fixed", "knn"), *rows_of("cost", own, "fixed", "knn")]
    assert {(r["benchmark"], r["cost_per_task"]) for r in rows} == {("means", False), ("own", True)}
    note = EXPERIMENTS.load("cost")().tables(rows)[0].note
    assert "Costs are per task on own, else route means." in note


def test_a_benchmark_without_costs_is_refused(plant: Plant, tmp_path: Path) -> None:
    def one_route(i: int, j: int) -> float | None:
        return 1.0 if j == 0 else None

    for cost in (lambda i, j: None, one_route):
        benchmark = Benchmark.at(plant(tmp_path / "b", 20, cost=cost))
        assert "fewer than two routes have a known cost" in EXPERIMENTS.load("cost")().refusal(benchmark)


# -- forecast -------------------------------------------------------------------------------------------------------


def test_forecasts_are_held_against_every_outcome(sparse_world: Benchmark) -> None:
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


def test_random_forecasts_the_training_mean(sparse_world: Benchmark) -> None:
    rows = rows_of("forecast", sparse_world, "random", "oracle")
    assert {r["method"] for r in rows} == {"random"}  # the oracle does not forecast
    for row in rows:
        assert row["auc"] == 0.5
        ((forecast, _, n),) = row["reliability"]
        train = thinned(split_of(sparse_world, 0, row["split"]), row["setting"], 0).train
        assert forecast == pytest.approx(train.cells.score.mean())
        assert row["ece"] is not None
        assert n > 9
