"""`transfer`: what moved choices lose, on worlds where that is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import RunRequest
from hmrouter.bench.experiments.transfer.moved_choices import Move, best_moved, exchanged, moves, one_model
from hmrouter.bench.report.parts import Interval
from hmrouter.types import Route

Plant = Callable[..., Path]
RowsOf = Callable[..., list[dict[str, Any]]]
METHODS = ("random", "fixed", "fixed_moved", "oracle_moved", "oracle_moved_exchanged", "oracle")
ROUTES = (("atlas", "loop"), ("atlas", "pilot"), ("birch", "loop"), ("birch", "pilot"))


def losses(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Per method the mean loss over splits."""
    return {m: float(np.mean([r["loss"] for r in rows if r["method"] == m and not r["setting"]])) for m in METHODS}


def columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The only line of the main table."""
    table = EXPERIMENTS.load("transfer")().tables(rows)[0]
    return dict(zip(table.columns, table.rows[0], strict=True))


# -- planted worlds -------------------------------------------------------------------------------------------------


def test_compatible_pairs_only(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    """Atlas works with loop, birch with pilot: every choice is wrong after the move."""
    benchmark = Benchmark.at(plant(tmp_path / "b", 40, routes=ROUTES, score=lambda i, j: float(j in (0, 3))))
    rows = rows_of("transfer", benchmark, *METHODS)
    lost = losses(rows)
    assert lost["oracle_moved"] == lost["fixed_moved"] == 1.0
    assert lost["fixed"] == lost["oracle"] == 0.0
    assert lost["random"] == 0.5
    # Two fair coins per task: in half of the cases one model is left on each side.
    assert lost["oracle_moved_exchanged"] == pytest.approx(0.5, abs=0.05)
    beyond = columns(rows)["beyond luck"]
    assert isinstance(beyond, Interval)
    assert beyond.low > 0
    assert "lose 100.0 points under another harness" in EXPERIMENTS.load("transfer")().headline(rows)


def test_a_harness_that_helps_every_model_alike(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    """All that moved choices lose is luck, also where one harness is much better than the other."""
    routes = [(f"m{i}", h) for i in range(4) for h in ("loop", "pilot")]
    rng = np.random.default_rng(0)
    logit = rng.normal(0, 1, (300, 1, 1)) + rng.normal(0, 1, (300, 4, 1)) + np.array([1.0, -1.0])
    drawn = (rng.random((300, 4, 2)) < 1 / (1 + np.exp(-logit))).reshape(300, 8)
    benchmark = Benchmark.at(plant(tmp_path / "b", 300, routes=routes, score=lambda i, j: float(drawn[i, j])))
    lost = losses(rows_of("transfer", benchmark, *METHODS, splits=3))
    assert lost["oracle_moved"] > 0.1
    assert lost["oracle_moved"] == pytest.approx(lost["oracle_moved_exchanged"], abs=0.03)


def test_a_model_that_is_best_everywhere_loses_nothing(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    benchmark = Benchmark.at(
        plant(tmp_path / "b", 40, routes=ROUTES, score=lambda i, j: float((i % 2 == 0) == (j < 2)))
    )
    lost = losses(rows_of("transfer", benchmark, *METHODS))
    assert lost["oracle_moved"] == lost["oracle_moved_exchanged"] == 0.0
    assert lost["random"] == 0.5


# -- rows, tables, figures ------------------------------------------------------------------------------------------


def test_pairs_are_the_means_of_all_tasks(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    scores = {0: 0.9, 1: 0.2, 2: 0.5, 3: 0.4, 4: 1.0}
    routes = (*ROUTES, ("cedar", "loop"))
    benchmark = Benchmark.at(plant(tmp_path / "b", 10, routes=routes, score=lambda i, j: scores[j]))
    rows = rows_of("transfer", benchmark, "oracle_moved")
    (row,) = [r for r in rows if r["setting"] == "pairs"]
    assert {(m, h): v for m, h, v in row["pairs"]} == pytest.approx({r: scores[j] for j, r in enumerate(routes)})
    assert (row["accuracy"], row["n_test"], row["n_train"], row["loss"]) == (pytest.approx(1.0), 10, 0, None)
    loss, heat = EXPERIMENTS.load("transfer")().figures(rows)
    # cedar has one harness only: nothing to compare
    assert (heat.grid["rows"], heat.grid["columns"]) == (["loop", "pilot"], ["atlas", "birch"])
    assert np.array(heat.grid["values"]) == pytest.approx(np.array([[90.0, 50.0], [20.0, 40.0]]))
    assert heat.grid["row_best"] == [[0], [1]]  # the best model of each harness
    assert heat.grid["column_best"] == [[0], [0]]  # the best harness of each model
    assert list(loss.x_names) == ["b"]
    split, mean = loss.series
    assert list(split.y) == [100 * r["loss"] for r in rows if not r["setting"]]
    assert list(mean.y) == [pytest.approx(np.mean(split.y))]
    counts = EXPERIMENTS.load("transfer")().tables(rows)[-1].rows
    assert list(counts[0]) == ["b", 2, 2, 4, 2, 1]


def test_only_its_own_methods_run(plant: Plant, tmp_path: Path) -> None:
    benchmark = Benchmark.at(plant(tmp_path / "b", 10))
    units = EXPERIMENTS.load("transfer")().units(RunRequest([benchmark], ("knn", "random"), 1))
    assert [(u.method, u.setting) for u in units] == [("oracle", "pairs"), ("random", "")]


def test_harnesses_without_common_models_are_refused(plant: Plant, tmp_path: Path) -> None:
    routes = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y")]
    refusal = EXPERIMENTS.load("transfer")().refusal(Benchmark.at(plant(tmp_path / "b", 5, routes=routes)))
    assert refusal == "no two harnesses were run with the same two models"


# -- choices --------------------------------------------------------------------------------------------------------


def test_a_move_compares_what_was_run_on_both_sides() -> None:
    routes = [Route("a", "x"), Route("b", "x"), Route("a", "y"), Route("b", "y"), Route("c", "y")]
    scores = np.array([[1, 0, 0, 1, 1], [1, np.nan, 1, 1, 0], [0, 1, 1, 0, 1]], dtype=float)
    there, back = moves(routes, scores)
    assert (there.source, there.target, there.models) == ("x", "y", ("a", "b"))
    assert there.before.tolist() == [[1, 0], [0, 1]]  # on the second task, b was not run with x
    assert there.after.tolist() == back.before.tolist() == [[0, 1], [1, 0]]


def test_the_next_best_model_stands_in_for_one_that_was_not_run() -> None:
    after = np.array([[0.1, 0.2, 0.3], [0.4, np.nan, 0.6]])
    move = Move("x", "y", ("a", "b", "c"), after, after)
    means = {Route("a", "x"): 0.5, Route("b", "x"): 0.9, Route("c", "x"): float("nan")}
    assert one_model(move, means, "x").tolist() == [0.2, 0.4]
    assert one_model(move, {}, "x").tolist() == [0.1, 0.4]


def test_equal_choices_are_averaged() -> None:
    before = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, np.nan]])
    after = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, np.nan]])
    assert best_moved(before, after).tolist() == [0.5, 0.5]


def test_an_exchange_keeps_scores_and_how_good_a_harness_is() -> None:
    rng = np.random.default_rng(0)
    before = (rng.random((400, 5)) < 0.8).astype(float)
    after = (rng.random((400, 5)) < 0.3).astype(float)
    before[:50, 0] = after[:50, 0] = np.nan
    new_before, new_after = exchanged(Move("x", "y", tuple("abcde"), before, after), np.random.default_rng(1))
    assert np.array_equal(np.isnan(new_before), np.isnan(before))
    assert np.array_equal(np.nan_to_num(new_before + new_after), np.nan_to_num(before + after))
    assert not np.array_equal(np.nan_to_num(new_before), np.nan_to_num(before))
    assert np.nanmean(new_before) == pytest.approx(np.nanmean(before), abs=0.03)
