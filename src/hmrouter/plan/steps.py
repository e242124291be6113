"""Probabilities and costs of attempts per route and scenario: to deliver a right answer, or to go on to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from hmrouter.plan.verifier import VerifierErrors
from hmrouter.state import Floats, Ints


@dataclass(frozen=True, slots=True)
class Prefix:
    """Success and cost of the first attempts of a sequence."""

    success: float
    """Probability that a right answer is delivered."""
    cost: float
    """Expected dollars."""
    reached: float
    """Probability that the last of them is started."""


@dataclass(frozen=True)
class Steps:
    """Chances and costs of an attempt, as arrays over (earlier attempts on the same route, routes, scenarios)."""

    weights: Floats
    """Probability of each scenario, (scenarios,)."""
    delivers: Floats
    """Probability that an attempt passes the check and is right."""
    goes_on: Floats
    """Probability that an attempt does not pass the check."""
    dollars: Floats
    """Expected cost of an attempt, (routes, scenarios)."""
    most: Ints
    """How often each route may be tried."""

    @classmethod
    def of(
        cls,
        weights: Floats,
        success: Floats,
        dollars: Floats,
        verifier: VerifierErrors | None = None,
        most: Ints | None = None,
        likeness: float = 1.0,
    ) -> Steps:
        """Make steps from success and dollars (routes, scenarios). A route is tried once unless `most` says more.

        In a scenario, the success of a route on the very task has a beta distribution around P with an intraclass
        correlation of `likeness`: an attempt that did not pass says something about the next one on the same route.

        >>> twice = Steps.of(np.ones(1), np.array([[0.5]]), np.ones((1, 1)), most=np.array([2]), likeness=0.5)
        >>> twice.delivers.round(3).ravel().tolist()  # after a failure, success is less likely
        [0.5, 0.25]
        """
        verifier = verifier or VerifierErrors()
        most = np.ones(len(success), dtype=np.int64) if most is None else most
        uses = int(most.max(initial=1))
        moments = _moments(success, likeness, uses + 1)
        # An attempt goes on with probability u - v p; m of them, with the binomial expansion of its power.
        u, v = 1.0 - verifier.false_pass, 1.0 - verifier.false_pass - verifier.false_fail
        terms = [[comb(m, j) * u ** (m - j) * (-v) ** j for j in range(m + 1)] for m in range(uses + 1)]
        fails = np.array([np.tensordot(t, moments[: len(t)], axes=1) for t in terms])
        right = np.array([np.tensordot(t, moments[1 : len(t) + 1], axes=1) for t in terms[:-1]])
        before = np.maximum(fails[:-1], 1e-300)
        return cls(
            weights=weights,
            delivers=(1.0 - verifier.false_fail) * np.clip(right / before, 0.0, 1.0),
            goes_on=np.clip(fails[1:] / before, 0.0, 1.0),
            dollars=dollars,
            most=most,
        )

    def along(self, sequence: Sequence[int]) -> tuple[Floats, Floats, Floats]:
        """Follow a sequence of routes: how much each attempt delivers and spends, and how often it is reached.

        Each is (attempts, scenarios), times the weight of the scenario.
        """
        delivered, spent, reached = (np.empty((len(sequence), len(self.weights))) for _ in range(3))
        reach, used = self.weights, dict[int, int]()
        for i, route in enumerate(sequence):
            m = used.get(route, 0)
            delivered[i], spent[i], reached[i] = reach * self.delivers[m, route], reach * self.dollars[route], reach
            reach = reach * self.goes_on[m, route]
            used[route] = m + 1
        return delivered, spent, reached

    def prefixes(self, sequence: Sequence[int]) -> list[Prefix]:
        """Return success and cost of each prefix of a sequence of routes."""
        delivered, spent, reached = (part.sum(axis=1) for part in self.along(sequence))
        rows = zip(delivered.cumsum().tolist(), spent.cumsum().tolist(), reached.tolist(), strict=True)
        return [Prefix(*row) for row in rows]


def _moments(mean: Floats, likeness: float, n: int) -> Floats:
    """Return E[p^j] for j = 0 to n, of beta distributions with these means and an intraclass correlation."""
    out = np.ones((n + 1, *mean.shape))
    for i in range(n):
        step = ((1.0 - likeness) * mean + i * likeness) / (1.0 - likeness + i * likeness) if i else mean
        out[i + 1] = out[i] * step
    return out
