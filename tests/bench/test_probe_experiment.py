"""`probe`: what is bought, what is judged, and what the report says of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import RunRequest
from hmrouter.bench.experiments.probe import report
from hmrouter.bench.experiments.probe.buying import BOUGHT, BUYERS, SEEN, bought
from hmrouter.bench.experiments.probe.experiment import Probe, newcomers

Plant = Callable[..., Path]
ROUTES = [(f"m{i}", f"h{j}") for i in range(4) for j in range(2)]


def graded(i: int, j: int) -> float:
    """Each route solves the easier part of the tasks, the better the longer; the last is the best."""
    return float((7 * i) % 40 < 4 + 4 * j)


@pytest.fixture
def ladder(plant: Plant, tmp_path: Path) -> Benchmark:
    return Benchmark.at(plant(tmp_path / "ladder", 40, routes=ROUTES, score=graded))


@pytest.mark.parametrize("name", list(BUYERS))
def test_a_cell_is_bought_once_and_only_if_it_is_there(name: str, plant: Plant, tmp_path: Path) -> None:
    data = Benchmark.at(
        plant(tmp_path / "holes", 12, routes=ROUTES[:5], score=lambda i, j: None if i and (i + j) % 3 == 0 else 0.5)
    ).data()
    steps = [p.run.copy() for p in bought(data, BUYERS[name], None, 500, seed=0)]
    assert len(steps) == len(data.cells)
    assert [int(run.sum()) for run in steps] == list(range(1, len(data.cells) + 1))
    known = np.zeros_like(steps[-1])
    known[data.cells.task, data.cells.route] = 1.0
    np.testing.assert_array_equal(steps[-1], known)


def test_buying_everything_finds_the_best_route(ladder: Benchmark) -> None:
    experiment, request = Probe(), RunRequest([ladder], ["probe_alone", "uniform_alone"], 1)
    rows = [r for u in experiment.units(request) for r in experiment.run(u, ladder, request)]
    best = {(r["method"], r["setting"]): r for r in rows if r["regret"] is not None}
    assert best["probe_alone", "320"]["regret"] == pytest.approx(0.0)
    assert best["probe_alone", "320"]["accuracy"] == pytest.approx(0.8)
    assert best["probe_alone", "320"]["normalized_accuracy"] == pytest.approx(1.0)
    assert best["uniform_alone", "1"]["regret"] > 0.0
    assert [r["setting"] for r in rows if r["method"] == "probe_alone" and r["regret"] is not None] == list(
        map(str, BOUGHT)
    )


def test_regret_is_that_of_the_same_choices_every_time(ladder: Benchmark) -> None:
    experiment, request = Probe(), RunRequest([ladder], ["thompson_alone"], 1)
    (unit,) = experiment.units(request)
    assert experiment.run(unit, ladder, request) == experiment.run(unit, ladder, request)


def test_a_newcomer_is_known_better_by_telling_tasks(ladder: Benchmark) -> None:
    experiment, request = Probe(), RunRequest([ladder], ["random", "random_curves", "probe_alone"], 2)
    rows = [r for u in experiment.units(request) if u.setting for r in experiment.run(u, ladder, request)]
    assert {r["setting"] for r in rows} == {f"new {k}" for k in SEEN}

    def error(method: str, k: int) -> float:
        return float(np.mean([r["error"] for r in rows if r["method"] == method and r["runs"] == k]))

    assert error("probe_alone", 5) < error("random", 5)
    assert error("probe_alone", 30) < 0.05


def test_newcomers_are_run_on_enough_tasks(plant: Plant, tmp_path: Path, ladder: Benchmark) -> None:
    assert len(newcomers(ladder.data(), 0, 0)) == len(ROUTES)
    few = Benchmark.at(plant(tmp_path / "few", 20, routes=ROUTES))
    assert newcomers(few.data(), 0, 0) == []
    units = Probe().units(RunRequest([few], ["probe_alone", "random", "safe"], 1))
    assert {(u.method, u.setting) for u in units} == {("probe_alone", ""), ("random", "")}


def test_one_route_cannot_take_part(plant: Plant, tmp_path: Path, ladder: Benchmark) -> None:
    alone = Benchmark.at(plant(tmp_path / "one", 20, routes=ROUTES[:1]))
    assert "nothing to choose" in Probe().refusal(alone)
    assert Probe().refusal(ladder) == ""


def test_other_benchmarks_are_part_of_what_methods_with_history_read(
    ladder: Benchmark, plant: Plant, tmp_path: Path
) -> None:
    other = Benchmark.at(plant(tmp_path / "other", 10, routes=ROUTES, text=lambda i: f"Something else {i}"))
    experiment, request = Probe(), RunRequest([ladder, other], ["probe", "probe_alone", "random"], 1)
    read = {u.method: experiment.reads(u, request) for u in experiment.units(request) if u.benchmark == "ladder"}
    assert read == {"probe": (other,), "probe_alone": (), "random": (other,)}


def rows_of(
    curves: dict[str, list[float]], key: str, numbers: tuple[int, ...], prefix: str = ""
) -> list[dict[str, Any]]:
    return [
        {"benchmark": "b", "split": 0, "method": m, "runs": n, "setting": f"{prefix}{n}", "regret": None, "error": None}
        | {key: v}
        for m, curve in curves.items()
        for n, v in zip(numbers, curve, strict=True)
    ]


def test_runs_are_counted_to_where_the_curve_stays_below() -> None:
    n = len(BOUGHT)
    curves = {
        "uniform_means": [*[0.3] * (n - 1), 0.15],
        "uniform_alone": [*[0.3] * (n - 1), 0.05],
        "probe": [0.2, 0.0, 0.2, 0.1, *[0.04] * (n - 4)],  # its first dip does not count
    }
    rows = rows_of(curves, "regret", BOUGHT)
    rows += rows_of({"random": [0.1] * len(SEEN), "probe": [0.2, *[0.1] * (len(SEEN) - 1)]}, "error", SEEN, "new ")
    assert report.headline(rows).endswith(f"by mean scores: probe {BOUGHT[3]}; by the same model: probe {BOUGHT[4]}.")
    needed, levels, new = report.tables(rows)
    assert needed.columns[1:4] == ["by mean scores", "by the pooled model", "by the same model"]
    assert [[*row[:2], row[3]] for row in needed.rows][1:] == [
        ["uniform_alone", 320, 320], ["probe", BOUGHT[3], BOUGHT[4]],
    ]  # fmt: skip
    assert {row[2] for row in needed.rows} == {None}  # it was not run
    assert levels.rows[0] == ["1", 30.0, 30.0, 20.0]
    assert f"probe {SEEN[1]}" in new.note
    assert [f.name for f in report.figures(rows)] == ["probe", "probe_history", "probe_new"]
    assert report.headline([]) == ""
    assert report.tables([]) == [] == report.figures([])


@pytest.mark.parametrize("method", ["uniform_means", "uniform_pooled"])
def test_every_route_in_turn_ends_at_the_best_one(method: str, ladder: Benchmark) -> None:
    experiment, request = Probe(), RunRequest([ladder], [method], 1)
    (unit,) = experiment.units(request)
    rows = {r["runs"]: r["regret"] for r in experiment.run(unit, ladder, request)}
    assert rows[320] == pytest.approx(0.0)
    assert rows[1] > 0.0


def test_the_keys_of_its_rows_are_documented(ladder: Benchmark) -> None:
    experiment, request = Probe(), RunRequest([ladder], ["random", "probe_alone"], 1)
    keys = {frozenset(r) for u in experiment.units(request) for r in experiment.run(u, ladder, request)}
    common, further = (Path(__file__).parents[2] / "docs" / "results-format.md").read_text().split("## Further keys")
    own = re.split(r"^`probe` ", further, flags=re.MULTILINE)[1].partition("\n\nAn experiment that")[0]
    documented = re.findall(r"^\| `(\w+)` \|", common + own.split("\n\n`")[0], re.MULTILINE)
    assert keys == {frozenset(documented)}
