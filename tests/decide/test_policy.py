"""Success and cost -> choice: the laws of the ranking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.costs import Cost
from hmrouter.decide.policy import Policy, show_dollars
from hmrouter.errors import NoRoute, UsageError
from hmrouter.types import Route

UNKNOWN = Cost(None, "unknown")
# Multiples of powers of two, so that success - weight * cost is exact and a tie is a tie.
GRID = st.integers(0, 64).map(lambda n: n / 64)
WEIGHT = st.integers(0, 32).map(lambda n: n / 16)
CANDIDATES = st.lists(st.tuples(GRID, GRID), min_size=1, max_size=8)


def routes(n: int) -> list[Route]:
    return [Route(f"model-{i}", "codex") for i in range(n)]


def known(dollars: list[float]) -> list[Cost]:
    return [Cost(d, "route") for d in dollars]


def best(policy: Policy, candidates: list[tuple[float, float]]) -> int:
    success, dollars = np.array([s for s, _ in candidates]), [c for _, c in candidates]
    return int(policy.rank(routes(len(candidates)), success, known(dollars)).order[0])


@given(CANDIDATES, WEIGHT)
def test_the_order_is_that_of_value_then_price_then_name(candidates: list[tuple[float, float]], weight: float) -> None:
    pool = routes(len(candidates))[::-1]
    success, dollars = np.array([s for s, _ in candidates]), [c for _, c in candidates]
    ranking = Policy(weight).rank(pool, success, known(dollars))
    expected = sorted(range(len(pool)), key=lambda i: (weight * dollars[i] - success[i], dollars[i], str(pool[i])))
    assert ranking.order.tolist() == expected
    assert ranking.excluded == {}


@given(CANDIDATES, WEIGHT, WEIGHT)
def test_a_larger_weight_never_chooses_a_dearer_route(
    candidates: list[tuple[float, float]], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assert candidates[best(Policy(high), candidates)][1] <= candidates[best(Policy(low), candidates)][1]
    assert candidates[best(Policy(high), candidates)][0] <= candidates[best(Policy(low), candidates)][0]


@given(CANDIDATES, WEIGHT, GRID)
def test_the_cap_holds(candidates: list[tuple[float, float]], weight: float, cap: float) -> None:
    dollars = [c for _, c in candidates]
    if min(dollars) > cap:
        with pytest.raises(
            NoRoute, match=rf"no route of {len(dollars)} costs at most \${cap:g} per task; the cheapest is"
        ):
            best(Policy(weight, cap), candidates)
        return
    chosen = best(Policy(weight, cap), candidates)
    assert dollars[chosen] <= cap
    left = [c for c in candidates if c[1] <= cap]
    assert candidates[chosen] == left[best(Policy(weight), left)]  # the dearer ones change nothing else


def test_a_route_of_unknown_cost_competes_only_where_cost_does_not_matter() -> None:
    pool, success, costs = routes(3), np.array([0.9, 0.5, 0.5]), [UNKNOWN, UNKNOWN, Cost(1.0, "model")]
    assert Policy().rank(pool, success, costs).order.tolist() == [0, 2, 1]  # and loses a tie
    for policy in (Policy(cost_weight=0.1), Policy(max_cost=2.0)):
        ranking = policy.rank(pool, success, costs)
        assert ranking.order.tolist() == [2]
        assert ranking.excluded == {"cost unknown": 2}
    both = Policy(max_cost=2.0).rank(pool, success, [Cost(3.0, "route"), UNKNOWN, Cost(1.0, "model")])
    assert both.excluded == {"over max_cost": 1, "cost unknown": 1}


def test_refusals_name_the_next_step() -> None:
    pool, success = routes(2), np.array([0.5, 0.5])
    with pytest.raises(NoRoute, match="none of the 2 routes has a known cost, so no cap, cost weight or budget can be"):
        Policy(max_cost=5.0).rank(pool, success, [UNKNOWN, UNKNOWN])
    with pytest.raises(NoRoute, match=r"the cheapest is codex:model-1 at about \$1250\.00; raise max_cost or widen"):
        Policy(max_cost=5.0).rank(pool, success, known([2000.0, 1250.0]))
    with pytest.raises(NoRoute, match="the pool is empty"):
        Policy().rank([], np.array([]), [])


def test_the_settings_of_a_call() -> None:
    own = Policy(cost_weight=0.2, max_cost=3.0)
    assert own.given(cost_weight=None, max_cost=None) == own
    assert own.given(max_cost=1.0) == Policy(cost_weight=0.2, max_cost=1.0)
    assert own.given(budget_per_task=1.5) == Policy(budget_per_task=1.5, max_cost=3.0)
    assert Policy(budget_per_task=1.5).given(cost_weight=0.3) == Policy(cost_weight=0.3)
    assert Policy(budget_per_task=1.5).given(max_cost=2.0) == Policy(budget_per_task=1.5, max_cost=2.0)
    with pytest.raises(UsageError, match=r"cost_weight 0\.1 contradicts a budget"):
        own.given(cost_weight=0.1, budget_per_task=1.0)


def test_a_budget_keeps_routes_of_unknown_cost_out_even_if_it_asks_for_no_weight() -> None:
    pool, success, costs = routes(2), np.array([0.9, 0.5]), [UNKNOWN, Cost(1.0, "model")]
    ranking = Policy(budget_per_task=2.0).rank(pool, success, costs, cost_weight=0.0)
    assert (ranking.order.tolist(), ranking.excluded) == ([1], {"cost unknown": 1})


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_settings_that_make_no_sense(value: float) -> None:
    with pytest.raises(UsageError, match=f"cost_weight {value} is not a finite number of at least 0"):
        Policy(cost_weight=value)
    with pytest.raises(UsageError, match=f"max_cost {value} is not a finite number of at least 0"):
        Policy(max_cost=value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "$0"), (0.00004, "$0.00004"), (0.0123, "$0.012"), (0.0999, "$0.10"), (2.0, "$2.00"), (15000.0, "$15000.00")],
)
def test_dollars_for_people(value: float, shown: str) -> None:
    assert show_dollars(value) == shown
