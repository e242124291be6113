"""Finds the routes and outcomes whose cost is known: what `cost` and `plan` choose among."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from hmrouter.errors import InputError
from hmrouter.evidence.dataset import Dataset, Split

NO_COSTS = "fewer than two routes have a known cost on half of their outcomes"


def costed_pool(data: Dataset) -> list[Any] | None:
    """The routes with a known cost on at least half of their cells; None where fewer than two are left."""
    known = np.bincount(data.cells.route, weights=~np.isnan(data.cells.cost), minlength=len(data.routes))
    cells = np.bincount(data.cells.route, minlength=len(data.routes))
    pool = [r for r, k, n in zip(data.routes, known, cells, strict=True) if n and k >= n / 2]
    return pool if len(pool) >= 2 else None


@lru_cache(maxsize=4)
def costed_split(split: Split) -> Split:
    """The split with the pool of routes whose costs are known (decided on the training side)."""
    pool = costed_pool(split.train)
    if pool is None:
        raise InputError(f"{NO_COSTS} in the training tasks")
    return Split(split.number, split.train.restrict(routes=pool), split.test.restrict(routes=pool))


def costed(data: Dataset) -> Dataset:
    """The outcomes whose cost is known."""
    return data.keep(~np.isnan(data.cells.cost))
