"""`budget_per_task`: find the cost weight that keeps an average cost per task, on reference tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hmrouter.decide.policy import show_dollars
from hmrouter.errors import NoRoute
from hmrouter.state import Floats
from hmrouter.types import Route

STEPS = 60
"""Halvings of the search interval: the weight is found to the last bits of a float."""

MOST_REFERENCES = 256
"""Tasks that a router keeps to solve budgets on."""
REFERENCE_NUMBERS = 2**17
"""Most numbers in the vectors of these tasks, so that the file stays small: half a megabyte or one."""


class Spending(NamedTuple):
    """A cost weight, and the expected dollars per reference task of the choices that it makes."""

    cost_weight: float
    per_task: float


def weight_for(budget: float, routes: Sequence[Route], merit: Floats, dollars: Floats) -> Spending:
    """Find the smallest cost weight whose choices cost at most `budget` per reference task, in expectation.

    `merit` and `dollars`: (tasks, routes); a route that may not be chosen for a task has infinite or unknown (NaN)
    dollars there, and a task without any route does not count. What a weight buys falls in steps, from one set of
    choices to the next, so the spending may stay below the budget. 0 where the best choices are within it.

    >>> routes = [Route("small", "codex"), Route("big", "codex")]
    >>> merit = np.array([[0.5, 0.6], [0.2, 0.8]])
    >>> found = weight_for(1.5, routes, merit, np.array([[1.0, 2.0], [1.0, 2.0]]))
    >>> round(found.cost_weight, 3), found.per_task
    (0.1, 1.5)
    """
    price = np.where(np.isfinite(dollars), dollars, np.inf)
    counted = np.isfinite(price).any(axis=1)
    if not counted.any():
        return Spending(0.0, 0.0)
    order = np.argsort(price[counted], axis=1, kind="stable")  # the cheaper of equals comes first, as in a ranking
    merit, price = (np.take_along_axis(a[counted], order, axis=1) for a in (merit, price))
    rows = np.arange(len(price))

    def spending(weight: float) -> float:
        value = np.where(np.isinf(price), -np.inf, merit - weight * np.where(np.isinf(price), 0.0, price))
        return float(price[rows, value.argmax(axis=1)].mean())

    least = float(price[:, 0].mean())
    if least > budget:
        raise NoRoute(
            f"no choice keeps to a budget of {show_dollars(budget)} per task: the cheapest, mostly "
            f"{routes[int(np.bincount(order[:, 0]).argmax())]}, cost about {show_dollars(least)}",
            argument="budget_per_task",
            hint="raise_or_widen",
        )
    if (free := spending(0.0)) <= budget:
        return Spending(0.0, free)
    low, high = 0.0, 1.0
    while spending(high) > budget:
        if high > 1e12:  # only a difference of no dollars at all is left
            return Spending(high, least)
        low, high = high, high * 4.0
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if spending(middle) <= budget else (middle, high)
    return Spending(high, spending(high))


def reference_sample(x: Floats) -> Floats:
    """Sample task vectors (tasks, dims) evenly over their order, fewer of long vectors.

    >>> reference_sample(np.arange(600.0)[:, None]).shape
    (256, 1)
    """
    most = min(MOST_REFERENCES, max(16, REFERENCE_NUMBERS // max(1, x.shape[1])))
    return x if len(x) <= most else x[np.linspace(0, len(x) - 1, most).astype(int)]
