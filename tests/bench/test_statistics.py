"""Intervals against closed forms and full enumeration; the hull area against its definition."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.experiments.cost.frontiers import hull_area
from hmrouter.bench.experiments.summaries import benchmark_interval, split_interval

# -- over splits ----------------------------------------------------------------------------------------------------


def test_split_interval_is_the_corrected_t_interval() -> None:
    d = [1.0, 4.0, 2.5, 0.5, 3.0]
    found = split_interval(d, n_test=30, n_train=70)
    mean = sum(d) / 5
    variance = sum((x - mean) ** 2 for x in d) / 4
    half = 2.7764451051977987 * ((1 / 5 + 30 / 70) * variance) ** 0.5  # t of 4 degrees of freedom at 97.5%
    assert found.value == pytest.approx(mean)
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half))
    uncorrected = 2.7764451051977987 * (variance / 5) ** 0.5
    assert found.high - found.low > 2 * uncorrected


def test_one_split_says_nothing_about_others() -> None:
    found = split_interval([2.0], 30, 70)
    assert (found.value, found.low, found.high) == (2.0, -np.inf, np.inf)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6), st.floats(-10, 10))
def test_split_interval_moves_with_the_differences(d: list[float], by: float) -> None:
    a, b = split_interval(d, 3, 7), split_interval([x + by for x in d], 3, 7)
    assert a.low <= a.value <= a.high
    assert (b.value, b.low, b.high) == pytest.approx((a.value + by, a.low + by, a.high + by), abs=1e-9)


# -- over benchmarks ------------------------------------------------------------------------------------------------


def enumerated(groups: list[list[float]]) -> np.ndarray:
    """The mean of every possible draw of benchmarks and of splits within them, as often as it is likely."""
    draws = []
    for chosen in product(range(len(groups)), repeat=len(groups)):
        options = [[np.mean(s) for s in product(groups[j], repeat=len(groups[j]))] for j in chosen]
        each = 1.0 / np.prod([len(o) for o in options])
        draws += [(np.mean(means), each) for means in product(*options)]
    return np.array(sorted(draws))


@pytest.mark.parametrize(
    "groups", [[[0.0, 2.0], [5.0, 9.0]], [[0.0, 1.0, 5.0], [2.0, 4.0]], [[3.0], [7.0], [1.0, 2.0]]]
)
def test_benchmark_interval_is_the_quantile_of_all_draws(groups: list[list[float]]) -> None:
    exact = enumerated(groups)
    at = np.cumsum(exact[:, 1]) / exact[:, 1].sum()

    def quantile(share: float) -> float:
        return float(exact[np.searchsorted(at, share), 0])

    found = benchmark_interval({str(i): g for i, g in enumerate(groups)}, draws=20_000)
    assert found.value == pytest.approx(np.mean([np.mean(g) for g in groups]))
    # A discrete distribution: the drawn quantile is one that the exact one takes close by.
    assert quantile(0.02) <= found.low <= quantile(0.03)
    assert quantile(0.97) <= found.high <= quantile(0.98)


def test_every_benchmark_counts_the_same_however_many_splits_it_has() -> None:
    found = benchmark_interval({"a": [0.0] * 50, "b": [1.0], "empty": []})
    assert found.value == 0.5
    assert (found.low, found.high) == (0.0, 1.0)


def test_benchmark_interval_is_the_same_every_time() -> None:
    groups = {"a": [0.1, 0.4, -0.3], "b": [1.0, 2.0]}
    assert benchmark_interval(groups) == benchmark_interval(groups)
    assert benchmark_interval(groups) != benchmark_interval(groups, seed=1)


# -- hull area ------------------------------------------------------------------------------------------------------

Points = list[tuple[float, float]]


def literal_area(points: Points, max_cost: float, steps: int = 4000) -> float:
    """By definition: the best accuracy that a mixture of two affordable points reaches at each cost, integrated."""
    usable = [p for p in points if p[0] <= max_cost]
    if not usable:
        return 0.0
    grid = (np.arange(steps) + 0.5) / steps * max_cost
    height = np.zeros(steps)
    for c0, a0 in usable:
        height = np.maximum(height, np.where(grid >= c0, a0, 0.0))  # flat to the right
        for c1, a1 in usable:
            if c1 > c0:
                inside = (grid >= c0) & (grid <= c1)
                mixed = a0 + (a1 - a0) * (grid - c0) / (c1 - c0)
                height = np.maximum(height, np.where(inside, mixed, 0.0))
    return float(height.mean())


costs, accuracies = st.integers(1, 20).map(lambda v: v / 10), st.integers(0, 20).map(lambda v: v / 20)
points = st.lists(st.tuples(costs, accuracies), min_size=1, max_size=7)


@given(points, st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_hull_area_is_the_area_under_the_best_mixtures(given_points: Points, max_cost: float) -> None:
    assert hull_area(given_points, max_cost) == pytest.approx(literal_area(given_points, max_cost), abs=2e-3)


@given(points, st.tuples(costs, st.floats(0, 1)))
def test_one_more_point_never_shrinks_the_area(given_points: Points, one_more: tuple[float, float]) -> None:
    assert hull_area([*given_points, one_more], 2.5) >= hull_area(given_points, 2.5) - 1e-12


def test_hull_area_of_known_shapes() -> None:
    assert hull_area([(0.0, 0.6)], 2.0) == pytest.approx(0.6)  # free: the whole width
    assert hull_area([(1.0, 0.6)], 2.0) == pytest.approx(0.3)  # nothing below its cost
    assert hull_area([(1.0, 0.6), (1.5, 0.2)], 2.0) == pytest.approx(0.3)  # dearer and worse
    assert hull_area([(0.0, 0.0), (1.0, 0.1), (2.0, 1.0)], 2.0) == pytest.approx(0.5)  # below the line: not on the hull
    assert hull_area([(1.0, 0.2), (1.0, 0.6)], 2.0) == pytest.approx(0.3)  # the better of two at one cost
    assert hull_area([(3.0, 1.0)], 2.0) == 0.0
