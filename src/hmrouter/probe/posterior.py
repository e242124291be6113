"""The joint posterior of all routes' success rates: it follows cells one by one and says how much one more would tell.

    y_tr = e_r + d_t + noise

jointly Gaussian, as in `scorers.pooled` without texts (their share of the variance is part of the task effect). Given
the routes' effects e, the task effects are independent: with n = sum f over the cells of task t, S = sum f z and
y_t. = sum f y, d_t is Gaussian around om (y_t. - S'e) with variance s2 om, om = tau / (s2 + n tau). So the score of a
cell is the linear form x = e_r - om S of the routes alone, plus a constant and independent noise of variance s2 (1 +
om): one covariance matrix over routes and a few numbers per task say everything, however many tasks there are. How much
a cell tells does not depend on how it ends, so that a batch can be chosen before any of it was run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Belief
from hmrouter.scorers.safe.pooled import Pooled, take_away
from hmrouter.scorers.safe.prior import Prior, Shares
from hmrouter.state import Floats, Ints
from hmrouter.types import Route

RELEASE, PRICE = 0.09, 0.045
"""Shares of the variance per year of a model's age and per factor of ten in its price: the medians of what the other
suites' outcomes show where one benchmark is left out (0.05-0.12 and 0.03-0.06). They say that age and price matter; how
much, and which way, only the suite's own runs say."""


class Posterior:
    """A Gaussian over the success rates of routes, which follows each further cell exactly.

    >>> from hmrouter.types import Task
    >>> posterior = Posterior.of(Dataset([], routes=[Route("big", "a"), Route("small", "a")], tasks=[Task("t")]))
    >>> posterior.add(task=0, route=0, score=1.0)
    >>> bool(posterior.mean[0] > posterior.mean[1] > 0.5)
    True
    """

    def __init__(
        self, mean: Floats, cov: Floats, run: Floats, scores: Floats, prior: Prior, family: Ints | None = None
    ) -> None:
        """`run` (tasks, routes): weights of the cells, 0 where never run. `scores` (tasks,): weighted sums of their
        scores. `family` (tasks,): numbers from 0; tasks of one family are as easy as each other, so that a run on one
        of them tells of all. None: every task is by itself."""
        self.mean, self.cov, self.run = mean, np.ascontiguousarray(cov), run
        self._family = family
        if family is not None:
            kinds = int(family.max(initial=-1)) + 1
            scores = np.bincount(family, weights=scores, minlength=kinds).astype(np.float64)
            run = np.zeros((kinds, run.shape[1]))
            np.add.at(run, family, self.run)
        self._run, self._n, self._scores = run, run.sum(axis=1), scores
        self._noise, self._tau = prior.shares.noise * prior.variance, prior.shares.task * prior.variance
        # Covariances of the routes with the sums S of the families, (families, routes), and the variances of these.
        self._with_sums = np.ascontiguousarray(run @ self.cov)
        self._sums = (self._with_sums * run).sum(axis=1)

    @classmethod
    def of(
        cls,
        data: Dataset,
        belief: Belief | None = None,
        routes: Sequence[Route] | None = None,
        family: Ints | None = None,
    ) -> Self:
        """Fit the posterior to one suite's data set, over its routes, or over `routes`, which begin with its own."""
        cells, tasks, routes = data.cells, len(data.tasks), data.routes if routes is None else routes
        prior = prior_of(cells.score, belief)
        at, kinds = (cells.task, tasks) if family is None else (family[cells.task], int(family.max(initial=-1)) + 1)
        pooled = Pooled.fit(
            np.zeros((kinds, 0)), data.routes, at, cells.route, cells.score, prior, cells.faded
        )  # fmt: skip
        mean, cov = pooled.joint(np.zeros(0), routes)
        run = np.zeros((tasks, len(routes)))
        run[cells.task, cells.route] = cells.fade
        scores = np.bincount(cells.task, weights=cells.fade * cells.score, minlength=tasks).astype(np.float64)
        return cls(mean, cov, run, scores, prior, family)

    @property
    def fresh_noise(self) -> float:
        """Variance of the score on a task of which nothing is known, around the route's success rate."""
        return self._noise + self._tau

    def copy(self) -> Self:
        """Return an independent copy."""
        new = object.__new__(type(self))
        new.__dict__.update({k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.__dict__.items()})
        if self._family is None:
            new._run = new.run  # the two are one
        return new

    def expected(self, routes: Ints) -> Floats:
        """Predict the score of each cell of these routes, (tasks, routes)."""
        of_task = self._share() * (self._scores - self._run @ self.mean)
        return np.asarray(self.mean[routes][None, :] + self._by_task(of_task)[:, None])

    def add(self, task: int, route: int, score: float) -> None:
        """Take in one more cell. How `cov` changes does not depend on its score."""
        from scipy.linalg.blas import dger

        at = task if self._family is None else int(self._family[task])
        om = float(self._share()[at])
        gain = self.cov[:, route] - om * self._with_sums[at]
        spread = float(gain[route] - om * (self._run[at] @ gain)) + self._noise * (1.0 + om)
        expected = self.mean[route] + om * (self._scores[at] - self._run[at] @ self.mean)
        self.mean = self.mean + gain * ((score - expected) / spread)
        self._scores[at] += score
        to_sums = self._run @ gain
        take_away(self.cov, gain / np.sqrt(spread))
        dger(-1.0 / spread, gain, to_sums, a=self._with_sums.T, overwrite_a=True)
        self._sums -= to_sums**2 / spread
        self._sums[at] += 2.0 * self._with_sums[at, route] + self.cov[route, route]
        self._with_sums[at] += self.cov[route]
        self._run[at, route] += 1.0
        self._n[at] += 1.0
        if self._family is not None:  # else the two are one
            self.run[task, route] += 1.0

    def gains(self, contrasts: Floats, weights: Floats, routes: Ints) -> Floats:
        """Say by how much each cell would lower the variance of a contrast c'e of the routes' effects, (tasks, routes).

        It is (c'Sigma x)^2 / (x'Sigma x + sigma^2); of several contrasts, one per row, the sum with these weights.
        """
        om, of_routes = self._share(), contrasts @ self.cov  # (contrasts, all routes)
        of_tasks = om[:, None] * (self._run @ of_routes.T)  # (families, contrasts)
        of_routes = of_routes[:, routes]
        # sum_k w_k (of_routes - of_tasks)^2, multiplied out: one product of matrices, however many contrasts there are
        told: Floats = (-2.0 * weights * of_tasks) @ of_routes
        told += (weights @ of_routes**2)[None, :]
        told += (of_tasks**2 @ weights)[:, None]
        spread = (-2.0 * om)[:, None] * self._with_sums[:, routes]
        spread += np.diag(self.cov)[routes][None, :]
        spread += (om**2 * self._sums + self._noise * (1.0 + om))[:, None]
        told /= spread
        return self._by_task(np.maximum(told, 0.0, out=told))

    def _by_task(self, values: Floats) -> Floats:
        """Give each task the value of its family."""
        return values if self._family is None else values[self._family]

    def _share(self) -> Floats:
        """Return om of each family: how far its cells that were run inform one more."""
        return np.asarray(self._tau / (self._noise + self._n * self._tau))


def prior_of(score: Floats, belief: Belief | None) -> Prior:
    """Make the pooled model's prior, in which models that are alike in age and price are alike in success.

    What texts would explain of a task's difficulty belongs to the task here.
    """
    usual = Shares()
    return Prior.of(score, belief, replace(usual, task=usual.task + usual.x, release=RELEASE, price=PRICE))
