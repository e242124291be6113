"""The hierarchical model over all suites' route means.

    k_i ~ Binomial(n_i, sigmoid(theta_i)),     theta ~ N(0, K),     K = sum over terms t of v_t S_t

S_t says what two points share of term t (`terms.py`). The variances v maximise the marginal likelihood of the
empirical logits (type II maximum likelihood, with a wide prior so that few suites do not switch a term off for good);
the posterior of theta under the counts is Laplace's: Gaussian, around the mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from hmrouter.evidence.dataset import hash_rank
from hmrouter.history.terms import TERMS, Point, PointIndex
from hmrouter.logits import logit, sigmoid
from hmrouter.state import Floats

COMMON = 10.0
"""Variance of the mean of all suites: as good as unknown."""
WIDE = (-3.0, 3.0)
"""Mean and standard deviation of the prior of each log variance."""
LEARNED_ON = 800
"""The most points that variances are learned on: the cost grows with their cube, and the gain soon ends."""
NEWTON = 20


class Hierarchy:
    """The fitted model: variances, and the posterior of theta."""

    def __init__(self, points: Sequence[Point], tasks: Floats, mean: Floats, variances: Mapping[str, float]) -> None:
        """Points with the number of tasks and the mean score of each; the posterior is computed here."""
        self.points = tuple(points)
        self.tasks = np.asarray(tasks, dtype=np.float64)
        self.mean = np.asarray(mean, dtype=np.float64)
        self.variances = dict(variances)
        self._index = PointIndex(self.points)
        self._factor, self._weights = self._solve()

    @classmethod
    def fit(cls, points: Sequence[Point], tasks: Floats, mean: Floats) -> Self:
        """Learn the variances, then the posterior."""
        chosen = sorted(range(len(points)), key=lambda i: hash_rank(*map(str, _label(points[i]))))[:LEARNED_ON]
        some = [points[i] for i in chosen]
        z, spread = empirical_logits(np.asarray(tasks)[chosen], np.asarray(mean)[chosen])
        return cls(points, tasks, mean, learn_variances(some, z, spread))

    @property
    def level(self) -> tuple[float, float]:
        """Mean and standard deviation of a new suite's level, at a route of no known model or harness."""
        common = np.full(len(self.points), COMMON)
        left = COMMON - float(common @ self._over(common))
        return float(common @ self._weights), float(np.sqrt(max(left, 0.0) + self.variances["suite"]))

    def reach(self, points: Sequence[Point]) -> tuple[Floats, Floats]:
        """Compute the expected theta, (points,), and what the evidence explains of each point, (points, evidence).

        The second is the dear part of `cov_by_reach`, worth keeping.
        """
        from scipy.linalg import solve_triangular

        (factor, lower), to = self._factor, covariance(points, self._index, self.variances)
        # One by one: what is said of a point must not depend, in its last bits, on which others were asked about.
        mean = np.array([row @ self._weights for row in to], dtype=np.float64)
        reach = [solve_triangular(factor, row, lower=lower) for row in to]
        return mean, np.array(reach, dtype=np.float64).reshape(len(points), len(self.points))

    def cov_by_reach(self, a: Sequence[Point], reach_a: Floats, b: Sequence[Point], reach_b: Floats) -> Floats:
        """Compute the posterior covariance (a, b) of points whose `reach` is known."""
        return np.asarray(covariance(a, PointIndex(b), self.variances) - reach_a @ reach_b.T)

    def _over(self, right: Floats) -> Floats:
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve(self._factor, right))

    def _solve(self) -> tuple[Any, Floats]:
        """Find the factor of K + W^-1 at the mode, and the weights K^-1 theta; Newton's method, damped by halving."""
        from scipy.linalg import cho_factor, cho_solve

        k = covariance(self.points, self._index, self.variances)
        successes = self.mean * self.tasks
        theta, spread = empirical_logits(self.tasks, self.mean)
        for _ in range(NEWTON):
            factor = cho_factor(k + np.diag(spread), lower=True)
            weights = cho_solve(factor, theta)
            mode = k @ weights
            rate = sigmoid(mode)
            information = np.maximum(self.tasks * rate * (1.0 - rate), 1e-6)
            working = mode + (successes - self.tasks * rate) / information
            if np.abs(working - theta).max(initial=0.0) < 1e-8:
                break
            theta, spread = working, 1.0 / information
        return cho_factor(k + np.diag(spread), lower=True), np.asarray(weights)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run linear algebra in one thread: a history's matrices are small, and threads would wait for each other."""
    import scipy.linalg  # noqa: F401 - only a library that is there can be told how many threads to use
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def covariance(a: Sequence[Point], b: PointIndex, variances: Mapping[str, float]) -> Floats:
    """Compute the prior covariance of theta, (a, b)."""
    out = np.full((len(a), len(b)), COMMON)
    for term in TERMS:
        out += variances[term] * b.shared(term, a)
    return out


def empirical_logits(tasks: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Compute logits of the means with half a success and half a failure added, and their sampling variances."""
    p = (mean * tasks + 0.5) / (tasks + 1.0)
    return logit(p), 1.0 / ((tasks + 1.0) * p * (1.0 - p))


def learn_variances(points: Sequence[Point], z: Floats, spread: Floats) -> dict[str, float]:
    """Find the variances that make the logits z with sampling variances `spread` most likely."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.optimize import minimize

    index = PointIndex(points)
    parts = [index.shared(term, points) for term in TERMS]
    base = np.diag(spread) + COMMON
    centre, width = WIDE

    def loss(log_variances: Floats) -> tuple[float, Floats]:
        v = np.exp(log_variances)
        factor = cho_factor(base + sum(vi * s for vi, s in zip(v, parts, strict=True)), lower=True)
        weights = cho_solve(factor, z)
        slack = cho_solve(factor, np.eye(len(z))) - np.outer(weights, weights)
        off = (log_variances - centre) / width
        value = 0.5 * (z @ weights) + np.log(np.diag(factor[0])).sum() + 0.5 * (off**2).sum()
        slope = np.array([0.5 * vi * np.vdot(slack, s) for vi, s in zip(v, parts, strict=True)])
        return float(value), slope + off / width

    if not len(z):
        return dict.fromkeys(TERMS, float(np.exp(centre)))
    found = minimize(loss, np.full(len(TERMS), -2.0), jac=True, method="L-BFGS-B", options={"maxiter": 100})
    return dict(zip(TERMS, np.exp(found.x).tolist(), strict=True))


def _label(point: Point) -> tuple[str, str, str]:
    return point.suite, point.model, point.harness
