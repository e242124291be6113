"""`unseen`: what is hidden stays hidden, and a blind pick shows what the paper's protocol gives away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import RunRequest
from hmrouter.bench.experiments.path import split_of
from hmrouter.bench.experiments.unseen.experiment import Unseen
from hmrouter.bench.experiments.unseen.hiding import LEVELS, SETTINGS, hidden_split, ranked_routes
from hmrouter.bench.experiments.unseen.report import label
from hmrouter.bench.judge.choices import best_among, blind_among, dense, share_of, uniform
from hmrouter.bench.run.suite import plan_suite, units_of
from hmrouter.errors import UnknownName
from hmrouter.evidence.dataset import Dataset
from hmrouter.types import Outcome, Route, Task

Plant = Callable[..., Path]
FORMAT = Path(__file__).parents[2] / "docs" / "results-format.md"
RowsOf = Callable[..., list[dict[str, Any]]]

MODELS, HARNESSES = ("strong-1", "strong-2", "weak-1", "weak-2"), ("good-1", "good-2", "poor-1", "poor-2")
ROUTES = list(product(MODELS, HARNESSES))
SOLVED = (0.15, 0.5, 0.8)
"""Share of the tasks that a pair solves: of a weak model in a poor harness, of one good part, of two."""


def planted_score(i: int, j: int) -> float:
    """Pairs of a kind solve the same tasks; a better kind solves more."""
    model, harness = ROUTES[j]
    return float((7 * i % 20 + 0.5) / 20 < SOLVED[model.startswith("strong") + harness.startswith("good")])


@pytest.fixture
def kinds(plant: Plant, tmp_path: Path) -> Benchmark:
    """Sixteen routes; the four best, a quarter, are all alike."""
    return Benchmark.at(plant(tmp_path / "kinds", 60, routes=ROUTES, score=planted_score))


def judged(benchmark: Benchmark, settings: Sequence[str], *methods: str) -> list[dict[str, Any]]:
    """The rows of some settings on the first split."""
    experiment, request = Unseen(), RunRequest([benchmark], methods, 1)
    units = [u for u in experiment.units(request) if u.setting in settings]
    return [row for u in units for row in experiment.run(u, benchmark, request)]


def by(rows: list[dict[str, Any]], key: str = "accuracy") -> dict[tuple[str, str], Any]:
    return {(r["setting"], r["method"]): r[key] for r in rows}


# -- the control ----------------------------------------------------------------------------------------------------


def test_the_control_ties_when_the_hidden_routes_are_all_better(kinds: Benchmark) -> None:
    best, chance = "best-first 25%", "random 25%"  # best-first, these are the four best
    methods = ("fixed", "component_average", "hm", "hm_observed", "safe", "blind", "oracle")
    rows = judged(kinds, (best, chance), *methods)
    found, picked = by(rows), by(rows, "hidden_picked")
    for method in ("component_average", "hm", "safe"):
        # Whoever prefers what was never run does as well as who does so blindly, and nobody does better.
        assert picked[best, method] > 0.9
        assert found[best, method] == pytest.approx(found[best, "blind"], abs=0.06)
        assert found[best, method] <= found[best, "blind"]
    assert found[best, "blind"] > found[best, "oracle"] + 0.2  # no choice among the visible ones comes near
    # Hidden at random, a blind pick is no match for a choice.
    assert found[chance, "hm"] > found[chance, "blind"] + 0.1
    for setting in (best, chance):
        for method in ("fixed", "hm_observed", "oracle"):
            assert picked[setting, method] == 0.0
            assert found[setting, method] <= found[setting, "oracle"]
        assert picked[setting, "blind"] == 1.0


def test_hm_is_fitted_once_for_both_of_its_columns(kinds: Benchmark) -> None:
    full, observed = judged(kinds, ["best-first 50%"], "hm", "hm_observed")
    assert full["fit_seconds"] == observed["fit_seconds"] > 0
    assert full["auc"] == observed["auc"]


# -- hiding ---------------------------------------------------------------------------------------------------------


def test_the_best_are_hidden_first_and_stay_in_the_pool(kinds: Benchmark) -> None:
    split = split_of(kinds, 0, 0)
    means = dict(zip(split.train.routes, split.train.route_means(), strict=True))
    for level, n in zip(LEVELS, (2, 4, 8, 12, 14, 15), strict=True):
        train = hidden_split(split, f"best-first {level}", 0).train
        hidden = {r for r, seen in zip(train.routes, train.observed, strict=True) if not seen}
        assert len(hidden) == n
        assert min(means[r] for r in hidden) >= max(m for r, m in means.items() if r not in hidden)
        assert train.routes == split.train.routes
        assert train.tasks == split.train.tasks


def test_more_hidden_at_random_includes_less(kinds: Benchmark) -> None:
    split = split_of(kinds, 0, 0)
    order = ranked_routes(split.train, "random", 0, 0)
    assert order != ranked_routes(split.train, "random", 0, 1)
    assert order != ranked_routes(split.train, "best-first", 0, 0)
    left = {r for r in order if r not in order[:-1]}
    train = hidden_split(split, "random one left", 0).train
    assert {r for r, seen in zip(train.routes, train.observed, strict=True) if seen} == left


def test_hidden_outcomes_change_nothing(plant: Plant, tmp_path: Path) -> None:
    # The same world twice; in the second, the route that is hidden first solves every training task.
    first = Benchmark.at(plant(tmp_path / "a" / "same", 40, routes=ROUTES[:6], score=planted_score))
    split = split_of(first, 0, 0)
    (hidden,) = ranked_routes(split.train, "best-first", 0, 0)[:1]
    trained = {t.id for t in split.train.tasks}

    def other(i: int, j: int) -> float:
        same = f"q{i:03d}" not in trained or Route(*ROUTES[j]) != hidden
        return planted_score(i, j) if same else 1.0

    second = Benchmark.at(plant(tmp_path / "b" / "same", 40, routes=ROUTES[:6], score=other))
    assert second.hash != first.hash
    for method in ("hm", "component_average", "safe", "fixed"):
        (a,), (b,) = (judged(world, ["best-first 10%"], method) for world in (first, second))
        assert a | {"fit_seconds": 0} == b | {"fit_seconds": 0}


# -- choices among a part -------------------------------------------------------------------------------------------


def test_chance_decides_where_no_allowed_route_was_run() -> None:
    a, b, c = Route("m", "a"), Route("m", "b"), Route("m", "c")
    test = Dataset([Outcome(Task("1"), a, 1.0), Outcome(Task("1"), b, 0.0), Outcome(Task("2"), b, 1.0),
                    Outcome(Task("2"), c, 1.0)])  # fmt: skip
    only_a = np.array([True, False, False])
    shares = best_among(test, dense(test), np.arange(3), only_a)
    assert shares.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]
    assert blind_among(test, only_a).tolist() == shares.tolist()
    assert blind_among(test, ~only_a).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.5, 0.5]]
    assert blind_among(test, np.ones(3, dtype=bool)).tolist() == uniform(test).tolist()
    assert share_of(only_a, shares) == 0.5


# -- the suite and the report ---------------------------------------------------------------------------------------


def test_quick_keeps_whole_curves(plant: Plant, tmp_path: Path) -> None:
    for name in ("alpha", "beta"):
        plant(tmp_path / "data" / name, 6)
    units = units_of(plan_suite(["unseen"], [tmp_path / "data"], methods=["fixed", "blind"], quick=True))
    for place in {(u.benchmark, u.split) for u in units}:
        own = [(u.setting, u.method) for u in units if (u.benchmark, u.split) == place]
        assert own == [(setting, method) for setting in SETTINGS for method in ("fixed", "blind")]


def test_methods_of_this_experiment_alone(plant: Plant, tmp_path: Path) -> None:
    plant(tmp_path / "data" / "alpha", 10)
    suite = plan_suite(["routing", "unseen"], [tmp_path / "data"], methods=["fixed", "blind"])
    assert [request.methods for request in suite.requests.values()] == [("fixed",), ("fixed", "blind")]
    with pytest.raises(UnknownName, match="method 'blind'"):
        plan_suite(["routing"], [tmp_path / "data"], methods=["blind"])


def test_two_routes_are_refused(plant: Plant, tmp_path: Path) -> None:
    two = Benchmark.at(plant(tmp_path / "two", 10, routes=ROUTES[:2]))
    assert Unseen().refusal(two) == "fewer than three routes"


def test_tables_and_figures(kinds: Benchmark, rows_of: RowsOf) -> None:
    methods = ("random", "fixed", "component_average", "safe", "blind", "oracle")
    rows, experiment = rows_of("unseen", kinds, *methods), Unseen()
    best, chance, difference, *_ = experiment.tables(rows)
    assert list(best.columns) == ["hidden", *map(label, methods)]
    assert [line[0] for line in best.rows] == [line[0] for line in chance.rows] == list(LEVELS)
    assert [line[0] for line in difference.rows] == list(SETTINGS)
    expected = np.mean([r["normalized_accuracy"] for r in rows
                        if (r["setting"], r["method"]) == ("best-first 90%", "blind")])  # fmt: skip
    assert best.rows[4][5] == pytest.approx(100 * expected)
    figures = experiment.figures(rows)
    assert [f.name for f in figures] == ["unseen_best_first", "unseen_random"]
    for figure in figures:
        assert [s.name for s in figure.series] == list(map(label, methods))
        assert all(len(s.y) == len(LEVELS) == len(figure.x_names) for s in figure.series)
    assert f"random (hidden) {100 * expected:.1f}" in experiment.headline(rows)
    documented = FORMAT.read_text()
    assert all(f"| `{key}` |" in documented for key in rows[0])
