"""Search the orders in which routes may be tried, with a beam, for the best sequence of attempts.

    value = sum_s w_s sum_j [prod_{i<j} N_{s, r_i}] (G_{s, r_j} - lambda C_{s, r_j})

A prefix needs only its reach, the vector over scenarios of w_s times the product, so that extending all prefixes by
all routes is one matrix product. With a width that no level exceeds, the search is exhaustive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hmrouter.plan.steps import Steps
from hmrouter.state import Floats, Ints

WIDTH = 64
"""Prefixes kept at each level: with up to 8 routes and three attempts, all of them."""
LEAST_WEIGHT = 1e-9
"""The cost weight where none is given: of sequences with the same success, the cheaper one wins."""
EQUAL = 1e-11
"""Values that differ by less than this are equal: the first in the order of the routes wins."""

Value = Callable[[Floats, Floats], Floats]
"""Turns (success, cost) of sequences into the value to maximise: -inf where a sequence is not allowed."""


@dataclass(frozen=True, slots=True)
class Level:
    """The kept sequences of one length."""

    routes: Ints
    """(sequences, length)."""
    success: Floats
    cost: Floats


@dataclass(frozen=True, slots=True)
class BestSequence:
    """A sequence of routes, with its success and its cost."""

    routes: tuple[int, ...]
    success: float
    cost: float


def search(steps: Steps, cost_weight: float, attempts: int, width: int | None = WIDTH) -> list[Level]:
    """Find the best sequences of each length up to `attempts`; with a `width` of None, all there are."""
    n, weight = len(steps.dollars), max(cost_weight, LEAST_WEIGHT)
    worth = steps.delivers - weight * steps.dollars  # of an attempt that is reached
    reach, routes = steps.weights[None, :], np.zeros((1, 0), dtype=np.int64)
    success, cost, levels = np.zeros(1), np.zeros(1), list[Level]()
    for _ in range(attempts):
        more = reach @ worth[0].T
        _try_again(more, reach, routes, worth, steps.most)
        value = (more + (success - weight * cost)[:, None]).ravel()
        kept = np.flatnonzero(value > -np.inf)
        if width is not None and len(kept) > width:
            kept = kept[_largest(value[kept], width)]
        if not len(kept):
            break
        at, route = np.divmod(kept, n)
        m, reach = (routes[at] == route[:, None]).sum(axis=1), reach[at]
        routes = np.concatenate([routes[at], route[:, None]], axis=1)
        success = success[at] + (reach * steps.delivers[m, route]).sum(axis=1)
        cost = cost[at] + (reach * steps.dollars[route]).sum(axis=1)
        reach = reach * steps.goes_on[m, route]
        levels.append(Level(routes, success, cost))
    return levels


def _largest(value: Floats, n: int) -> Ints:
    """Return the positions of the n largest values, in ascending order; of values that are equal, the first."""
    least = np.partition(value, len(value) - n)[len(value) - n]
    above = value > least
    above[np.flatnonzero(value == least)[: n - int(above.sum())]] = True
    return np.flatnonzero(above)


def _try_again(more: Floats, reach: Floats, routes: Ints, worth: Floats, most: Ints) -> None:
    """Set in `more` the value of another attempt on a route already tried; -inf where it may not be tried again."""
    row = np.arange(len(routes))
    for route in routes.T:
        if len(worth) == 1:
            more[row, route] = -np.inf
            continue
        m = (routes == route[:, None]).sum(axis=1)
        again = worth[np.minimum(m, len(worth) - 1), route]
        more[row, route] = np.where(m < most[route], (reach * again).sum(axis=1), -np.inf)


def best(levels: list[Level], value: Value) -> BestSequence | None:
    """Return the sequence of the largest value; of equals the shorter, then the first. None if none is allowed."""
    chosen: BestSequence | None = None
    most = -np.inf
    for level in levels:
        values = value(level.success, level.cost)
        top = float(values.max())
        if top > most + EQUAL:
            i = int(np.argmax(values >= top - EQUAL))
            chosen = BestSequence(tuple(level.routes[i].tolist()), float(level.success[i]), float(level.cost[i]))
            most = top
    return chosen
