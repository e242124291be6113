"""Choices among a part of the pool, and the rows that tell what came of them on all test tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmrouter.bench.experiments.base import Unit
from hmrouter.bench.experiments.common import row
from hmrouter.bench.judge.evaluate import Predictions, choose, dense, realise, uniform
from hmrouter.evidence.dataset import Dataset
from hmrouter.state import Floats

Bools = NDArray[np.bool_]
BY_ROUTE = ("fixed", "knn", "mirt", "irtnet", "avengers", "avengers_pro", "embedllm")
"""Methods that know a route only by its own outcomes."""


def best_among(test: Dataset, value: Floats, allowed: Bools, order: NDArray[np.int64]) -> Floats:
    """Shares of the best allowed route per task.

    Where no allowed route has an outcome, the choice cannot be judged: there, chance decides among those that have.
    """
    return _or_chance(test, choose(value, ~np.isnan(dense(test)) & allowed, order))


def blind_among(test: Dataset, allowed: Bools) -> Floats:
    """Shares of a uniform choice among the allowed routes; among all, where none of them has an outcome."""
    seen = ~np.isnan(dense(test)) & allowed
    return _or_chance(test, seen / np.maximum(seen.sum(axis=1, keepdims=True), 1))


def row_of(
    unit: Unit, train: Dataset, test: Dataset, shares: Floats, found: Predictions | None, **extra: Any
) -> dict[str, Any]:
    """A line of results.json for these shares; `found` is None where nothing was predicted."""
    metrics = realise(test, shares, None if found is None else found.success)
    return row(unit, metrics, train, None if found is None else found.fit_seconds, **extra)


def share_of(routes: Bools, shares: Floats) -> float:
    """How often one of these routes was chosen."""
    return float(shares[:, routes].sum() / shares.sum())


def _or_chance(test: Dataset, shares: Floats) -> Floats:
    return np.where(shares.any(axis=1, keepdims=True), shares, uniform(test))
