from __future__ import annotations

import json

import pytest

from hmrouter.costs import Cost, RouteCosts
from hmrouter.dataset import Dataset
from hmrouter.state import State
from hmrouter.types import Outcome, Route, Status, Task

BIG_A, BIG_B = Route("big", "a"), Route("big", "b")
SMALL_A, SMALL_B = Route("small", "a"), Route("small", "b")


def costs(**dollars: float) -> RouteCosts:
    out = RouteCosts()
    for name, value in dollars.items():
        model, harness = name.split("_")
        out.add(Route(model, harness), value)
    return out


def assert_about(cost: Cost, dollars: float, basis: str) -> None:
    assert cost.dollars == pytest.approx(dollars)
    assert cost.basis == basis


def test_a_run_route_costs_its_mean() -> None:
    cells = [(SMALL_A, "t", 1.0), (SMALL_A, "u", 3.0), (SMALL_B, "t", None)]
    fitted = RouteCosts.fit(Dataset([Outcome(Task(t), r, 1.0, cost=c) for r, t, c in cells]))
    assert fitted.of(SMALL_A) == Cost(2.0, "route")
    assert_about(fitted.of(SMALL_B), 2.0, "model")  # run, but no cost was recorded
    fitted.observe(Outcome(Task("v"), SMALL_A, 0.0, cost=5.0))
    assert fitted.of(SMALL_A) == Cost(3.0, "route")


def test_a_pair_is_estimated_from_its_components() -> None:
    known = costs(big_a=4.0, small_a=1.0, tiny_a=0.5, big_b=8.0, small_b=2.0)
    # geometric means: model tiny 0.5; harness b 4; all (4 * 1 * .5 * 8 * 2) ** (1/5) = 2
    assert_about(known.of(Route("tiny", "b")), 0.5 * 4 / 2, "model+harness")


def test_one_known_component_gives_its_usual_cost() -> None:
    known = costs(big_a=4.0, big_b=9.0, small_a=1.0)
    assert_about(known.of(Route("big", "new")), 6.0, "model")  # the geometric mean
    assert_about(known.of(Route("new", "a")), 2.0, "harness")
    assert known.of(Route("new", "new")) == Cost(None, "unknown")


def test_nothing_known() -> None:
    assert RouteCosts().of(BIG_A) == Cost(None, "unknown")
    assert RouteCosts.fit(Dataset([Outcome(Task("t"), BIG_A, 1.0)])).of_all([BIG_A]) == [Cost(None, "unknown")]


def test_a_free_route_is_free_and_its_relatives_are_cheap() -> None:
    free = costs(local_a=0.0, big_a=4.0)
    assert free.of(Route("local", "a")) == Cost(0.0, "route")
    estimate = free.of(Route("local", "b")).dollars
    assert estimate is not None
    assert 0.0 < estimate <= 1e-4 * 1.0001


def test_a_run_that_did_not_end_has_no_usual_cost() -> None:
    known = costs(big_a=4.0)
    for status in (Status.INFRA_ERROR, Status.UNKNOWN):
        known.observe(Outcome(Task("t"), BIG_A, None, status=status, cost=100.0))
        known.observe(Outcome(Task("t"), SMALL_B, None, status=status, cost=100.0))
    known.observe(Outcome(Task("t"), BIG_A, 1.0))  # a cost that is not known changes nothing either
    assert known.of_all([BIG_A, SMALL_B]) == [Cost(4.0, "route"), Cost(None, "unknown")]


def test_many_at_once_equal_one_by_one() -> None:
    known = costs(big_a=4.0, small_a=1.0, small_b=2.0)
    routes = [BIG_A, BIG_B, SMALL_A, SMALL_B, Route("new", "a"), Route("new", "new")]
    assert known.of_all(routes) == [known.of(r) for r in routes]


def test_state_is_exact() -> None:
    known = costs(big_a=0.1, small_a=0.7, small_b=1 / 3)
    known.add(BIG_A, 0.2)
    state = known.state()
    loaded = RouteCosts.from_state(State(state.arrays, json.loads(json.dumps(state.meta))))
    assert loaded.of_all([BIG_A, BIG_B, SMALL_B]) == known.of_all([BIG_A, BIG_B, SMALL_B])
