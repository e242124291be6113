"""SuiteBelief: the success of routes on a suite without outcomes, predicted from other suites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from hmrouter.history.agreement import disagreeing
from hmrouter.history.hierarchy import Hierarchy
from hmrouter.history.records import Record, once_per_family
from hmrouter.history.terms import Point, points_of
from hmrouter.state import Floats, State
from hmrouter.types import Route

HERE = "\0here"
"""The suite that is asked about, which no record has."""
KEPT = 2000
"""Routes whose relation to the evidence is kept."""


class SuiteBelief:
    """A Gaussian over the logits of any routes' success rates on a suite that has no outcomes yet."""

    def __init__(self, records: Sequence[Record], hierarchy: Hierarchy) -> None:
        self.records = tuple(records)
        self._hierarchy = hierarchy
        self._level = hierarchy.level
        self._reached: dict[Route, tuple[float, Floats]] = {}

    @property
    def level(self) -> tuple[float, float]:
        """Mean and standard deviation of a suite's level."""
        return self._level

    @property
    def variances(self) -> dict[str, float]:
        """The variance of each term."""
        return self._hierarchy.variances

    def mean(self, routes: Sequence[Route]) -> Floats:
        """Give the expected logit of each route's success rate, (routes,)."""
        reached = self._reached_of(routes)
        return np.array([reached[r][0] for r in routes], dtype=np.float64)

    def cov(self, routes: Sequence[Route], others: Sequence[Route]) -> Floats:
        """Give the covariances of the logits, (routes, others), apart from the suite's level."""
        cov = self._hierarchy.cov_by_reach(
            self._points(routes), self._reach(routes), self._points(others), self._reach(others)
        )
        return cov - self._hierarchy.variances["suite"]

    def disagreeing(self) -> set[str]:
        """Find the families of suites that the others predict worse than no knowledge does."""
        h = self._hierarchy
        return disagreeing(h.points, h.tasks, h.mean, h.variances)

    def state(self) -> State:
        """Save the records and the variances; the rest follows from them."""
        rows = [[r.suite, str(r.route), r.tasks, r.mean, r.cost, r.family, r.source, r.date] for r in self.records]
        return State({}, {"records": rows, "variances": self._hierarchy.variances})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the belief that `state` saved."""
        records = [
            Record(suite, Route.parse(route), tasks, mean, cost, family, source, date)
            for suite, route, tasks, mean, cost, family, source, date in state.meta["records"]
        ]
        return cls.of(records, state.meta["variances"])

    @classmethod
    def of(cls, records: Sequence[Record], variances: dict[str, float] | None = None) -> Self:
        """Fit a belief to records, with variances learned or given."""
        points = points_of([r.route for r in records], [r.family for r in records])
        tasks = np.array([r.tasks for r in records], dtype=np.float64)
        mean = np.array([r.mean for r in records], dtype=np.float64)
        if variances is None:
            return cls(records, Hierarchy.fit(points, tasks, mean))
        return cls(records, Hierarchy(points, tasks, mean, variances))

    def _reach(self, routes: Sequence[Route]) -> Floats:
        """Compute the part of each route that the records explain, (routes, records)."""
        reached = self._reached_of(routes)
        return np.array([reached[r][1] for r in routes]).reshape(len(routes), len(self.records))

    def _reached_of(self, routes: Sequence[Route]) -> dict[Route, tuple[float, Floats]]:
        """Give the expected logit of each route and the part that records explain; kept for the next question.

        A dictionary that is there never changes: another takes its place, so that threads may ask at once.
        """
        kept = self._reached
        if new := [r for r in dict.fromkeys(routes) if r not in kept]:
            if len(kept) + len(new) > KEPT:
                kept, new = {}, list(dict.fromkeys(routes))
            mean, reach = self._hierarchy.reach(self._points(new))
            kept = kept | dict(zip(new, zip(mean.tolist(), reach, strict=True), strict=True))
            self._reached = kept
        return kept

    def _points(self, routes: Sequence[Route]) -> list[Point]:
        return points_of(routes, [HERE] * len(routes))


def learn(records: Iterable[Record]) -> SuiteBelief | None:
    """Learn from the records what to expect of routes on a suite that has none among them; None without records."""
    kept = once_per_family(records)
    if not kept:
        return None
    belief = SuiteBelief.of(kept)
    if apart := belief.disagreeing():
        belief = SuiteBelief.of([r for r in kept if r.family not in apart])
    return belief
