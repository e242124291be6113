"""Budgets and targets against all sequences of small pools."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrouter.errors import NoRoute, UsageError
from hmrouter.plan import Goal
from hmrouter.plan.search import search
from hmrouter.plan.steps import Steps


def pool(n: int, seed: int) -> Steps:
    rng = np.random.default_rng(seed)
    good = rng.normal(0.0, 1.0, (n, 1)) + rng.normal(1.0, 0.5, (n, 1)) * np.linspace(-3, 3, 5)
    dollars = np.exp(good.mean(axis=1, keepdims=True) + rng.normal(0, 0.5, (n, 5)))
    return Steps.of(rng.dirichlet(np.ones(5)), 1 / (1 + np.exp(-good)), dollars)


def everything(steps: Steps, attempts: int) -> tuple[np.ndarray, np.ndarray]:
    levels = search(steps, 0.0, attempts, width=None)
    return np.concatenate([v.success for v in levels]), np.concatenate([v.cost for v in levels])


@settings(max_examples=50)
@given(st.integers(1, 5), st.integers(0, 10_000), st.floats(0.0, 1.2), st.integers(1, 3))
def test_a_budget_is_kept_and_buys_the_most(n: int, seed: int, share: float, attempts: int) -> None:
    steps = pool(n, seed)
    success, cost = everything(steps, attempts)
    budget = float(cost.min() + share * (cost.max() - cost.min()))
    found = Goal(budget=budget).serve(steps, attempts)
    assert found.cost <= budget + 1e-9
    assert found.success == pytest.approx(success[cost <= budget + 1e-12].max(), abs=1e-9)


@settings(max_examples=50)
@given(st.integers(1, 5), st.integers(0, 10_000), st.floats(0.01, 1.0), st.integers(1, 3))
def test_a_target_is_reached_for_the_least(n: int, seed: int, share: float, attempts: int) -> None:
    steps = pool(n, seed)
    success, cost = everything(steps, attempts)
    target = float(share * success.max())
    found = Goal(target=target).serve(steps, attempts)
    assert found.success >= target - 1e-9
    assert found.cost == pytest.approx(cost[success >= target - 1e-12].min(), abs=1e-9)


def test_of_a_large_pool_a_budget_and_a_target_are_kept() -> None:
    steps = pool(60, 1)
    bought = Goal(budget=0.5).serve(steps)
    assert bought.cost <= 0.5
    again = Goal(target=bought.success).serve(steps)
    assert again.cost <= bought.cost + 1e-9
    assert Goal(budget=1e6).serve(steps).success >= Goal(budget=1.0).serve(steps).success > bought.success


def test_a_budget_below_the_cheapest_attempt_is_refused_in_a_line() -> None:
    steps = Steps.of(np.ones(1), np.array([[0.5], [0.6]]), np.array([[2.0], [3.0]]))
    with pytest.raises(NoRoute, match=r"^no attempt costs at most \$1.00; the cheapest costs about \$2.00: raise"):
        Goal(budget=1.0).serve(steps)


def test_a_target_out_of_reach_names_what_is_in_reach() -> None:
    steps = Steps.of(np.ones(1), np.array([[0.5], [0.5]]), np.ones((2, 1)))
    with pytest.raises(NoRoute, match=r"^no plan of at most 3 attempts reaches 99.9%; the best reaches about 75%"):
        Goal(target=0.999).serve(steps)


def test_a_budget_and_a_target_that_contradict_each_other_are_told() -> None:
    steps = Steps.of(np.ones(1), np.array([[0.5], [0.9]]), np.array([[1.0], [4.0]]))
    assert Goal(target=0.9, budget=4.0).serve(steps).routes == (0, 1)
    with pytest.raises(NoRoute, match=r"reaches 90% within \$2.00; the cheapest that does costs about \$3.00: change"):
        Goal(target=0.9, budget=2.0).serve(steps)


def test_free_routes_have_plans_too() -> None:
    steps = Steps.of(np.ones(1), np.array([[0.5], [0.9]]), np.zeros((2, 1)))
    assert Goal(budget=0.0).serve(steps).success == pytest.approx(0.95)
    assert Goal(target=0.9).serve(steps).cost == 0.0
    assert Goal(cost_weight=5.0).serve(steps).success == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"cost_weight": 0.1, "budget": 1.0}, "cost_weight 0.1 and a budget say two different things"),
        ({"cost_weight": 0.0, "target": 0.9}, "cost_weight 0.0 and a target say two different things"),
        ({"cost_weight": -1.0}, "cost_weight -1.0 is not a finite number of at least 0"),
        ({"budget": float("nan")}, "budget nan is not"),
        ({"target": 0.0}, "target 0.0 is not a success from 0 to 1"),
        ({"target": 90}, "target 90 is not"),
    ],
)
def test_goals_that_make_no_sense_are_refused(arguments: dict[str, float], line: str) -> None:
    with pytest.raises(UsageError, match=line):
        Goal(**arguments)


@pytest.mark.parametrize("attempts", [0, -1, 11])
def test_the_number_of_attempts_is_bounded(attempts: int) -> None:
    with pytest.raises(UsageError, match=f"attempts {attempts} is not a number from 1 to 10"):
        Goal().serve(pool(2, 0), attempts)
