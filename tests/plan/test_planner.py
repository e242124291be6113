"""Plans of real routers: the same choice as `route` for one attempt, honest promises, and the awkward cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmrouter.bench.benchmarks.worlds import World, demo_world
from hmrouter.decide.policy import Policy
from hmrouter.errors import NoRoute, NotFitted, UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.plan import Goal, VerifierErrors
from hmrouter.plan.document import to_dict
from hmrouter.router import Router
from hmrouter.types import Outcome, Route, Task

TEXT = "Fix the failing unit test in the parser module: the retry logic raises an unexpected exception."


@pytest.fixture(scope="module")
def world() -> World:
    return demo_world(n_tasks=120)


@pytest.fixture(scope="module")
def router(world: World) -> Router:
    """Two of the twelve routes were never run, the others on six of ten tasks."""
    seen = world.routes[:-2]
    return Router().fit(Dataset((o for o in world.outcomes(0.6) if o.route in seen), routes=world.routes))


@pytest.mark.parametrize("scorer", ["safe", "fixed", "knn"])
@pytest.mark.parametrize("weight", [0.0, 0.01, 0.1, 0.3, 1.0, 10.0])
def test_one_attempt_with_a_perfect_verifier_is_the_choice_of_the_policy(
    world: World, router: Router, scorer: str, weight: float
) -> None:
    if scorer != "safe":
        router = Router(scorer).fit(Dataset(world.outcomes(0.6)))
    for text in (TEXT, "Translate the handbook chapter of the museum on opening hours.", ""):
        (attempt,) = router.plan(text, attempts=1, goal=Goal(weight)).attempts
        chosen = router.route(text, cost_weight=weight)
        assert attempt.route == chosen.route
        assert attempt.plan_success == pytest.approx(chosen.success, abs=1e-9)
        assert attempt.plan_cost == pytest.approx(chosen.cost)
        assert (attempt.evidence, attempt.observed) == (chosen.evidence, chosen.observed)
        assert attempt.reached == pytest.approx(1.0)


def solved(task: int, route: int, rng: np.random.Generator, ease: np.ndarray, levels: list[float]) -> float:
    return float(rng.random() < 1 / (1 + np.exp(-3.0 * ease[task] - levels[route])))


def test_promises_hold_on_fresh_tasks_of_a_world_where_tasks_differ_in_difficulty() -> None:
    levels, dollars = [-1.0, 0.0, 1.0, 2.0], [0.1, 0.3, 1.0, 3.0]
    routes = [Route(f"model-{i}", "codex") for i in range(4)]
    rng = np.random.default_rng(0)
    ease = rng.normal(0.0, 1.0, 1000)
    seen = [
        Outcome(Task(f"t{i}"), route, solved(i, j, rng, ease, levels), cost=dollars[j])
        for i in range(200) for j, route in enumerate(routes)
    ]  # fmt: skip
    plan = Router().fit(Dataset(seen)).plan(goal=Goal(0.02))
    assert len(plan.routes) == 3
    real = spent = 0.0
    for i in range(200, 1000):
        for route in plan.routes:
            spent += dollars[routes.index(route)]
            if solved(i, routes.index(route), rng, ease, levels):
                real += 1
                break
    assert plan.success == pytest.approx(real / 800, abs=0.06)
    assert plan.cost == pytest.approx(spent / 800, rel=0.2)
    independent = 1 - float(np.prod([1 - a.success for a in plan.attempts]))
    assert independent > real / 800 + 0.06


def test_every_prefix_is_told_and_intervals_hold_the_promise(router: Router) -> None:
    plan = router.plan(TEXT, goal=Goal(0.05), verifier=VerifierErrors(0.05, 0.05))
    assert 1 < len(plan.attempts) <= 3
    success, cost = [a.plan_success for a in plan.attempts], [a.plan_cost for a in plan.attempts]
    assert success == sorted(success)
    assert cost == sorted(c for c in cost if c is not None)
    assert (plan.success, plan.cost) == (success[-1], cost[-1])
    reached = [a.reached for a in plan.attempts]
    assert reached[0] == pytest.approx(1.0)
    assert reached == sorted(reached, reverse=True)
    for a in plan.attempts:
        assert a.plan_interval is not None
        assert a.plan_cost_interval is not None
        assert a.plan_interval[0] < a.plan_success < a.plan_interval[1]
        assert a.plan_cost is not None
        assert a.plan_cost_interval[0] < a.plan_cost < a.plan_cost_interval[1]
    assert plan.interval == plan.attempts[-1].plan_interval
    assert plan.cost_interval == plan.attempts[-1].plan_cost_interval


def test_a_worse_verifier_promises_less(router: Router) -> None:
    perfect, noisy = router.plan(TEXT), router.plan(TEXT, verifier=VerifierErrors(0.1, 0.1))
    assert noisy.success < perfect.success
    assert (noisy.false_pass, noisy.false_fail) == (0.1, 0.1)


def test_a_scorer_without_a_posterior_gives_no_interval(world: World) -> None:
    plan = Router("knn").fit(Dataset(world.outcomes(0.6))).plan(TEXT)
    assert plan.interval is None
    assert plan.cost_interval is None


def test_budget_target_and_cap_are_kept(router: Router) -> None:
    assert (router.plan(TEXT, goal=Goal(budget=0.5)).cost or 9.0) <= 0.5
    assert router.plan(TEXT, goal=Goal(target=0.7)).success >= 0.7
    capped = router.plan(TEXT, max_cost=0.6)
    assert all((a.cost or 9.0) <= 0.6 for a in capped.attempts)
    assert capped.excluded["over max_cost"] > 0
    assert {r.harness for r in router.plan(TEXT, deny=["harness=terminal-loop"]).routes} <= {
        "browser-pilot", "office-planner",
    }  # fmt: skip


def test_the_policy_of_the_router_is_the_default_goal(world: World) -> None:
    data = Dataset(world.outcomes(0.6))
    weighed = Router(policy=Policy(cost_weight=0.5)).fit(data)
    assert (
        weighed.plan(TEXT).routes == weighed.plan(TEXT, goal=Goal(0.5)).routes != weighed.plan(TEXT, goal=Goal()).routes
    )
    budget = Router(policy=Policy(budget_per_task=0.4)).fit(data).plan(TEXT)
    assert budget.budget == 0.4
    assert (budget.cost or 9.0) <= 0.4


def test_repeated_runs_let_a_plan_try_again(world: World) -> None:
    good, poor = Route("big", "codex"), Route("small", "codex")
    rng = np.random.default_rng(0)
    runs = [
        Outcome(Task(f"t{i}"), route, float(rng.random() < p), cost=1.0, trial=str(k))
        for i in range(60) for route, p in ((good, 0.6), (poor, 0.05)) for k in range(3)
    ]  # fmt: skip
    assert Router().fit(Dataset(runs)).plan(goal=Goal(0.1)).routes == (good, good, good)
    once = [o for o in runs if o.trial == "0"]
    assert Router().fit(Dataset(once)).plan().routes.count(good) == 1


def test_without_any_cost_a_plan_is_for_success_alone(world: World) -> None:
    outcomes = [Outcome(o.task, o.route, o.score) for o in world.outcomes(0.6)]
    router = Router().fit(Dataset(outcomes))
    plan = router.plan(TEXT)
    assert len(plan.attempts) == 3
    assert (plan.cost, plan.cost_interval, plan.attempts[0].cost) == (None, None, None)
    for goal in (Goal(0.1), Goal(budget=1.0), Goal(target=0.5)):
        with pytest.raises(NoRoute, match="none of the 12 routes has a known cost"):
            router.plan(TEXT, goal=goal)


def test_one_route_is_one_attempt() -> None:
    outcomes = [Outcome(Task(f"t{i}"), Route("gpt-5", "codex"), float(i % 2), cost=1.0) for i in range(8)]
    plan = Router().fit(Dataset(outcomes)).plan("anything")
    assert plan.routes == (Route("gpt-5", "codex"),)
    assert plan.n_candidates == 1


def test_where_everything_succeeds_the_cheapest_comes_first() -> None:
    outcomes = [
        Outcome(Task(f"t{i}"), Route("gpt-5", h), 1.0, cost=c)
        for i in range(50)
        for h, c in (("codex", 2.0), ("aider", 1.0))
    ]
    plan = Router("fixed").fit(Dataset(outcomes)).plan(goal=Goal(0.01))
    assert plan.routes[0] == Route("gpt-5", "aider")
    assert plan.success > 0.99
    assert (plan.cost or 9.0) < 1.02


def test_pairs_never_run_are_planned_with_caution(world: World, router: Router) -> None:
    never = world.routes[-1]
    plan = router.plan(TEXT, pool=[never])
    assert not plan.attempts[0].observed
    assert plan.success == pytest.approx(router.route(TEXT, pool=[never]).success)


def test_a_router_that_was_kept_plans_the_same(router: Router, tmp_path: Path) -> None:
    router.save(tmp_path / "router.hmr")
    again = Router.load(tmp_path / "router.hmr")
    one, two = (to_dict(r.plan(TEXT, goal=Goal(0.1))) | {"id": ""} for r in (router, again))
    assert one == two


def test_it_says_what_is_missing(router: Router) -> None:
    with pytest.raises(NotFitted):
        Router().plan(TEXT)
    with pytest.raises(UsageError, match="attempts 0 is not a number from 1 to 10"):
        router.plan(TEXT, attempts=0)
    with pytest.raises(NoRoute, match="no route of 12 costs at most"):
        router.plan(TEXT, max_cost=0.0001)
