"""Measure the success rate of a new route with the tasks that tell most about it.

A task's curve says how often routes of each ability solve it:

    P(y_tr = 1) = sigmoid(slope_t * theta_r + ease_t)

theta is a route's ability, the logit of its mean score less the mean of all routes'. A task that all routes solve, or
none, tells nothing about a new one; one that good routes solve and bad ones do not tells most. With few routes slopes
stay near 1 and eases near 0. The ability of the new route is one number, so that everything about it is computed on a
grid, exactly: its posterior, its success rate on the whole suite, and what a run of each task would tell of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from hmrouter.evidence.cells import Cells
from hmrouter.probe.aims import Information
from hmrouter.state import Floats, Ints

GRID = np.linspace(-6.0, 6.0, 121)
SLOPE_SD, EASE_SD, ABILITY_SD = 0.5, 2.0, 2.0
NEWTON = 12
TELLING = 1.0 / 3.0
"""The share of the tasks that tell most, among which chance decides. The very best may all be of one kind, and a pair
that is good or bad at just that kind would be misjudged; where kinds do not matter, next to nothing is lost by it."""
SURE = 0.02
"""No task is believed to be solved less often than this, or more often than the rest: there is always a slip."""


@dataclass(frozen=True)
class Curves:
    """How often routes of each ability solve each task."""

    success: Floats
    """(tasks, grid): how often a route of each ability solves it."""
    rate: Floats
    """(grid,): how often a route of each ability solves the tasks of the suite, in the mean."""

    @classmethod
    def fit(cls, cells: Cells, n_tasks: int, n_routes: int) -> Self:
        """Learn from the cells of other routes; without any, all tasks are alike."""
        n = np.bincount(cells.route, weights=cells.fade, minlength=n_routes)
        total = np.bincount(cells.route, weights=cells.fade * cells.score, minlength=n_routes)
        start = np.log((total + 0.5) / (n - total + 0.5))
        start -= start[n > 0].mean() if (n > 0).any() else 0.0
        slope, ease = _tasks(cells, start, n_tasks)
        slope, ease = _tasks(cells, _abilities(cells, start, slope, ease), n_tasks)
        success = _sigmoid(slope[:, None] * GRID + ease[:, None])
        return cls(np.clip(success, SURE, 1.0 - SURE), success.mean(axis=0))


class Ability:
    """The posterior of one route's ability: a density on the grid."""

    def __init__(self, curves: Curves, mean: float, sd: float) -> None:
        """Start from a success rate on the suite that is Gaussian with this mean and standard deviation."""
        self._curves = curves
        self._log = -0.5 * ((curves.rate - mean) / sd) ** 2 + np.log(np.gradient(curves.rate, GRID) + 1e-12)
        self._seen: dict[int, float] = {}

    @classmethod
    def of(cls, curves: Curves, own: Cells, mean: float, sd: float) -> Self:
        """Start from curves and a belief that were made without the route's own cells, then take these in."""
        self = cls(curves, mean, sd)
        for task, score, fade in zip(own.task.tolist(), own.score.tolist(), own.fade.tolist(), strict=True):
            self.add(task, score, fade)
        return self

    @property
    def density(self) -> Floats:
        """Probability of each ability, (grid,); it sums to 1."""
        density = np.exp(self._log - self._log.max())
        return np.asarray(density / density.sum())

    def add(self, task: int, score: float, fade: float = 1.0) -> None:
        """Take in the score of one task; `fade`: the weight that its age leaves it."""
        p = self._curves.success[task]
        self._log = self._log + fade * (score * np.log(p) + (1.0 - score) * np.log1p(-p))
        self._seen[task] = score

    def imagine(self, task: int) -> None:
        """Go on as if the task had been run and had ended as is expected of it."""
        self.add(task, float(self._curves.success[task] @ self.density))

    def told(self) -> tuple[Floats, float]:
        """Say by how much a run of each task would lower the variance of the rate, (tasks,), and that variance.

        The first is Cov(rate, y)^2 / Var(y).
        """
        w, rate, p = self.density, self._curves.rate, self._curves.success
        q, mean = p @ w, float(rate @ w)
        cov = p @ (w * rate) - q * mean
        return np.asarray(cov**2 / (q * (1.0 - q))), float(w @ (rate - mean) ** 2)

    def preferred(self) -> Floats:
        """Return the number that tasks are ranked by, (tasks,): those that tell most are as good as each other."""
        told, _ = self.told()
        most = told >= np.quantile(told, 1.0 - TELLING) * (1.0 - 1e-9)
        return np.where(most, told[most].mean(), told)

    def estimate(self) -> tuple[float, float]:
        """Estimate the success rate on the suite and its standard deviation: runs as they ended, others as expected."""
        w, n = self.density, len(self._curves.success)
        p = np.delete(self._curves.success, list(self._seen), axis=0)
        each = p.sum(axis=0)
        mean = (sum(self._seen.values()) + float(each @ w)) / n
        variance = float(w @ (each - each @ w) ** 2) + float((p * (1.0 - p)).sum(axis=0) @ w)
        return mean, float(np.sqrt(variance)) / n


class Calibrate:
    """Asks for the success rates of some routes, such as those of a new model, by the tasks that tell most of each."""

    def __init__(self, abilities: Mapping[int, Ability]) -> None:
        """`abilities`: those of the routes asked about, by the routes' numbers."""
        self.abilities = dict(abilities)

    def told(self, runnable: Ints) -> Information:
        """Say by how much each run would lower the variance of its route's rate, of the routes asked about."""
        routes = [j for j in runnable.tolist() if j in self.abilities]
        both = [self.abilities[j].told() for j in routes]
        variance, of = np.stack([v for v, _ in both], axis=1), np.array([total for _, total in both])
        preferred = np.stack([self.abilities[j].preferred() for j in routes], axis=1)
        return Information(np.array(routes, dtype=np.int64), variance, preferred, of)

    def imagine(self, task: int, route: int) -> None:
        """Go on as if that cell had been run."""
        self.abilities[route].imagine(task)


def _tasks(cells: Cells, theta: Floats, n_tasks: int) -> tuple[Floats, Floats]:
    """Fit slope and ease of every task, given the routes' abilities, by Newton's method, all tasks at once."""
    slope, ease, x = np.ones(n_tasks), np.zeros(n_tasks), theta[cells.route]

    def total(values: Floats) -> Floats:
        return np.asarray(np.bincount(cells.task, weights=values, minlength=n_tasks), dtype=np.float64)

    for _ in range(NEWTON):
        p = _sigmoid(slope[cells.task] * x + ease[cells.task])
        off, w = cells.fade * (cells.score - p), cells.fade * p * (1.0 - p)
        to_ease, to_slope = total(off) - ease / EASE_SD**2, total(off * x) - (slope - 1.0) / SLOPE_SD**2
        ee, es, ss = total(w) + 1.0 / EASE_SD**2, total(w * x), total(w * x * x) + 1.0 / SLOPE_SD**2
        det = ee * ss - es**2
        ease = ease + np.clip((ss * to_ease - es * to_slope) / det, -1.0, 1.0)
        slope = slope + np.clip((ee * to_slope - es * to_ease) / det, -0.5, 0.5)
    return np.maximum(slope, 0.1), ease


def _abilities(cells: Cells, theta: Floats, slope: Floats, ease: Floats) -> Floats:
    """Fit the routes' abilities, given the tasks' curves, by Newton's method."""
    for _ in range(NEWTON):
        a = slope[cells.task]
        p = _sigmoid(a * theta[cells.route] + ease[cells.task])
        pull = np.bincount(cells.route, weights=cells.fade * a * (cells.score - p), minlength=len(theta))
        stiff = np.bincount(cells.route, weights=cells.fade * a**2 * p * (1.0 - p), minlength=len(theta))
        theta = theta + np.clip(
            (pull - theta / ABILITY_SD**2) / (stiff + 1.0 / ABILITY_SD**2), -1.0, 1.0
        )  # fmt: skip
    return theta


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))
