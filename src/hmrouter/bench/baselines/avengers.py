"""Avengers: rank the routes in each cluster of tasks, and add up the ranks of the nearest. https://arxiv.org/abs/2505.19797"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hmrouter.bench.baselines.atomic import Atomic
from hmrouter.bench.baselines.clusters import cluster, nearness
from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Prediction, Training
from hmrouter.state import Array, Floats
from hmrouter.types import Route


@dataclass(kw_only=True, eq=False)
class Avengers(Atomic):
    """score = sum_c p_c / (rank of the route in c + offset), ranks from 0, over the nearest clusters c.

    p = softmax(-sharpness * d) with d = 1 - cos of the task and the centre.

    Routes are ranked by their mean success in the cluster; ties go to the better mean over all tasks, then to the
    name. A route that was not run in a cluster has no rank there and gets nothing from it. Sets of fewer than
    3 * `clusters` tasks have a third as many clusters as tasks.

    A score is a sum of ranks, not a logit: it orders routes. The forecast `success` is the mean success in the same
    clusters with the same weights, over those in which the route was run; in none, its mean over all tasks.
    """

    name: ClassVar[str] = "avengers"

    clusters: int = 64
    nearest: int = 11
    sharpness: float = 3.0
    offset: float = 0.1

    def fit(self, training: Training) -> Self:
        """Cluster the tasks that have outcomes and rank the routes in each cluster."""
        data, x = training.data, np.asarray(training.x)
        self._begin(data, x)
        run = np.flatnonzero(np.diff(data.starts))
        centres, label = cluster(x[run], self.clusters, self.seed)
        of_task = np.zeros(len(data.tasks), dtype=np.int64)
        of_task[run] = label
        success = self._cell_means(data, of_task, data.cells.score, len(centres))
        overall = data.route_means()[data.observed]
        value = self._value(data, of_task, success)
        rank = np.array([_ranks(row, overall) for row in value]).reshape(value.shape)
        gain = np.where(np.isnan(value), 0.0, 1.0 / (rank + self.offset))
        self.arrays_ = {"centres": centres, "gain": gain, "success": success, "overall": overall}
        return self

    def _value(self, data: Dataset, of_task: Array, success: Floats) -> Floats:
        """Value the routes in each cluster, (clusters, routes), to rank them by; NaN where a route was not run."""
        return success

    def _cell_means(self, data: Dataset, of_task: Array, values: Floats, n_clusters: int) -> Floats:
        """Means over the cells of each cluster and route where the value is known, NaN if nowhere."""
        column = np.cumsum(data.observed) - 1
        known = ~np.isnan(values)
        at = of_task[data.cells.task[known]] * len(self.routes_) + column[data.cells.route[known]]
        size = n_clusters * len(self.routes_)
        n = np.bincount(at, minlength=size)
        total = np.bincount(at, weights=values[known], minlength=size)
        mean = np.full(size, np.nan)
        np.divide(total, n, out=mean, where=n > 0)
        return mean.reshape(n_clusters, len(self.routes_))

    def _known_scores(self, x: Floats) -> Floats:
        return np.asarray(self._nearness(x) @ self.arrays_["gain"])

    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        """Avengers chooses by its rank score; its forecasts are means of the nearest clusters, not derived from it."""
        score = self.score(x, routes)
        return Prediction(score, self._forecasts(x, routes), score)

    def _forecasts(self, x: Floats, routes: Sequence[Route]) -> Floats:
        p, mean = self._nearness(self._checked(x)), self.arrays_["success"]
        weight = p @ ~np.isnan(mean)
        total = p @ np.nan_to_num(mean)
        known = np.tile(self.arrays_["overall"], (len(p), 1))
        np.divide(total, weight, out=known, where=weight > 0)
        return np.clip(self._spread(known, routes), 0.0, 1.0)

    def _nearness(self, x: Floats) -> Floats:
        return nearness(x, self.arrays_["centres"], self.nearest, self.sharpness)


def _ranks(value: Floats, overall: Floats) -> Array:
    """Places from 0, best first, NaN last.

    >>> _ranks(np.array([0.5, np.nan, 0.5, 0.9]), np.array([0.1, 0.9, 0.2, 0.0])).tolist()
    [2, 3, 1, 0]
    """
    order = np.lexsort((np.arange(len(value)), -overall, -value))  # routes are sorted by name; NaN sorts last
    rank = np.empty(len(value), dtype=np.int64)
    rank[order] = np.arange(len(value))
    return rank
