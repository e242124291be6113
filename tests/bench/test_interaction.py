"""`interaction` finds what is planted, and nothing where nothing is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.benchmarks.rectangles import Rectangle, count_rectangles, rectangles
from hmrouter.bench.benchmarks.registry import benchmarks
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.interaction.contrasts import Contrast, contrasts, correlation, sign_agreement
from hmrouter.bench.experiments.interaction.deviations import deviations
from hmrouter.bench.experiments.interaction.report import averaged_deviations, contrasts_of, deviation_correlation
from hmrouter.types import Route

Plant = Callable[..., Path]
RowsOf = Callable[..., list[dict[str, Any]]]
MODELS, HARNESSES = 6, 3
ROUTES = [(f"m{i}", f"h{k}") for i in range(MODELS) for k in range(HARNESSES)]
# Rows and columns sum to zero: no model and no harness is better than another.
PLANTED = np.array([[1, -1, 0], [-1, 1, 0], [1, 0, -1], [-1, 0, 1], [0, 1, -1], [0, -1, 1]])


def world(plant: Plant, folder: Path, seed: int, strength: float, tasks: int = 100) -> Benchmark:
    """Every pair succeeds on half of the tasks, but for what is planted; the texts tell nothing."""
    success = 0.5 + strength * PLANTED.ravel()
    drawn = np.random.default_rng(seed).random((tasks, len(ROUTES))) < success
    return Benchmark.at(plant(folder, tasks, routes=ROUTES, score=lambda i, j: float(drawn[i, j])))


def contrast(observed: float, predicted: float, tasks: int = 40, error: float = 0.1) -> Contrast:
    return Contrast(Rectangle(("a", "b"), ("x", "y")), tasks, observed, error, predicted)


# -- planted worlds -------------------------------------------------------------------------------------------------


def test_a_planted_interaction_is_found_by_the_full_scorer_only(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    benchmark = world(plant, tmp_path / "planted", 0, 0.4)
    rows = rows_of("interaction", benchmark, "random", "component_only", "hm", "oracle")
    found = {m: sign_agreement(contrasts_of(rows, m)) for m in ("component_only", "hm")}
    assert found["hm"] is not None
    assert found["component_only"] is not None
    assert found["hm"] > 0.95
    assert found["component_only"] < 0.7
    full = correlation(contrasts_of(rows, "hm"))
    assert full is not None
    assert full > 0.9
    accuracy, signs, _, within, averaged = EXPERIMENTS.load("interaction")().tables(rows)[0].rows
    assert accuracy[0] == "normalised accuracy, %"
    assert accuracy[3] > accuracy[2] + 15  # what the interaction term is worth in choices
    for line in (within, averaged):
        assert line[2] is None  # component-only scores are additive: no pair deviates
        assert isinstance(line[3], float)
        assert line[3] > 0.9
    assert list(signs[1:]) == [None, 100 * found["component_only"], 100 * found["hm"], None]
    assert EXPERIMENTS.load("interaction")().headline(rows).startswith("On resolved 2x2 contrasts, hm predicts")


def test_where_nothing_is_planted_signs_agree_by_chance(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    # Splits of one world share its tasks: what is too high in training is too low in the test. So: many worlds.
    rows = []
    for seed in range(24):
        rows += rows_of("interaction", world(plant, tmp_path / f"w{seed}", seed, 0.0, 45), "fixed", "hm", splits=1)
    found = contrasts_of(rows, "hm")
    assert len(found) == 24 * count_rectangles(Route(*r) for r in ROUTES)
    resolved = [c for c in found if c.resolved]
    assert 0.02 < len(resolved) / len(found) < 0.12  # five percent seem resolved by chance
    for method in ("hm", "fixed"):
        agreement = sign_agreement(contrasts_of(rows, method))
        assert agreement is not None
        assert 0.35 < agreement < 0.65
        pearson = correlation(contrasts_of(rows, method))
        assert pearson is not None
        assert abs(pearson) < 0.2


def test_averaging_over_splits_makes_something_of_nothing(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    rows = []
    for seed in range(4):
        rows += rows_of("interaction", world(plant, tmp_path / f"w{seed}", seed, 0.0, 60), "fixed", splits=5)
    within = deviation_correlation(rows, "fixed")
    averaged = deviation_correlation(rows, "fixed", averaged=True)
    assert within is not None
    assert averaged is not None
    assert within < 0.1
    assert averaged > 0.3


def test_figures_show_the_pairs_of_the_rows(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    rows = rows_of("interaction", world(plant, tmp_path / "planted", 1, 0.4, 60), "hm", splits=1)
    (figure,) = EXPERIMENTS.load("interaction")().figures(rows)
    (series,) = figure.series
    pairs = averaged_deviations(rows)
    assert len(pairs) == len(ROUTES)
    assert list(series.x) == [predicted for _, _, predicted in pairs]
    assert list(series.y) == [100 * observed for _, observed, _ in pairs]
    assert sum(map(bool, series.labels)) == 8
    assert figure.fit


def test_methods_without_predictions_have_no_figure(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    rows = rows_of("interaction", world(plant, tmp_path / "w", 0, 0.4, 20), "random", "oracle", splits=1)
    experiment = EXPERIMENTS.load("interaction")()
    assert experiment.figures(rows) == []
    assert experiment.headline(rows) == ""
    assert {(r["sign_agreement"], r["pearson"], len(r["contrasts"])) for r in rows} == {(None, None, 0)}
    assert {r["rectangles"] for r in rows} == {45}
    assert experiment.tables(rows)


def test_a_method_that_lacks_a_split_has_no_numbers(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    rows = rows_of("interaction", world(plant, tmp_path / "w", 0, 0.4, 40), "fixed", "component_average")
    table = EXPERIMENTS.load("interaction")().tables(rows[:-1])[0]
    assert [line[1] is None for line in table.rows] == [False] * 5
    assert [line[2] for line in table.rows] == [None] * 5


def test_without_a_rectangle_there_is_nothing_to_do(plant: Plant, tmp_path: Path) -> None:
    routes = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y")]
    refusal = EXPERIMENTS.load("interaction")().refusal(Benchmark.at(plant(tmp_path / "b", 5, routes=routes)))
    assert refusal == "no two models were run on the same two harnesses"


# -- rectangles -----------------------------------------------------------------------------------------------------


def test_the_registry_holds_the_papers_711() -> None:
    assert sum(len(rectangles(b.canonical_pool)) for b in benchmarks()) == 711


@given(st.sets(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz"))))
def test_rectangles_are_counted_as_in_the_registry(pairs: set[tuple[str, str]]) -> None:
    routes = {Route(m, h) for m, h in pairs}
    found = rectangles(routes)
    assert len(found) == len(set(found)) == count_rectangles(routes)
    assert all(set(r.corners) <= routes for r in found)


def test_a_contrast_is_the_difference_of_differences() -> None:
    routes = [Route("a", "x"), Route("a", "y"), Route("b", "x"), Route("b", "y")]
    observed = np.array([[1, 0, 0, 1], [1, 0, 1, 1], [1, 1, 0, 0], [1, 0, 1, np.nan]], dtype=float)
    predicted = np.array([[0.9, 0.1, 0.2, 0.6]] * 3 + [[0.5, 0.9, 0.9, 0.1]])
    (found,) = contrasts(routes, observed, predicted)
    each = np.array([2.0, 1.0, 0.0])  # the last task was not run everywhere
    assert (found.tasks, found.observed) == (3, 1.0)
    assert found.error == pytest.approx(each.std(ddof=1) / 3**0.5)
    assert found.predicted == pytest.approx((0.9 - 0.1) - (0.2 - 0.6))
    assert not found.resolved  # three tasks are too few to say


def test_signs_count_where_they_are_resolved() -> None:
    clear, unclear, few = contrast(0.5, 0.1), contrast(0.1, 0.1), contrast(0.5, 0.1, tasks=9)
    assert [c.resolved for c in (clear, unclear, few)] == [True, False, False]
    assert sign_agreement([clear, unclear, few]) == 1.0
    assert sign_agreement([clear, contrast(-0.5, 0.1)]) == 0.5
    assert sign_agreement([contrast(0.5, 1e-17)]) == 0.5  # additive but for rounding
    assert sign_agreement([unclear]) is None


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.booleans()), min_size=2))
def test_the_correlation_does_not_depend_on_who_is_called_first(values: list[tuple[float, float, bool]]) -> None:
    plain = correlation([contrast(o, p) for o, p, _ in values])
    turned = correlation([contrast(-o, -p) if turn else contrast(o, p) for o, p, turn in values])
    assert plain == pytest.approx(turned) if plain is not None else turned is None
    assert plain is None or abs(plain) <= 1 + 1e-9


# -- deviations -----------------------------------------------------------------------------------------------------


def test_deviations_are_what_components_do_not_explain() -> None:
    routes = [Route(m, h) for m, h in product("abc", "xy")]
    rng = np.random.default_rng(0)
    additive = rng.random((7, 3))[:, :, None] + rng.random((7, 2))[:, None, :]
    extra = np.array([[0.1, -0.1], [0.0, 0.0], [-0.1, 0.1]])  # sums to zero along both
    found = deviations(routes, (additive + extra).reshape(7, 6), additive.reshape(7, 6))
    assert [d.route for d in found] == routes
    assert [d.observed for d in found] == pytest.approx(extra.ravel())
    assert [d.predicted for d in found] == pytest.approx([0.0] * 6)


def test_a_model_with_one_harness_has_no_deviation() -> None:
    routes = [Route(m, h) for m, h in product("ab", "xy")] + [Route("c", "x")]
    scores = np.array([[1.0, 0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 1.0, 0.0]])
    assert [d.route.model for d in deviations(routes, scores, scores)] == ["a", "a", "b", "b"]
    # Without the fourth, model and harness explain everything.
    scores[:, 3] = np.nan
    assert deviations(routes, scores, scores) == []


def test_deviations_of_a_grid_with_holes_are_per_task() -> None:
    routes = [Route(m, h) for m, h in product("abc", "xy")]
    scores = np.random.default_rng(1).random((9, 6))
    scores[::2, 5] = np.nan
    found = {d.route: d.observed for d in deviations(routes, scores, scores)}
    sums = dict.fromkeys(routes, 0.0)
    counts = dict.fromkeys(routes, 0)
    for line in scores:
        run = [j for j in range(6) if not np.isnan(line[j])]
        design = np.array([[routes[j].model == m for m in "abc"] + [routes[j].harness == h for h in "xy"] for j in run])
        fitted = design @ np.linalg.lstsq(design.astype(float), line[run], rcond=None)[0]
        for j, rest in zip(run, line[run] - fitted, strict=True):
            if routes[j].model != "c" or 5 in run:
                sums[routes[j]] += rest
                counts[routes[j]] += 1
    assert found == pytest.approx({r: sums[r] / counts[r] for r in routes})


def test_all_pairs_of_models_and_harnesses() -> None:
    full = [Route(m, h) for m, h in product("abcd", "xyz")]
    expected = [(m, h) for h in combinations("xyz", 2) for m in combinations("abcd", 2)]
    assert [(r.models, r.harnesses) for r in rectangles(full)] == expected
