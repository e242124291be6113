"""What runs on a task cost says what the next one will: its own dollars and seconds."""

from __future__ import annotations

import numpy as np
import pytest

from hmrouter import Dataset, Router
from hmrouter.costs.on_task import PRIOR_TASKS, SHARED, USUAL, Spread, TaskCosts
from hmrouter.types import Outcome, Route, Task

A, B = Route("claude-opus-4-5", "claude-code"), Route("gpt-5", "codex")
NIGHTLY = Task("nightly", text="Nightly: rebuild the search index")
AS_USUAL = (1.0, 1.0)


def work(tasks: int = 40, seed: int = 0) -> list[Outcome]:
    """Tasks that are dearer or cheaper for both routes, which cost about $2 and $0.50; sds of logs are .5, .3, .4."""
    rng, out = np.random.default_rng(seed), []
    for i in range(tasks):
        common = 0.5 * rng.normal()
        for route, usual in ((A, 2.0), (B, 0.5)):
            cost = usual * np.exp(common + 0.3 * rng.normal() + 0.4 * rng.normal())
            out.append(Outcome(Task(f"t{i}", text=f"Do the thing {i}"), route, 1.0, cost=float(cost), seconds=60.0))
    return out


def fitted(tasks: int = 40) -> TaskCosts:
    data = Dataset(work(tasks))
    return TaskCosts.fit(data, [data.cells.cost, data.cells.seconds])


def runs(task: Task, route: Route, cost: float, n: int) -> list[Outcome]:
    return [Outcome(task, route, 1.0, cost=cost, seconds=6.0, trial=str(i)) for i in range(n)]


def dollars(router: Router, task: str | Task, route: Route = A) -> float:
    cost = router.route(task, pool=[route]).best.cost
    assert cost is not None
    return cost


def test_a_task_that_was_always_cheap_is_expected_to_be() -> None:
    router = Router().fit(Dataset([*work(), *runs(NIGHTLY, A, 0.1, 10)]))
    assert dollars(router, NIGHTLY.text) == pytest.approx(0.1, rel=0.6)
    assert dollars(router, "Something new") > 1.5
    # The other pair never ran on it: it is expected to be cheaper than usual, too, but less is known.
    own, other = (dollars(router, NIGHTLY, r) / dollars(router, "Something new", r) for r in (A, B))
    assert own < other < 0.8
    seconds = router.route(NIGHTLY, pool=[A]).best.seconds
    assert seconds is not None
    assert seconds < 20.0


def test_one_run_tells_less_than_ten_and_counts_at_once() -> None:
    router = Router().fit(Dataset(work()))
    costs = [dollars(router, NIGHTLY.text)]
    for _ in range(10):
        router.observe(Outcome(NIGHTLY, A, 1.0, cost=0.1))
        costs.append(dollars(router, NIGHTLY.text))
    assert costs == sorted(costs, reverse=True)
    assert 0.1 < costs[1] < 0.8 * costs[0]
    assert costs[10] < 0.25


def test_plans_know_what_the_task_costs() -> None:
    router = Router().fit(Dataset([*work(), *runs(NIGHTLY, A, 0.1, 10)]))
    here, elsewhere = (router.plan(t, pool=[A], attempts=1).attempts[0].cost for t in (NIGHTLY, "Something new"))
    assert here == dollars(router, NIGHTLY)
    assert elsewhere == dollars(router, "Something new")


def test_saved_and_loaded_it_says_the_same() -> None:
    costs = fitted()
    grown = costs.after(NIGHTLY, A, (0.1, None)).after(Task("t3"), B, (5.0, 600.0))
    loaded = TaskCosts.from_state(grown.state())
    for task in (NIGHTLY, Task("t3"), Task("x", text="Do the thing 3"), Task("t4")):
        here, there = (c.factors(task, [A, B], AS_USUAL) for c in (grown, loaded))
        assert here is not None
        assert there is not None
        assert np.array(there) == pytest.approx(np.array(here), rel=1e-6)
    assert costs.factors(NIGHTLY, [A, B], AS_USUAL) is None  # an older state stays as it was
    assert grown.factors(Task("never"), [A, B], AS_USUAL) is None


def test_a_route_whose_mean_alone_is_known_says_nothing_of_a_task() -> None:
    means = [Outcome(o.task, o.route, o.score, cost=o.cost, cost_is_route_mean=True) for o in work()]
    router = Router().fit(Dataset(means))
    assert dollars(router, Task("t3")) == dollars(router, "Something new")


def test_variances_are_learned_and_few_tasks_keep_the_usual_ones() -> None:
    known = fitted(2000).spreads[0]
    assert known.task == pytest.approx(0.25, abs=0.03)
    assert sum(known) == pytest.approx(0.25 + 0.09 + 0.16, abs=0.04)
    assert Spread.learn(np.zeros(0), np.zeros(0, dtype=np.int64)) == Spread()
    one = Spread.learn(np.array([0.1]), np.array([0]))
    assert sum(one) == pytest.approx((0.01 + PRIOR_TASKS * USUAL) / (1 + PRIOR_TASKS))
    assert one.task == pytest.approx(SHARED * sum(one))


def test_known_runs_make_expected_costs_better() -> None:
    """The squared log error of the next run's cost, with one earlier run of the other pair and without."""
    rng, costs = np.random.default_rng(1), fitted(400)
    errors = []
    for i in range(300):
        common = 0.5 * rng.normal()
        other, own = (common + 0.3 * rng.normal() + 0.4 * rng.normal() for _ in range(2))
        task = Task(f"new-{i}")
        known = costs.after(task, B, (0.5 * float(np.exp(other)), None)).factors(task, [A], AS_USUAL)
        assert known is not None
        errors.append((own - np.log(known[0][0]), own))
    mine, usual = np.array(errors).T
    assert (mine**2).mean() < 0.9 * (usual**2).mean()
