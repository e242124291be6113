"""Scenarios of a task: how easy it may turn out to be, and which models and harnesses it may suit.

    P(success on route r | scenario) = sigmoid(slope_r * (ease + a_model + b_harness) + level_r)

The ease is one of the nodes. What suits a model, or a harness, takes one of two values, as far from zero as its
variance says: up or down. Signs are columns of a Hadamard matrix, so that any two models or harnesses are up together
as often as not. An attempt that fails makes the scenarios likelier in which its model and its harness do badly, and so
tells more about a route that shares one of them than about a route that shares none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from hmrouter.logits import logit, sigmoid
from hmrouter.plan.difficulty.tie import EXACT, tied
from hmrouter.state import Floats
from hmrouter.types import EarlierRuns, Route

SIGNS = 16
"""Combinations of signs: up to 15 models and harnesses have a column each, those of the first routes."""
RUNS = 5.0
"""Earlier runs of one route on a task tell at most as much about its ease as this many: they are alike."""


@dataclass(frozen=True)
class Scenarios:
    """What may come of a task on the routes of a pool, in scenarios with a weight each."""

    weights: Floats
    """(scenarios,)"""
    shape: Floats
    """What is added to each route's level, (routes, scenarios)."""
    factors: Floats
    """How many times its usual dollars a route costs, (routes, scenarios); 1 on average."""
    lift: float = 0.0
    """Added to the logit of an expected score, it gives that of passing."""

    def success(self, success: Floats, within: float = EXACT) -> Floats:
        """Spread predicted `success` (..., routes) over the scenarios: (..., routes, scenarios), with that mean.

        Of soft scores, the mean is `passing(success)`.
        """
        return tied(self.shape, self.weights, passing(success, self.lift), within)

    def dollars(self, dollars: Floats) -> Floats:
        """Spread expected `dollars` (routes,) over the scenarios: (routes, scenarios), with that mean."""
        return np.asarray(dollars[:, None] * self.factors / (self.factors @ self.weights)[:, None])

    def of(self, routes: Sequence[int]) -> Self:
        """Keep some of the routes, by their places."""
        return replace(self, shape=self.shape[list(routes)], factors=self.factors[list(routes)])

    def given(self, routes: Sequence[Route], success: Floats, earlier: Sequence[EarlierRuns]) -> Self:
        """Weigh the scenarios by how well they explain earlier runs on the task; `success`: without these runs."""
        at = {route: i for i, route in enumerate(routes)}
        known = [e for e in earlier if e.route in at and not e.like]
        if not known:
            return self
        places = [at[e.route] for e in known]
        p = np.clip(self.of(places).success(np.asarray(success)[places]), 1e-6, 1.0 - 1e-6)
        score, runs = np.array([e.score for e in known]), np.array([min(e.runs, RUNS) for e in known])
        log = (runs * score) @ np.log(p) + (runs * (1.0 - score)) @ np.log1p(-p) + np.log(self.weights)
        weights = np.exp(log - log.max())
        return replace(self, weights=weights / weights.sum())


def signs(routes: Sequence[Route]) -> tuple[dict[tuple[str, str], Floats], int]:
    """Give the models and harnesses that several routes share a column of signs each, and say how long they are.

    >>> columns, n = signs([Route("a", "x"), Route("a", "y"), Route("b", "x")])
    >>> n, {name: column.tolist() for name, column in columns.items()}
    (4, {('model', 'a'): [1.0, -1.0, 1.0, -1.0], ('harness', 'x'): [1.0, 1.0, -1.0, -1.0]})
    """
    parts = [(kind, getattr(r, kind)) for r in routes for kind in ("model", "harness")]
    counts = Counter(parts)
    shared = [part for part in dict.fromkeys(parts) if counts[part] > 1][: SIGNS - 1]
    n = 1
    while n <= len(shared):
        n *= 2
    rows = np.arange(n)
    return {part: _parity(rows & column) for column, part in enumerate(shared, start=1)}, n


def passing(success: Floats, lift: float) -> Floats:
    """Turn an expected score into the probability that a run passes."""
    if not lift:
        return success
    inner = np.clip(success, 1e-9, 1.0 - 1e-9)
    return np.where(inner == success, sigmoid(logit(inner) + lift), success)


def _parity(bits: np.ndarray) -> Floats:
    """Return 1 for an even number of bits, -1 for an odd one."""
    out = np.zeros(len(bits), dtype=np.int64)
    while bits.any():
        out, bits = out ^ (bits & 1), bits >> 1
    return np.asarray(1.0 - 2.0 * out)
