"""Avengers-Pro: Avengers that also looks at the cost in each cluster. https://arxiv.org/abs/2508.12631"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hmrouter.bench.baselines.avengers import Avengers
from hmrouter.errors import UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.means import RouteMeans
from hmrouter.state import Array, Floats


@dataclass(kw_only=True, eq=False)
class AvengersPro(Avengers):
    """Ranks by s = alpha * minmax(success) + (1 - alpha) * (1 - cost / max cost), both within the cluster.

    Success and cost of a route are means over the cluster's training cells. An unknown cost is the route's mean over
    all tasks, then the mean of everything; without any cost, s ranks as success does. `alpha` sweeps from the
    cheapest route (0) to the most successful one (1).
    """

    name: ClassVar[str] = "avengers_pro"

    alpha: float = 0.7
    clusters: int = 25
    nearest: int = 3
    sharpness: float = 9.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.alpha <= 1.0:
            raise UsageError(f"alpha {self.alpha} is not between 0 (cost only) and 1 (success only)")

    def _value(self, data: Dataset, of_task: Array, success: Floats) -> Floats:
        cost = self._cell_means(data, of_task, data.cells.cost, len(success))
        means = RouteMeans.of(data, "cost")
        by_route, overall = means.all(), means.overall(0.0)
        cost = np.where(np.isnan(cost), [by_route.get(r, overall) for r in self.routes_], cost)
        cost = np.where(np.isnan(success), 0.0, cost)  # a route that was not run sets no maximum
        low = np.fmin.reduce(success, axis=1, initial=1.0)[:, None]
        high = np.fmax.reduce(success, axis=1, initial=0.0)[:, None]
        dearest = cost.max(axis=1, initial=0.0)[:, None]
        merit = (success - low) / np.where(high > low, high - low, 1.0)
        thrift = 1.0 - cost / np.where(dearest > 0, dearest, 1.0)
        return np.asarray(self.alpha * merit + (1.0 - self.alpha) * thrift)
