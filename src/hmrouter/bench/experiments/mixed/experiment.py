"""`mixed`: several suites with common routes as one workload, in which the best pair may differ from suite to suite.

Groups are found in the data: benchmarks that share no task and have at least COMMON routes in common; these are the
pool. Every suite is split 70/30. A router is told the text of a task, not its suite; `fixed_per_suite`, the best pair
of each suite on its training tasks, is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.benchmarks.cells import outcomes_of
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.mixed import report as mixed_report
from hmrouter.bench.experiments.path import fit, row
from hmrouter.bench.judge.choices import best_among, dense, shares_of, tie_order
from hmrouter.bench.judge.history import others
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.state import Floats

COMMON = 5
"""Routes that all suites of a group have."""
PER_SUITE = "fixed_per_suite"


class Mixed(Experiment):
    """Measures what is gained by choosing per task where the kind of task changes."""

    name: ClassVar[str] = "mixed"
    title: ClassVar[str] = "Several suites as one workload"
    report: ClassVar[Report] = mixed_report
    methods: ClassVar[Sequence[str]] = (
        "random", "fixed", PER_SUITE, "knn", "avengers", "embedllm", "hm", "safe_alone", "safe", "oracle"
    )  # fmt: skip
    own_methods: ClassVar[Mapping[str, str]] = {PER_SUITE: "fixed"}

    def units(self, request: RunRequest) -> list[Unit]:
        """One per group, split and method; a group runs in the name of its first benchmark."""
        return [
            Unit(self.name, group[0].name, method, split)
            for group in groups_of(request.benchmarks)
            for split in range(request.splits)
            for method in request.methods
        ]

    def sources(self, benchmark: Benchmark, request: RunRequest) -> tuple[Benchmark, ...]:
        """List the benchmarks that share no task with any of the group."""
        return elsewhere(_group_of(benchmark, request), request.benchmarks)

    def reads(self, unit: Unit, request: RunRequest) -> Sequence[Benchmark]:
        """List the others of the group, and those that the method listens to."""
        return (*_group_of(request.benchmark(unit.benchmark), request)[1:], *self.told_by(unit, request))

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Fit on the training tasks of all suites, choose on all test tasks."""
        group, per_task = _group_of(benchmark, request), None
        split = joined_split(group, request.seed, unit.split)
        if unit.method == PER_SUITE:
            found, shares = None, best_among(split.test, means_per_suite(split), tie_order(split.train))
        else:
            found = fit(unit.method, split, request, self.told_by(unit, request))
            shares = shares_of(unit.method, split, found)
            per_task = None if found is None else found.scorer.reliability().get("per_task")
        named = replace(unit, benchmark="+".join(b.name for b in group))
        return [
            row(named, split, shares, found, n_routes=len(split.test.routes), per_task=per_task,
                suites=accuracy_by_suite(split.test, shares))
        ]  # fmt: skip


def groups_of(benchmarks: Sequence[Benchmark]) -> list[tuple[Benchmark, ...]]:
    """Benchmarks that share routes and no task, each group led by another one of them."""
    return list(_groups(tuple(benchmarks)))


@lru_cache(maxsize=4)
def _groups(benchmarks: tuple[Benchmark, ...]) -> tuple[tuple[Benchmark, ...], ...]:
    routes = {b: frozenset(b.data().routes) for b in benchmarks}
    found: dict[frozenset[Benchmark], tuple[Benchmark, ...]] = {}
    for first in benchmarks:
        group: tuple[Benchmark, ...] = (first,)
        common = routes[first]
        # Whoever has most in common comes first; each must fit all that came before.
        for b in sorted(others(first, benchmarks), key=lambda b: (-len(routes[b] & routes[first]), b.name)):
            if len(common & routes[b]) >= COMMON and all(b in others(member, [b]) for member in group):
                group, common = (*group, b), common & routes[b]
        if len(group) > 1:
            found.setdefault(frozenset(group), group)
    return tuple(found.values())


def elsewhere(group: Sequence[Benchmark], benchmarks: Sequence[Benchmark]) -> tuple[Benchmark, ...]:
    """The benchmarks that share no task with any of the group."""
    return tuple(b for b in benchmarks if b not in group and all(others(member, [b]) for member in group))


@lru_cache(maxsize=4)
def joined_split(group: tuple[Benchmark, ...], seed: int, number: int) -> Split:
    """Split `number` of the group's suites together, on their common routes."""
    common = frozenset[Any].intersection(*(frozenset(b.data().routes) for b in group))
    data = Dataset(o for b in group for o in outcomes_of(b.data().restrict(routes=common)))
    return data.splits(number + 1, seed)[number]


def means_per_suite(split: Split) -> Floats:
    """For each test task, the training means of its suite, (tasks, routes); the worst where a route was not run."""
    means = {}
    for suite in split.train.suites:
        of_routes = split.train.restrict(suites=[suite]).route_means()
        means[suite] = np.where(np.isnan(of_routes), -np.inf, of_routes)
    nothing = np.zeros(len(split.test.routes))
    return np.array([means.get(t.suite, nothing) for t in split.test.tasks])


def accuracy_by_suite(test: Dataset, shares: Floats) -> dict[str, list[float]]:
    """Suite -> accuracy and the oracle's accuracy on its test tasks, and their number."""
    scores, out = dense(test), {}
    suites = np.array([t.suite for t in test.tasks])
    judged = ~np.isnan(scores).all(axis=1)
    for suite in test.suites:
        own = judged & (suites == suite)
        if own.any():
            chosen = np.nansum(scores[own] * shares[own], axis=1)
            out[suite] = [float(chosen.mean()), float(np.nanmax(scores[own], axis=1).mean()), int(own.sum())]
    return out


def _group_of(first: Benchmark, request: RunRequest) -> tuple[Benchmark, ...]:
    return next(group for group in groups_of(request.benchmarks) if group[0] == first)
