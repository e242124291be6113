"""The prior of routes' success rates, before their own outcomes: a Gaussian over any set of routes.

    e_r = rate + slope * (theta_r - theta_level) + mu + a_m + b_h + g_mh + u . traits_m

mu, a_m, b_h and g_mh are effects of the suite, the model, the harness and the pair with variances c * Var(y), u are
those of a year of a model's age and of its price. theta is what other suites say (`hmrouter.history`), on the scale of
logits, with its own uncertainty; without it, nothing. With it, the effects stand for how far this suite may differ from
the others, and are smaller by `DISCREPANCY`; age and price are part of theta then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from hmrouter.history.terms import traits
from hmrouter.scorers.base import Belief
from hmrouter.state import Floats
from hmrouter.types import Route

EVEN = 0.5
"""The expected success rate before any outcome, in the middle: successes and failures are treated alike."""
ANYWHERE = 1.0 / 12.0
"""The variance of a rate of which nothing is known: anything from 0 to 1 is as likely."""
DISCREPANCY = 0.3
"""How much of the effects' variance is left where other suites say something: the middle of what was seen (0.2-0.4)."""
EXTREME = 0.05
"""A suite's level counts as no nearer to 0 or 1 than this where logits become rates."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Variance of each term as a share of Var(y): about the medians of maximum-likelihood fits to real benchmarks."""

    mu: float = 5.0
    model: float = 0.03
    harness: float = 0.02
    pair: float = 0.04
    x: float = 0.06
    task: float = 0.27
    noise: float = 0.58
    release: float = 0.0
    """Per year of a model's age; 0: the age does not count."""
    price: float = 0.0
    """Per factor of ten in the list price; 0: the price does not count."""


@dataclass(frozen=True)
class Prior:
    """A Gaussian over the success rates of any routes, whether run or not."""

    variance: float
    """Var(y) of the outcomes."""
    shares: Shares = Shares()
    rate: float = EVEN
    """The level that routes are expected around."""
    belief: Belief | None = None

    @classmethod
    def of(cls, score: Floats, belief: Belief | None = None, shares: Shares | None = None) -> Self:
        """Make the prior for a suite with these scores, perhaps none."""
        shares = shares or Shares()
        variance = scale_of(score)
        if belief is None:
            return cls(variance, shares)
        if len(score):
            seen = float(np.append(score, [0.0, 1.0]).mean())
            return cls(variance, shares, min(max(seen, EXTREME), 1.0 - EXTREME), belief)
        return cls.before(belief, shares)

    @classmethod
    def before(cls, belief: Belief | None = None, shares: Shares | None = None) -> Self:
        """Make the prior for a suite with few outcomes or none: no variance is learned from them.

        The level of a suite is as uncertain as other suites' levels differ; where none are known, it may be anywhere.
        """
        shares = shares or Shares()
        if belief is None:
            variance = EVEN * (1.0 - EVEN)
            return cls(variance, replace(shares, mu=ANYWHERE / variance))
        mean, sd = belief.level
        rate = min(max(1.0 / (1.0 + np.exp(-mean)), EXTREME), 1.0 - EXTREME)
        variance = rate * (1.0 - rate)
        return cls(variance, replace(shares, mu=(variance * sd) ** 2 / variance), rate, belief)

    @property
    def slope(self) -> float:
        """How much a rate changes with its logit, at the suite's level."""
        return self.rate * (1.0 - self.rate)

    def mean(self, routes: Sequence[Route]) -> Floats:
        """Give the expected success rate of each route, (routes,)."""
        if self.belief is None or not routes:
            return np.full(len(routes), self.rate)
        return self.rate + self.slope * (self.belief.mean(routes) - self.belief.level[0])

    def cov(self, routes: Sequence[Route], others: Sequence[Route]) -> Floats:
        """Compute the covariances of success rates, (routes, others)."""
        s, left = self.shares, DISCREPANCY if self.belief is not None else 1.0
        out = np.full((len(routes), len(others)), s.mu)
        for share, part in ((s.model, _model), (s.harness, _harness), (s.pair, str)):
            codes: dict[str, int] = {}
            rows, columns = ([codes.setdefault(part(r), len(codes)) for r in some] for some in (routes, others))
            out += left * share * np.equal.outer(rows, columns)
        if self.belief is None and (s.release or s.price):
            out += traits(routes) * (s.release, s.price) @ traits(others).T
        out *= self.variance
        if self.belief is not None and out.size:
            out += self.slope**2 * self.belief.cov(routes, others)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Give everything but the belief as JSON values; the scorer keeps the belief."""
        return {"variance": self.variance, "shares": asdict(self.shares), "rate": self.rate}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], belief: Belief | None = None) -> Self:
        """Restore the prior that `to_dict` described."""
        return cls(kept["variance"], Shares(**kept["shares"]), kept["rate"], belief)


def scale_of(score: Floats) -> float:
    """Compute Var(y) with one success and one failure added, so that equal outcomes claim no certainty.

    >>> scale_of(np.array([1.0, 0.0])), round(scale_of(np.ones(8)), 2), round(scale_of(np.full(998, 0.5)), 4)
    (0.25, 0.09, 0.0005)
    """
    return float(np.append(score, [0.0, 1.0]).var())


def _model(route: Route) -> str:
    return route.model


def _harness(route: Route) -> str:
    return route.harness
