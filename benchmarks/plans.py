"""Planning: a beam search over sequences of attempts against all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.ratio import Ratio
from benchmarks.timing import speedup
from hmrouter.plan.difficulty import Difficulty
from hmrouter.plan.search import BestSequence, best, search
from hmrouter.plan.steps import Steps
from hmrouter.types import Route

ROUTES = 300
ATTEMPTS = 3
COST_WEIGHT = 0.1


def simulate(n: int) -> Steps:
    """A pool in which dearer routes are better, with the usual difficulty of tasks."""
    rng = np.random.default_rng(0)
    routes = [Route(f"model-{i // 3}", f"harness-{i % 3}") for i in range(n)]
    success = rng.beta(2.0, 2.0, n)
    dollars = np.exp(3.0 * success + rng.normal(0.0, 0.7, n) - 2.0)
    scenarios = Difficulty(model=0.2, harness=0.3).scenarios(routes)
    return Steps.of(scenarios.weights, scenarios.success(success), scenarios.dollars(dollars))


def planned(steps: Steps) -> BestSequence | None:
    """As a router does it."""
    return best(search(steps, COST_WEIGHT, ATTEMPTS), lambda success, cost: success - COST_WEIGHT * cost)


def brute_force(steps: Steps) -> float:
    """The best value of all sequences without repeats, one block of them per first attempt, all in matrix products."""
    go, weights = steps.goes_on[0], steps.weights
    gain = (steps.delivers[0] - COST_WEIGHT * steps.dollars).T  # (scenarios, routes)
    n, most = len(go), -np.inf
    for first in range(n):
        reach = weights * go[first]
        start = float(weights @ gain[:, first])
        two = start + reach @ gain
        three = two[:, None] + (reach * go) @ gain
        two[first] = -np.inf
        three[first], three[:, first] = -np.inf, -np.inf
        np.fill_diagonal(three, -np.inf)
        most = max(most, start, float(two.max()), float(three.max()))
    return most


def against_brute_force() -> Iterator[Ratio]:
    """Time of a plan as a share of that of looking at every sequence, and how far its value is from the best."""
    steps = simulate(ROUTES)
    found = planned(steps)
    value = -np.inf if found is None else found.success - COST_WEIGHT * found.cost
    yield Ratio(
        "plan_value_lost", brute_force(steps) - value, f"best value - the beam's, {ROUTES} routes, {ATTEMPTS} attempts",
        at_most=0.01,
    )  # fmt: skip
    faster = speedup(lambda: planned(steps), lambda: brute_force(steps), rounds=5, times=5)
    yield Ratio(
        "plan_vs_brute_force", 1.0 / faster, f"beam / all sequences, {ROUTES} routes, {ATTEMPTS} attempts",
        at_most=0.01,
    )  # fmt: skip
