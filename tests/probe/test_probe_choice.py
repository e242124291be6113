"""What is asked and what is chosen for it."""

from __future__ import annotations

import numpy as np
import pytest

from hmrouter.evidence.dataset import Dataset
from hmrouter.probe.aims import WATCHED, Best, Frontier, contrasts_of
from hmrouter.probe.posterior import Posterior
from hmrouter.probe.select import choose
from hmrouter.types import Route, Task

ROUTES = tuple(Route(f"m{i}", "h") for i in range(4))
TASKS = tuple(Task(f"t{i}") for i in range(30))
ORDER = np.arange(len(TASKS))
ALL = np.arange(len(ROUTES))


def posterior_of(*rates: tuple[int, int]) -> Posterior:
    """Every route with so many successes of so many runs, on tasks of its own."""
    posterior, task = Posterior.of(Dataset([], routes=ROUTES, tasks=TASKS)), 0
    for route, (good, runs) in enumerate(rates):
        for i in range(runs):
            posterior.add(task, route, float(i < good))
            task += 1
    return posterior


def test_the_leader_has_the_highest_mean_and_challengers_are_near_or_unknown() -> None:
    near, weights = contrasts_of(posterior_of((6, 7), (5, 7), (0, 7), (0, 7)), ALL)
    assert near[0].tolist() == [1.0, -1.0, 0.0, 0.0]
    assert near[:, 0].tolist() == [1.0, 1.0, 1.0]
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.5
    unknown, _ = contrasts_of(posterior_of((7, 9), (3, 9), (2, 9), (0, 0)), ALL)
    assert unknown[0].tolist() == [1.0, 0.0, 0.0, -1.0]
    alone, weights = contrasts_of(posterior_of((6, 7), (5, 7), (0, 7), (0, 7)), np.array([2]))
    assert (alone.tolist(), weights.tolist()) == ([[0.0, 0.0, 1.0, 0.0]], [1.0])


def test_a_run_whose_ending_is_all_but_certain_comes_later() -> None:
    # Task 0 was failed by two routes and task 1 had mixed endings: as much is known of both.
    posterior = Posterior.of(Dataset([], routes=ROUTES, tasks=TASKS[:2]))
    for task, route, score in ((0, 2, 0.0), (0, 3, 0.0), (1, 2, 1.0), (1, 3, 0.0)):
        posterior.add(task, route, score)
    told = Best(posterior).told(ALL)
    assert told.variance[0, 0] == pytest.approx(told.variance[1, 0])
    assert told.preferred[0, 0] < told.preferred[1, 0]


def test_what_is_hopeless_is_not_run() -> None:
    posterior = posterior_of((7, 8), (6, 8), (0, 8), (0, 6))
    chosen = choose(Best(posterior), posterior.run == 0.0, ORDER, runs=6)
    assert {c.route for c in chosen} <= {0, 1}


def test_a_batch_looks_at_more_than_two_routes_when_nothing_is_known() -> None:
    posterior = Posterior.of(Dataset([], routes=ROUTES, tasks=TASKS))
    chosen = choose(Best(posterior), posterior.run == 0.0, ORDER, runs=12)
    assert len({c.route for c in chosen}) >= 3
    assert len({(c.task, c.route) for c in chosen}) == 12


def test_gains_within_a_batch_count_what_came_before() -> None:
    posterior = posterior_of((6, 7), (5, 7), (0, 7), (0, 7))
    aim = Best(posterior)
    (first,) = choose(aim, posterior.run == 0.0, ORDER, runs=1)
    assert first.gain > 0.0
    contrasts, weights = contrasts_of(posterior, ALL)
    before, after = (
        np.sqrt(weights @ [c @ p.cov @ c for c in contrasts]) for p in (posterior, aim.posterior)
    )  # fmt: skip
    assert first.gain == pytest.approx(before - after)


def test_with_a_budget_it_is_the_gain_per_dollar_that_counts() -> None:
    posterior, free = posterior_of((6, 7), (5, 7), (0, 7), (0, 7)), np.ones((30, 4), dtype=bool)
    cost = np.array([10.0, 1.0, 1.0, 1.0])
    dear = choose(Best(posterior), free, ORDER, cost, budget=15.0)
    assert sum(cost[c.route] for c in dear) <= 15.0
    assert 0 not in {c.route for c in dear}
    assert 0 in {c.route for c in choose(Best(posterior), free, ORDER, runs=15)}
    assert len(choose(Best(posterior), free, ORDER, cost, budget=15.0, runs=3)) == 3
    assert choose(Best(posterior), free, ORDER, cost, budget=0.5) == []


def test_between_tasks_that_tell_the_same_the_order_decides() -> None:
    posterior = Posterior.of(Dataset([], routes=ROUTES, tasks=TASKS))
    (first,) = choose(Best(posterior), posterior.run == 0.0, ORDER[::-1], runs=1)
    assert first.task == len(TASKS) - 1


def test_it_ends_when_nothing_is_left() -> None:
    posterior, free = posterior_of((1, 2), (1, 2), (0, 0), (0, 0)), np.zeros((30, 4), dtype=bool)
    free[3:5, 1] = True
    assert len(choose(Best(posterior), free, ORDER, runs=9)) == 2


def test_a_frontier_also_asks_about_cheap_routes() -> None:
    # Route 0 is far ahead of all but 1, and dear like it; 2 and 3 are cheap, bad, and hard to tell apart.
    posterior = posterior_of((7, 7), (6, 7), (1, 7), (1, 7))
    free, cost = posterior.run == 0.0, np.array([5.0, 5.0, 0.1, 0.1])
    assert {c.route for c in choose(Best(posterior), free, ORDER, runs=8)} <= {0, 1}
    assert {2, 3} & {c.route for c in choose(Frontier(posterior, cost), free, ORDER, runs=8)}


def test_a_route_without_a_known_cost_is_not_on_the_frontier() -> None:
    posterior, cost = posterior_of((7, 7), (6, 7), (1, 7), (1, 7)), np.array([np.nan, np.nan, 0.1, 0.1])
    told = Frontier(posterior, cost).told(ALL)
    assert told.variance[29].argmax() in (2, 3)


def test_of_many_routes_the_ones_that_matter_are_looked_at() -> None:
    routes = [Route(f"m{i:02d}", "h") for i in range(WATCHED + 20)]
    posterior = Posterior.of(Dataset([], routes=routes, tasks=TASKS))
    for task in range(6):
        for route, good in ((40, 6), (50, 5), (3, 0)):
            posterior.add(task, route, float(task < good))
    told = Best(posterior).told(np.arange(len(routes)))
    assert len(told.routes) == WATCHED
    assert {40, 50} <= set(told.routes.tolist())
    some = np.array([7, 50])
    assert Best(posterior).told(some).routes.tolist() == [7, 50]
