"""SuiteBelief: the success of routes on a suite without outcomes, predicted from other suites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Self

import numpy as np

from hmrouter.history.agreement import disagreeing
from hmrouter.history.hierarchy import Hierarchy, one_thread
from hmrouter.history.records import Record, once_per_family
from hmrouter.history.terms import TERMS, Point, points_of
from hmrouter.state import Floats, State
from hmrouter.types import Route

HERE = "\0here"
"""The suite that is asked about, which no record has."""
KEPT = 2000
"""Routes whose relation to the evidence is kept."""


class SuiteBelief:
    """A Gaussian over the logits of any routes' success rates on a suite that has no outcomes yet.

    Its posterior is solved when it is first asked for something: a router that is loaded for routes that were run here
    does not ask.
    """

    def __init__(self, records: Sequence[Record], variances: Mapping[str, float]) -> None:
        """Hold records, and the variance of each term (`Hierarchy.fit` learns them)."""
        self.records = tuple(records)
        self.variances = {term: float(variances[term]) for term in TERMS}
        """The variance of each term."""
        self._tasks = np.array([r.tasks for r in records], dtype=np.float64)
        self._mean = np.array([r.mean for r in records], dtype=np.float64)
        if not np.isfinite([*self.variances.values(), *self._tasks, *self._mean]).all():
            raise ValueError("a record or a variance is not a finite number")
        self._reached: dict[Route, tuple[float, Floats]] = {}

    @cached_property
    def level(self) -> tuple[float, float]:
        """Mean and standard deviation of a suite's level."""
        return self._hierarchy.level

    def mean(self, routes: Sequence[Route]) -> Floats:
        """Give the expected logit of each route's success rate, (routes,)."""
        reached = self._reached_of(routes)
        return np.array([reached[r][0] for r in routes], dtype=np.float64)

    def cov(self, routes: Sequence[Route], others: Sequence[Route]) -> Floats:
        """Give the covariances of the logits, (routes, others), apart from the suite's level."""
        cov = self._hierarchy.cov_by_reach(
            self._points(routes), self._reach(routes), self._points(others), self._reach(others)
        )
        return cov - self.variances["suite"]

    def disagreeing(self) -> set[str]:
        """Find the families of suites that the others predict worse than no knowledge does."""
        h = self._hierarchy
        return disagreeing(h.points, h.tasks, h.mean, h.variances)

    def state(self) -> State:
        """Save the records and the variances; the rest follows from them."""
        rows = [[r.suite, str(r.route), r.tasks, r.mean, r.cost, r.family, r.source, r.date] for r in self.records]
        return State({}, {"records": rows, "variances": self.variances})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the belief that `state` saved."""
        records = [
            Record(suite, Route.parse(route), tasks, mean, cost, family, source, date)
            for suite, route, tasks, mean, cost, family, source, date in state.meta["records"]
        ]
        return cls(records, state.meta["variances"])

    @classmethod
    def of(cls, records: Sequence[Record]) -> Self:
        """Fit a belief to records: learn the variances."""
        self = cls(records, dict.fromkeys(TERMS, 0.0))
        with one_thread():
            self._hierarchy = Hierarchy.fit(_points_of(records), self._tasks, self._mean)
        self.variances = self._hierarchy.variances
        return self

    @cached_property
    def _hierarchy(self) -> Hierarchy:
        """The posterior; the same whoever of several threads computes it."""
        with one_thread():
            return Hierarchy(_points_of(self.records), self._tasks, self._mean, self.variances)

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


def _points_of(records: Sequence[Record]) -> list[Point]:
    return points_of([r.route for r in records], [r.family for r in records])


def learn(records: Iterable[Record]) -> SuiteBelief | None:
    """Learn from the records what to expect of routes on a suite that has none among them; None without records."""
    kept = once_per_family(records)
    if not kept:
        return None
    belief = SuiteBelief.of(kept)
    if apart := belief.disagreeing():
        belief = SuiteBelief.of([r for r in kept if r.family not in apart])
    return belief
