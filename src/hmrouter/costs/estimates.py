"""Shrink means of routes, on the log scale, towards what their model and their harness usually take.

    log mean_r = mu + a_model + b_harness + e_pair + noise,  noise ~ N(0, spread / runs_r)

`spread` is the squared coefficient of variation of a single run. The variances of the effects come from the data by
expectation maximisation, held by a weak prior where there are few routes; the posterior is exact given them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hmrouter.scorers.base import Z90
from hmrouter.state import Array, Floats
from hmrouter.types import Route

USUAL = (1.2, 0.35, 0.15)
"""Variances of model, harness and pair effects: rounded medians of the benchmarks with costs (docs/costs.md)."""
HELD = 2.0
"""How many observed effects the usual variances count for."""
SPREAD = 1.0
"""The usual squared coefficient of variation of a run; it counts for `HELD` runs."""
STEPS = 30
LEAST = 1e-4
"""The least amount of which a logarithm is taken, as free runs have none: cheaper than any paid run."""


class Variances(NamedTuple):
    """Variances of the effects of models, harnesses and pairs, and of a run, on the log scale."""

    model: float = USUAL[0]
    harness: float = USUAL[1]
    pair: float = USUAL[2]
    spread: float = SPREAD


@dataclass(frozen=True, slots=True)
class ExpectedMean:
    """The expected mean of a route, its 90% interval, and its basis."""

    value: float
    interval: tuple[float, float]
    basis: str


class Shrunk:
    """Predicts every route's mean from the means and the numbers of runs of some.

    >>> runs = {Route("big", "a"): (4.0, 500.0), Route("small", "a"): (1.0, 500.0), Route("small", "b"): (9.0, 1.0)}
    >>> shrunk = Shrunk(runs, Variances())
    >>> round(shrunk.of(Route("big", "a")).value, 1), shrunk.of(Route("small", "b")).value < 7.0
    (4.0, True)
    >>> shrunk.of(Route("big", "b")).basis
    'model+harness'
    """

    def __init__(self, means: dict[Route, tuple[float, float]], variances: Variances) -> None:
        """Solve for `means`: mean and (perhaps faded) number of runs of the routes that have any."""
        self.variances = variances
        self._means = means
        self._at = {route: i for i, route in enumerate(means)}
        self._column = _columns(list(means))
        logs = np.log([max(mean, LEAST) for mean, _ in means.values()])
        self._runs = np.array([n for _, n in means.values()])
        self._base = float(logs.mean()) if len(logs) else 0.0
        self._y = logs - self._base
        self._places = self._places_of(list(means))
        self._noise = variances.spread / self._runs
        self._keep = variances.pair / (variances.pair + self._noise)
        self._solve()

    @classmethod
    def fit(cls, means: dict[Route, tuple[float, float]], spread: float = SPREAD) -> Shrunk:
        """Learn the variances from the means, then solve."""
        variances = Variances(spread=spread)
        for _ in range(STEPS if means else 0):
            variances = cls(means, variances)._step()
        return cls(means, variances)

    def of(self, route: Route) -> ExpectedMean | None:
        """Predict the mean of a route, None where nothing is known of its model or its harness."""
        return self.of_all([route])[0]

    def of_all(self, routes: Sequence[Route]) -> list[ExpectedMean | None]:
        """Predict the means of many routes."""
        v = self.variances
        mean, variance = self._at_places(self._places_of(routes))
        out: list[ExpectedMean | None] = []
        for k, route in enumerate(routes):
            model, harness = (("model", route.model) in self._column, ("harness", route.harness) in self._column)
            if (i := self._at.get(route)) is not None:
                lost = (1.0 - self._keep[i]) ** 2 * variance[k]
                out.append(self._expected(self._own[i], self._keep[i] * self._noise[i] + lost, "route"))
            elif model or harness:
                unsure = variance[k] + v.pair + (0.0 if model else v.model) + (0.0 if harness else v.harness)
                basis = "+".join(["model"] * model + ["harness"] * harness)
                out.append(self._expected(np.exp(self._base + mean[k]), unsure, basis))
            else:
                out.append(None)
        return out

    def _expected(self, value: float, variance: float, basis: str) -> ExpectedMean:
        value = float(value) * self._kappa
        factor = float(np.exp(Z90 * np.sqrt(variance)))
        return ExpectedMean(value, (value / factor, value * factor), basis)

    @cached_property
    def _own(self) -> Floats:
        """Means of the routes with runs, shrunk by a factor: a free route stays free, a lone one keeps its mean."""
        means = np.array([mean for mean, _ in self._means.values()])
        return np.asarray(means * np.exp((1.0 - self._keep) * (self._at_places(self._places)[0] - self._y)))

    @cached_property
    def _kappa(self) -> float:
        """A factor that makes the total over all runs right: the logarithm of a mean of few runs is too low."""
        shrunk = float(self._own @ self._runs)
        return sum(mean * n for mean, n in self._means.values()) / shrunk if shrunk else 1.0

    def _step(self) -> Variances:
        """Take one step of expectation maximisation."""
        second = self._u**2 + np.diag(self._cov)
        mean, variance = self._at_places(self._places)
        rest, unsure = self._y - mean, self._noise + self._keep * variance
        kinds = np.array([kind for kind, _ in self._column])
        sums = [second[1:-1][kinds == kind] for kind in ("model", "harness")]
        sums.append((self._keep * rest) ** 2 + self._keep * unsure)
        usual = zip(sums, USUAL, strict=True)
        model, harness, pair = ((float(s.sum()) + HELD * u) / (len(s) + HELD) for s, u in usual)
        return Variances(model, harness, pair, self.variances.spread)

    def _solve(self) -> None:
        """Solve for mean and covariance of the level and the effects; the last place, 0, is for unknown names."""
        v = {"model": self.variances.model, "harness": self.variances.harness}
        # Next to nothing is known of the level.
        prior = np.array([1e-9, *(1.0 / v[kind] for kind, _ in self._column)])
        z = np.zeros((len(self._places), len(prior) + 1))
        z[np.arange(len(z))[:, None], self._places] = 1.0
        weighted = z[:, :-1] / (self.variances.pair + self._noise)[:, None]
        cov = np.linalg.inv(weighted.T @ z[:, :-1] + np.diag(prior))
        self._u, self._cov = np.append(cov @ (weighted.T @ self._y), 0.0), np.pad(cov, (0, 1))

    def _places_of(self, routes: Sequence[Route]) -> Array:
        """Find the places of each route's level, model and harness among the effects, (routes, 3)."""
        unknown = len(self._column)
        places = [
            (-1, *(self._column.get(c, unknown) for c in (("model", r.model), ("harness", r.harness)))) for r in routes
        ]
        return np.array(places, dtype=np.int64).reshape(-1, 3) + 1

    def _at_places(self, places: Array) -> tuple[Floats, Floats]:
        """Compute mean and variance of the sum of the three effects of each route."""
        return self._u[places].sum(axis=1), self._cov[places[:, :, None], places[:, None, :]].sum(axis=(1, 2))


def spread_of(route: Array, values: Floats) -> float:
    """Estimate the squared coefficient of variation of single runs, pooled over routes; the usual one if few.

    >>> round(spread_of(np.array([0] * 40), np.array([1.0, 3.0] * 20)), 2)
    0.29
    """
    n = np.bincount(route, minlength=1)
    mean = np.bincount(route, weights=values, minlength=1) / np.maximum(n, 1)
    use = (n[route] > 1) & (mean[route] > 0)
    deviations = (values[use] / mean[route][use] - 1.0) ** 2
    freedom = float(np.maximum(n[mean > 0] - 1, 0).sum())
    return (float(deviations.sum()) + HELD * SPREAD) / (freedom + HELD)


def _columns(routes: Sequence[Route]) -> dict[tuple[str, str], int]:
    names = sorted({("model", r.model) for r in routes} | {("harness", r.harness) for r in routes})
    return {name: i for i, name in enumerate(names)}
