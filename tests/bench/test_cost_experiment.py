"""`cost` against brute force, on planted costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.cost.experiment import LAMBDAS
from hmrouter.bench.experiments.cost.pool import costed_pool
from hmrouter.bench.judge.choices import dense

Plant = Callable[..., Path]
RowsOf = Callable[..., list[dict[str, Any]]]
FAST = ("fixed", "component_average", "knn", "avengers", "safe")
"""Methods that fit in no time; the others are held to the same laws by `hmrouter.checks`."""


def test_the_oracle_of_each_weight_is_the_best_of_all_choices(world: Benchmark, rows_of: RowsOf) -> None:
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


def test_fixed_sweeps_from_the_best_route_to_the_cheapest(world: Benchmark, rows_of: RowsOf) -> None:
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


def test_training_numbers_do_not_look_at_test_outcomes(
    world: Benchmark, plant: Plant, tmp_path: Path, rows_of: RowsOf
) -> None:
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


def test_a_cell_without_cost_is_never_chosen(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
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


def test_route_means_are_said(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
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
