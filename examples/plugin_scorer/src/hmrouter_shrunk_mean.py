"""A plug-in scorer: the mean score of each route, shrunk towards the mean of all while there are few outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from hmrouter.scorers.base import Scorer, Training, logit_of_mean
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route, Status


class ShrunkMean(Scorer):
    """Scores a route as if it had `strength` more outcomes at the mean of all routes."""

    name: ClassVar[str] = "shrunk_mean"

    def __init__(self, strength: float = 5.0) -> None:
        self.strength = strength

    def fit(self, training: Training) -> Self:
        """Sum the scores of each route; a cell counts once, however many trials it is the mean of."""
        data = training.data
        totals = np.bincount(data.cells.route, weights=data.cells.score, minlength=len(data.routes)).tolist()
        counts = np.bincount(data.cells.route, minlength=len(data.routes)).tolist()
        self.sums_ = dict(zip(data.routes, zip(totals, counts, strict=True), strict=True))
        return self

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """The same row for every task."""
        sums: dict[Route, tuple[float, int]] = self._require_fitted("sums_")
        total, n = sum(t for t, _ in sums.values()), sum(n for _, n in sums.values())
        overall = total / n if n else 0.5
        means = []
        for route in routes:
            route_total, route_n = sums.get(route, (0.0, 0))
            means.append((route_total + self.strength * overall) / (route_n + self.strength))
        return np.tile(logit_of_mean(np.array(means)), (len(x), 1))

    def observe(self, outcome: Outcome, x: Floats) -> None:
        """One more score, unless the machinery failed."""
        sums: dict[Route, tuple[float, int]] = self._require_fitted("sums_")
        if outcome.status is Status.OK and outcome.score is not None:
            total, n = sums.get(outcome.route, (0.0, 0))
            sums[outcome.route] = (total + outcome.score, n + 1)

    def state(self) -> State:
        """Arrays go into the router file as they are, everything else as JSON."""
        sums: dict[Route, tuple[float, int]] = self._require_fitted("sums_")
        values = np.array(list(sums.values()), dtype=np.float64).reshape(-1, 2)
        return State({"sums": values}, {"strength": self.strength, "routes": [str(r) for r in sums]})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """What `state` described."""
        self = cls(strength=state.meta["strength"])
        rows = zip(state.meta["routes"], state.arrays["sums"].tolist(), strict=True)
        self.sums_ = {Route.parse(route): (total, int(n)) for route, (total, n) in rows}
        return self
