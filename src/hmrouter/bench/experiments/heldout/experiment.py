"""`heldout` (Fig. heldout_benchmark): route on a benchmark of which nothing was seen, learned from the others.

Benchmarks that share tasks with it do not count as others. Components are shared across benchmarks, so HM, the
component average and `safe` may choose any route; methods that know a route only by its own outcomes choose among the
routes that were run on another benchmark, as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.benchmarks.cells import outcomes_of
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.heldout import report as heldout_report
from hmrouter.bench.experiments.path import ALL_METHODS, BY_ROUTE, embedded, product_of, row, split_of
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.judge.choices import dense, shares_of
from hmrouter.bench.judge.history import informed, listens
from hmrouter.bench.judge.predict import Predictions, predict
from hmrouter.bench.methods import REFERENCES
from hmrouter.errors import InputError
from hmrouter.evidence.dataset import Dataset, Split


class HeldOut(Experiment):
    """Measures what carries over to a new benchmark."""

    name: ClassVar[str] = "heldout"
    title: ClassVar[str] = "Routing on held-out benchmarks"
    report: ClassVar[Report] = heldout_report
    methods: ClassVar[Sequence[str]] = ALL_METHODS
    quick: ClassVar[Quick] = Quick(splits=1, without=("mirt", "component_only"))

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, split and method."""
        return product_of(self.name, request)

    def reads(self, unit: Unit, request: RunRequest) -> Sequence[Benchmark]:
        """List the benchmarks that are learned from, whatever the method."""
        return self.sources(request.benchmark(unit.benchmark), request)

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Learn from the training tasks of the others, choose on the test tasks of this one."""
        sources = self.sources(benchmark, request)
        if not sources:
            raise InputError("there is no other benchmark that shares no task with it")
        split = heldout_split(benchmark, sources, request.seed, unit.split)
        train, test = split.train, split.test
        if not len(test.cells):
            raise InputError("the test side of this split has no outcome")
        here = ~np.isnan(dense(test)).all(axis=0)
        if not (here & train.observed).any():
            raise InputError("none of its routes was run on another benchmark, so most methods have nothing to choose")
        found = None if unit.method in REFERENCES else _fit(unit, split, request, sources)
        shares = shares_of(unit.method, split, found, train.observed if unit.method in BY_ROUTE else None)
        return [
            row(unit, split, shares, found, n_routes=int(here.sum()),
                n_routes_elsewhere=int((here & train.observed).sum()), learned_from=[b.name for b in sources])
        ]  # fmt: skip


@lru_cache(maxsize=2)
def heldout_split(benchmark: Benchmark, sources: tuple[Benchmark, ...], seed: int, number: int) -> Split:
    """The training sides of the sources joined, and the test side of the benchmark; both keep every route."""
    own = split_of(benchmark, seed, number).test
    seen = (outcome for b in sources for outcome in outcomes_of(split_of(b, seed, number).train))
    train = Dataset(seen, routes=own.routes)
    return Split(number, train, Dataset(outcomes_of(own), routes=train.routes, tasks=own.tasks))


def _fit(unit: Unit, split: Split, request: RunRequest, sources: tuple[Benchmark, ...]) -> Predictions:
    """Fit on the joined outcomes of the sources, or be told what they say and see none: this suite has no outcome."""
    training, x_test = embedded(split, request)
    sides = [split_of(b, request.seed, unit.split).train for b in sources]
    if listens(unit.method):
        training = replace(training, data=Dataset([], routes=split.train.routes), x=training.x[:0])
    return predict(unit.method, informed(training, unit.method, sources, sides), x_test, split.test)
