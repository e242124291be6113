"""Turns what a method prefers into choices on test tasks: shares (tasks, routes) that sum to 1 per task.

A choice is made among the routes that have an outcome on that test task, as no other choice can be judged.
"""

from __future__ import annotations

import numpy as np

from hmrouter.bench.judge.predict import Predictions
from hmrouter.costs import RouteCosts
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.state import Bools, Floats, Ints


def shares_of(method: str, split: Split, found: Predictions | None, allowed: Bools | None = None) -> Floats:
    """Choose for a method on the test side: `random` any route, `oracle` the best outcome, others their best merit.

    `found` is what a method that was fitted predicts. `allowed` (routes,) limits all but `random` to some routes.
    """
    if method == "random":
        return uniform(split.test)
    if method == "oracle":
        value = dense(split.test)
    elif found is not None:
        value = found.merit
    else:
        raise ValueError(f"the choices of {method!r} need its predictions")
    return best_among(split.test, value, tie_order(split.train), allowed)


def best_among(test: Dataset, value: Floats, order: Ints, allowed: Bools | None = None) -> Floats:
    """Choose the allowed route with the highest value per task; without `allowed`, of all.

    Where no allowed route has an outcome, the choice cannot be judged: there, chance decides among those that have.
    """
    seen = ~np.isnan(dense(test))
    return _or_chance(test, choose(value, seen if allowed is None else seen & allowed, order))


def blind_among(test: Dataset, allowed: Bools) -> Floats:
    """Choose any of the allowed routes; of all, where none of them has an outcome."""
    seen = ~np.isnan(dense(test)) & allowed
    return _or_chance(test, seen / np.maximum(seen.sum(axis=1, keepdims=True), 1))


def choose(value: Floats, selectable: Bools, order: Ints) -> Floats:
    """Choose the best selectable route per task: 1 there, all 0 where there is none. Of equals, the first in order."""
    ranked = np.where(selectable, value, -np.inf)[:, order]
    shares = np.zeros(value.shape)
    rows = np.flatnonzero(selectable.any(axis=1))
    shares[rows, order[ranked[rows].argmax(axis=1)]] = 1.0
    return shares


def uniform(test: Dataset) -> Floats:
    """Choose any route that has an outcome."""
    seen = ~np.isnan(dense(test))
    return np.asarray(seen / np.maximum(seen.sum(axis=1, keepdims=True), 1))


def share_of(routes: Bools, shares: Floats) -> float:
    """Tell how often one of these routes was chosen."""
    return float(shares[:, routes].sum() / shares.sum())


def dense(data: Dataset, field: str = "score") -> Floats:
    """Lay out a field of the cells as tasks x routes, NaN where nothing was run."""
    return np.asarray(data.matrix(field).filled(np.nan))


def tie_order(train: Dataset) -> Ints:
    """Order the routes from cheapest to dearest on training outcomes, then by name: who wins a tie."""
    costs = RouteCosts.fit(train).of_all(train.routes)
    price = [np.inf if c.dollars is None else c.dollars for c in costs]
    return np.array(sorted(range(len(price)), key=lambda j: (price[j], str(train.routes[j]))), dtype=np.int64)


def _or_chance(test: Dataset, shares: Floats) -> Floats:
    return np.where(shares.any(axis=1, keepdims=True), shares, uniform(test))
