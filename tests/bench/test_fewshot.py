"""`fewshot`: what is new is chosen once enough of it was seen, and only what would be missed is held out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import RunRequest
from hmrouter.bench.experiments.fewshot.experiment import FewShot
from hmrouter.bench.experiments.fewshot.newcomers import REVEALED, missed, oracle_loss, probed, routes_of
from hmrouter.bench.experiments.fewshot.report import label
from hmrouter.bench.experiments.path import embedded, split_of
from hmrouter.bench.judge.predict import predict
from hmrouter.scorers.fixed import Fixed
from hmrouter.scorers.hm import HM
from hmrouter.scorers.hm.summaries import Summaries

Plant = Callable[..., Path]
FORMAT = Path(__file__).parents[2] / "docs" / "results-format.md"
RowsOf = Callable[..., list[dict[str, Any]]]

LEVELS = {f"m{i:02d}": 0.05 + 0.75 * i / 16 for i in range(16)} | {"new": 0.9}
ROUTES = [(model, harness) for model in LEVELS for harness in ("x", "y")]


def coin(*parts: object) -> float:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4]) / 2**32


def planted_score(i: int, j: int) -> float:
    """Sixteen models from poor to fair and a good one, which alone solves every fourth task; y is a poorer harness."""
    model, harness = ROUTES[j]
    if i % 4 == 0:
        return float(model == "new")
    return float(0.5 * coin(i) + 0.5 * coin(i, model) < LEVELS[model] * (1.0 if harness == "x" else 0.8))


@pytest.fixture
def newcomer(plant: Plant, tmp_path: Path) -> Benchmark:
    return Benchmark.at(plant(tmp_path / "newcomer", 30, routes=ROUTES, score=planted_score))


def curves(benchmark: Benchmark, method: str, splits: int, *keys: str) -> list[list[float]]:
    """Of each key, the mean over splits at each k, with the new model held out."""
    experiment, request = FewShot(), RunRequest([benchmark], [method], splits)
    rows = [
        r for u in experiment.units(request) if u.setting == "model new" for r in experiment.run(u, benchmark, request)
    ]
    assert len(rows) == splits * len(REVEALED)
    return [[float(np.mean([r[key] for r in rows if r["k"] == k])) for k in REVEALED] for key in keys]


@pytest.mark.parametrize("method", ["hm", "hm_refit", "safe"])
def test_curves_rise_with_k(method: str, newcomer: Benchmark) -> None:
    accuracy, picked = curves(newcomer, method, 3, "accuracy", "held_out_picked")
    assert accuracy[-1] > accuracy[0] + 0.15
    assert picked[-1] > picked[0] + 0.25
    assert min(np.diff(accuracy)) > -0.05


def test_references_do_not_depend_on_k(newcomer: Benchmark) -> None:
    (chance,) = curves(newcomer, "random", 1, "accuracy")
    assert len(set(chance)) == 1
    assert curves(newcomer, "oracle", 1, "normalized_accuracy") == [[1.0] * len(REVEALED)]


# -- what is held out -----------------------------------------------------------------------------------------------


def test_only_what_would_be_missed_is_held_out(newcomer: Benchmark) -> None:
    split = split_of(newcomer, 0, 0)
    found = missed(split)
    assert ("model", "new") in found
    assert ("harness", "y") not in found  # x solves whatever y does
    for kind, name in found:
        assert oracle_loss(split.test, routes_of(split.train, kind, name)) > 0.01
    names = [*split.train.models, *split.train.harnesses]
    for name in names:
        kind = "model" if name in split.train.models else "harness"
        if (kind, name) not in found:
            assert oracle_loss(split.test, routes_of(split.train, kind, name)) <= 0.01


def test_what_was_run_on_few_tasks_has_no_curve(plant: Plant, tmp_path: Path) -> None:
    def rare(i: int, j: int) -> float | None:
        return planted_score(i, j) if ROUTES[j][0] != "new" or i % 2 == 0 else None

    benchmark = Benchmark.at(plant(tmp_path / "rare", 40, routes=ROUTES, score=rare))
    split = split_of(benchmark, 0, 0)
    assert oracle_loss(split.test, routes_of(split.train, "model", "new")) > 0.01
    assert ("model", "new") not in missed(split)


def test_a_benchmark_too_small_for_the_last_point(plant: Plant, tmp_path: Path) -> None:
    assert FewShot().refusal(Benchmark.at(plant(tmp_path / "large", 28))) == ""
    refusal = FewShot().refusal(Benchmark.at(plant(tmp_path / "smaller", 20)))
    assert refusal == "14 training tasks, but the last point of a curve needs 20"


# -- the probe ------------------------------------------------------------------------------------------------------


def test_the_probe_is_one_fit_whose_summaries_are_those_of_a_refit(newcomer: Benchmark) -> None:
    split = split_of(newcomer, 0, 0)
    training, x_test = embedded(split, RunRequest([], []))
    routes = routes_of(split.train, "model", "new")
    shown = [split.train.withhold(routes=routes, reveal=k) for k in REVEALED]
    scorer = HM(epochs=3)
    seconds = set()
    for data, found in zip(shown, probed(scorer, training, shown, routes, x_test, split), strict=True):
        fresh = Summaries.of(data, training.x)
        for name in ("new", "m03"):
            np.testing.assert_allclose(scorer.summaries_.model(name), fresh.model(name), atol=1e-9)
        np.testing.assert_allclose(scorer.summaries_.harness("x"), fresh.harness("x"), atol=1e-9)
        seconds.add(found.fit_seconds)
    assert "new" not in scorer.models_  # no identity
    assert len(seconds) == 1


def test_the_probe_of_running_means_is_a_refit(newcomer: Benchmark) -> None:
    split = split_of(newcomer, 0, 0)
    training, x_test = embedded(split, RunRequest([], []))
    routes = routes_of(split.train, "harness", "x")
    shown = [split.train.withhold(routes=routes, reveal=k) for k in REVEALED]
    for data, found in zip(shown, probed(Fixed(), training, shown, routes, x_test, split), strict=True):
        np.testing.assert_allclose(
            found.merit, predict(Fixed(), replace(training, data=data), x_test, split.test).merit
        )


# -- the report -----------------------------------------------------------------------------------------------------


def test_tables_and_figures(newcomer: Benchmark, rows_of: RowsOf) -> None:
    methods = ("random", "fixed", "safe", "oracle")
    rows, experiment = rows_of("fewshot", newcomer, *methods, splits=1), FewShot()
    units = {(r["kind"], r["held_out"]) for r in rows}
    assert len(rows) == len(units) * len(methods) * len(REVEALED)
    level, above = experiment.tables(rows)
    assert list(level.columns) == ["held out", *map(label, methods)]
    kinds = [kind for kind in ("route", "model", "harness") if kind in {u[0] for u in units}]
    assert [line[0] for line in level.rows] == [f"{kind} k={k}" for kind in kinds for k in REVEALED]
    own = [r["normalized_accuracy"] for r in rows if (r["setting"], r["method"]) == ("model k=5", "fixed")]
    line = next(line for line in level.rows if line[0] == "model k=5")
    assert line[2] == pytest.approx(100 * np.mean(own))
    assert list(above.columns) == ["held out", "safe"]
    figures = experiment.figures(rows)
    assert [f.name for f in figures] == [f"fewshot_{kind}" for kind in kinds]
    assert all(list(s.x) == [float(k) for k in REVEALED] for f in figures for s in f.series)
    assert "oracle" not in {s.name for f in figures for s in f.series}  # which is at 100: the note says so
    assert all("The oracle is at 100." in f.note for f in figures)
    documented = FORMAT.read_text()
    assert all(f"| `{key}` |" in documented for key in rows[0])
