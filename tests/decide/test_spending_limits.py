"""A budget per task: the cost weight that it asks for, and the choices that come of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hmrouter.decide.budgets import reference_sample, weight_for
from hmrouter.decide.policy import Policy
from hmrouter.errors import NoRoute, UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.router import Router
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

GRID = st.integers(0, 64).map(lambda n: n / 64)
SHAPE = st.tuples(st.integers(1, 6), st.integers(1, 5))


@st.composite
def questions(draw: st.DrawFn) -> tuple[Floats, Floats, float]:
    """Merit and dollars of tasks on routes, some of which may not be chosen, and a budget."""
    shape = draw(SHAPE)
    merit = draw(arrays.arrays(np.float64, shape, elements=GRID))
    dollars = draw(arrays.arrays(np.float64, shape, elements=GRID | st.just(np.nan)))
    return merit, dollars, draw(GRID)


def spend(merit: Floats, dollars: Floats, weight: float) -> float:
    """By the definition: the best value, the cheaper of equals; tasks without a route do not count."""
    paid = []
    for m, d in zip(merit, dollars, strict=True):
        may = [(-(mi - weight * di), di) for mi, di in zip(m, d, strict=True) if not np.isnan(di)]
        paid += [min(may)[1]] if may else []
    return float(np.mean(paid)) if paid else 0.0


def routes(n: int) -> list[Route]:
    return [Route(f"m{i}", "h") for i in range(n)]


@given(questions())
def test_the_budget_is_met_by_the_smallest_weight(question: tuple[Floats, Floats, float]) -> None:
    merit, dollars, budget = question
    known = dollars[~np.isnan(dollars).all(axis=1)]
    if len(known) and np.nanmin(known, axis=1).mean() > budget:
        with pytest.raises(NoRoute, match="no choice keeps to a budget"):
            weight_for(budget, routes(merit.shape[1]), merit, dollars)
        return
    found = weight_for(budget, routes(merit.shape[1]), merit, dollars)
    assert found.per_task <= budget
    assert found.cost_weight >= 0.0
    if found.cost_weight > 0.0:  # a little less weight and the choices cost more than the budget
        assert spend(merit, dollars, found.cost_weight * (1 - 1e-9)) > budget
        assert spend(merit, dollars, found.cost_weight * (1 + 1e-9)) == pytest.approx(found.per_task)
    else:
        assert found.per_task <= spend(merit, dollars, 0.0) + 1e-12


def test_the_refusal_names_the_cheapest() -> None:
    message = r"budget of \$0\.10 per task: the cheapest, mostly h:m1, cost about \$0\.50; raise budget_per_task or"
    with pytest.raises(NoRoute, match=message):
        weight_for(0.1, routes(2), np.array([[0.9, 0.1]]), np.array([[2.0, 0.5]]))


def test_equal_costs_and_no_known_cost() -> None:
    assert weight_for(1.0, routes(2), np.array([[0.9, 0.1]]), np.ones((1, 2))) == (0.0, 1.0)
    assert weight_for(1.0, routes(1), np.array([[0.9]]), np.array([[np.nan]])) == (0.0, 0.0)


def test_reference_tasks_are_few_and_spread() -> None:
    x = np.arange(1000.0)[:, None]
    sample = reference_sample(x)
    assert (len(sample), sample[0, 0], sample[-1, 0]) == (256, 0.0, 999.0)
    assert len(reference_sample(np.zeros((1000, 4096)))) == 32
    assert len(reference_sample(np.zeros((3, 5)))) == 3
    assert reference_sample(np.zeros((0, 5))).shape == (0, 5)


# -- in a router ------------------------------------------------------------------------------------------------------

CHEAP, MIDDLE, DEAR = Route("small", "codex"), Route("middle", "codex"), Route("big", "codex")


def fitted(costs: bool = True, **options: Any) -> Router:
    """Three routes of 10, 50 and 200 cents that solve 40, 60 and 70% of their tasks."""
    rates = {CHEAP: (0.4, 0.1), MIDDLE: (0.6, 0.5), DEAR: (0.7, 2.0)}
    made = [
        Outcome(Task(f"t{i}"), r, float(i % 10 < 10 * rate), cost=c if costs else None)
        for i in range(100)
        for r, (rate, c) in rates.items()
    ]
    return Router("fixed", **options).fit(Dataset(made))


@pytest.mark.parametrize(("budget", "chosen"), [(5.0, DEAR), (1.0, MIDDLE), (0.5005, MIDDLE), (0.2, CHEAP)])
def test_a_budget_buys_what_it_can(budget: float, chosen: Route) -> None:
    decision = fitted().route("Fix it", budget_per_task=budget)
    assert decision.route == chosen
    assert decision.budget_per_task == budget
    assert decision.spend_per_task is not None
    assert decision.spend_per_task <= budget
    assert (decision.cost_weight == 0.0) == (chosen == DEAR)
    same = fitted().route("Fix it", cost_weight=decision.cost_weight)
    assert [c.route for c in same.ranked] == [c.route for c in decision.ranked]


def test_a_budget_that_nothing_keeps_is_refused() -> None:
    with pytest.raises(NoRoute, match=r"no choice keeps to a budget of \$0\.05 per task.*mostly codex:small"):
        fitted().route("Fix it", budget_per_task=0.05)
    with pytest.raises(NoRoute, match="no route of 3 costs at most"):
        fitted().route("Fix it", budget_per_task=0.05, max_cost=0.01)
    with pytest.raises(NoRoute, match="none of the 3 routes has a known cost"):
        fitted(costs=False).route("Fix it", budget_per_task=1.0)


def test_a_budget_and_a_cap_hold_together() -> None:
    decision = fitted().route("Fix it", budget_per_task=5.0, max_cost=1.0)
    assert (decision.route, decision.excluded) == (MIDDLE, {"over max_cost": 1})
    assert decision.cost_weight == 0.0


def test_one_route_is_within_the_budget_or_not() -> None:
    assert fitted().route("Fix it", pool=[DEAR], budget_per_task=3.0).route == DEAR
    with pytest.raises(NoRoute, match="mostly codex:big"):
        fitted().route("Fix it", pool=[DEAR], budget_per_task=1.0)


def test_weight_and_budget_contradict_each_other_but_one_replaces_the_other() -> None:
    message = r"cost_weight 0\.5 contradicts a budget of \$1\.00 per task, .*; give one of them"
    with pytest.raises(UsageError, match=message):
        fitted().route("Fix it", cost_weight=0.5, budget_per_task=1.0)
    with pytest.raises(UsageError, match=message):
        Policy(cost_weight=0.5, budget_per_task=1.0)
    weighed, budgeted = fitted(policy=Policy(cost_weight=9.0)), fitted(policy=Policy(budget_per_task=1.0))
    assert weighed.route("Fix it", budget_per_task=1.0).route == MIDDLE
    assert budgeted.route("Fix it").route == MIDDLE
    assert budgeted.route("Fix it", cost_weight=0.0).route == DEAR
    with pytest.raises(UsageError, match=r"budget_per_task -1\.0 is not a finite number of at least 0"):
        fitted().route("Fix it", budget_per_task=-1.0)


def test_the_budget_is_solved_again_when_costs_change(tmp_path: Any) -> None:
    router = fitted(policy=Policy(budget_per_task=1.0))
    assert router.route("Fix it").route == MIDDLE
    router.save(tmp_path / "router.hmr")
    assert Router.load(tmp_path / "router.hmr").route("Fix it").cost_weight == router.route("Fix it").cost_weight
    for i in range(400):
        router.observe(Outcome(Task(f"n{i}"), MIDDLE, 0.6, cost=3.0))
    assert router.route("Fix it").route == CHEAP


def test_reference_tasks_may_be_given() -> None:
    router = fitted()
    assert router.route_all(["Fix it"], budget_per_task=1.0, reference=["Mend it", Task("t")])[0].route == MIDDLE


# -- max_cost ---------------------------------------------------------------------------------------------------------

CELL = st.tuples(st.integers(0, 9), st.integers(0, 2), st.booleans(), st.integers(1, 96))


@settings(max_examples=40)
@given(cells=st.lists(CELL, min_size=1, max_size=30), cap=st.integers(1, 96), budget=st.none() | st.integers(1, 96))
def test_the_chosen_routes_expected_cost_never_exceeds_the_cap(
    cells: list[tuple[int, int, bool, int]], cap: int, budget: int | None
) -> None:
    made = [
        Outcome(Task(str(t), text=f"task {t}"), Route(f"m{m}", "h"), float(won), cost=c / 32) for t, m, won, c in cells
    ]
    router = Router("fixed").fit(Dataset(made))
    pool = [Route(f"m{m}", h) for m in range(3) for h in ("h", "never-run")]
    try:
        decision = router.route(
            "task 3", pool=pool, max_cost=cap / 32, budget_per_task=None if budget is None else budget / 32
        )
    except NoRoute:
        return
    assert all(c.cost is not None and c.cost <= cap / 32 for c in decision.ranked)
    if budget is not None:
        assert decision.spend_per_task is not None
        assert decision.spend_per_task <= budget / 32


def test_the_cap_is_on_what_this_task_is_expected_to_cost() -> None:
    """Long tasks cost four times the short ones; a cap between the two leaves the dear route for short tasks only."""
    made = [
        Outcome(
            Task(f"t{i}", text=f"{'long ' * 60 if i % 2 else 'short'} {i}"),
            r,
            1.0 if r == DEAR else 0.5,
            cost=c * (4 if i % 2 else 1),
        )
        for i in range(60)
        for r, c in ((CHEAP, 0.1), (DEAR, 1.0))
    ]
    router = Router("fixed").fit(Dataset(made))
    assert router.snapshot.costs.by_text
    short, long = router.route_all(["short", "long " * 60], max_cost=2.0)
    assert (short.route, long.route) == (DEAR, CHEAP)
    assert long.excluded == {"over max_cost": 1}
    assert short.cost == pytest.approx(1.0, rel=0.2)
