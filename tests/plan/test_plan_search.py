"""The beam search against an enumeration of all sequences, written out as the sum that defines their value."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrouter.plan.search import best, search
from hmrouter.plan.steps import Steps
from hmrouter.plan.verifier import VerifierErrors

World = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Weights, success and dollars."""
VERIFIERS = st.tuples(st.sampled_from([0.0, 0.05, 0.3]), st.sampled_from([0.0, 0.05, 0.3]))
WEIGHTS = st.sampled_from([0.0, 0.01, 0.1, 0.5, 2.0])


def pool(n: int, seed: int) -> World:
    """Weights, success and dollars of a random pool: dearer routes are better, hard scenarios are hard for all."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(5))
    good = rng.normal(0.0, 1.0, (n, 1)) + rng.normal(1.0, 0.5, (n, 1)) * np.linspace(-3, 3, 5)
    return weights, 1 / (1 + np.exp(-good)), np.exp(0.7 * good.mean(axis=1, keepdims=True) + rng.normal(0, 1, (n, 5)))


def value_of(sequence: tuple[int, ...], world: World, verifier: tuple[float, float], cost: float) -> float:
    """The value as its definition says, scenario by scenario."""
    (weights, success, dollars), (a, b) = world, verifier
    total = 0.0
    for s, w in enumerate(weights):
        reach = 1.0
        for r in sequence:
            p = success[r, s]
            total += w * reach * ((1 - b) * p - cost * dollars[r, s])
            reach *= b * p + (1 - a) * (1 - p)
    return float(total)


def enumerated(world: World, verifier: tuple[float, float], cost: float, attempts: int) -> float:
    n = len(world[1])
    return max(
        value_of(sequence, world, verifier, cost)
        for k in range(1, attempts + 1)
        for sequence in product(range(n), repeat=k)
        if len(set(sequence)) == k
    )


def searched(
    world: World, verifier: tuple[float, float], cost: float, attempts: int, width: int | None
) -> tuple[tuple[int, ...], float]:
    levels = search(Steps.of(*world, VerifierErrors(*verifier)), cost, attempts, width)
    found = best(levels, lambda success, dollars: success - max(cost, 1e-9) * dollars)
    assert found is not None
    return found.routes, found.success - cost * found.cost


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(0, 10_000), VERIFIERS, WEIGHTS, st.integers(1, 4))
def test_the_beam_equals_an_enumeration_of_small_pools(
    n: int, seed: int, verifier: tuple[float, float], cost: float, attempts: int
) -> None:
    world = pool(n, seed)
    routes, value = searched(world, verifier, cost, attempts, width=64)
    assert value == pytest.approx(enumerated(world, verifier, cost, attempts), abs=1e-6)
    assert value == pytest.approx(value_of(routes, world, verifier, cost), abs=1e-9)


@settings(max_examples=40)
@given(st.integers(6, 12), st.integers(0, 10_000), VERIFIERS, WEIGHTS, st.integers(3, 4), st.sampled_from([32, 64]))
def test_the_beam_is_near_the_best_of_larger_pools(
    n: int, seed: int, verifier: tuple[float, float], cost: float, attempts: int, width: int
) -> None:
    world = pool(n, seed)
    _, everything = searched(world, verifier, cost, attempts, width=None)
    _, value = searched(world, verifier, cost, attempts, width)
    assert everything - 0.01 <= value <= everything + 1e-9


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(0, 10_000), VERIFIERS, WEIGHTS, st.integers(1, 3))
def test_the_best_value_never_falls_with_a_route_or_an_attempt_more(
    n: int, seed: int, verifier: tuple[float, float], cost: float, attempts: int
) -> None:
    weights, success, dollars = pool(n + 1, seed)
    _, value = searched((weights, success[:n], dollars[:n]), verifier, cost, attempts, None)
    _, with_route = searched((weights, success, dollars), verifier, cost, attempts, None)
    _, with_attempt = searched((weights, success[:n], dollars[:n]), verifier, cost, attempts + 1, None)
    assert with_route >= value - 1e-9
    assert with_attempt >= value - 1e-9


def test_an_exhaustive_search_holds_every_sequence_once() -> None:
    world = pool(4, 0)
    levels = search(Steps.of(*world), 0.1, 3, width=None)
    assert [len(level.routes) for level in levels] == [4, 12, 24]
    for level in levels:
        rows = [tuple(row) for row in level.routes.tolist()]
        assert len(set(rows)) == len(rows)
        for row, success, cost in zip(rows, level.success, level.cost, strict=True):
            assert success == pytest.approx(value_of(row, world, (0.0, 0.0), 0.0))
            assert success - 0.5 * cost == pytest.approx(value_of(row, world, (0.0, 0.0), 0.5))


def test_the_cheapest_order_is_taken_where_cost_has_no_weight() -> None:
    world = (np.ones(1), np.full((3, 1), 0.5), np.array([[3.0], [1.0], [2.0]]))
    assert searched(world, (0.0, 0.0), 0.0, 3, 64)[0] == (1, 2, 0)


def test_a_certain_success_ends_the_plan() -> None:
    world = (np.ones(2) / 2, np.ones((3, 2)), np.ones((3, 2)))
    assert searched(world, (0.0, 0.0), 0.0, 3, 64)[0] == (0,)


def test_difficulty_in_common_makes_a_different_second_attempt() -> None:
    """A twin of the first route fails where it fails; a poorer route that solves the other half is worth more."""
    weights = np.array([0.5, 0.5])
    success = np.array([[0.9, 0.1], [0.9, 0.1], [0.05, 0.8]])
    assert set(searched((weights, success, np.ones((3, 2))), (0.0, 0.0), 0.01, 2, 64)[0]) == {0, 2}


def test_a_route_is_tried_again_only_where_that_is_allowed() -> None:
    success, dollars = np.array([[0.6], [0.1]]), np.array([[1.0], [1.0]])
    again = Steps.of(np.ones(1), success, dollars, most=np.array([3, 1]), likeness=0.0)
    levels = search(again, 0.05, 3)
    found = best(levels, lambda s, c: s - 0.05 * c)
    assert found is not None
    assert found.routes == (0, 0, 0)
    assert found.success == pytest.approx(1 - 0.4**3)
    assert max((row == 1).sum() for level in levels for row in level.routes) == 1
    same = search(Steps.of(np.ones(1), success, dollars, most=np.array([3, 1]), likeness=1.0), 0.05, 3)
    found = best(same, lambda s, c: s - 0.05 * c)
    assert found is not None
    assert found.routes.count(0) == 1  # what failed once would fail again


@pytest.mark.parametrize("n", [65, 100, 1000])
def test_of_routes_that_are_all_alike_the_first_are_kept(n: int) -> None:
    levels = search(Steps.of(np.ones(1), np.full((n, 1), 0.5), np.ones((n, 1))), 0.0, 3)
    assert levels[0].routes.ravel().tolist() == list(range(64))
    found = best(levels, lambda success, cost: success)
    assert found is not None
    assert found.routes == (0, 1, 2)
