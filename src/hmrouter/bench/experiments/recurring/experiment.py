"""`recurring`: the next run of a task that was run before, and of a task whose relatives were run.

Agents' work recurs. On benchmarks whose cells have several runs, each cell of a test task gives one earlier run, and
choices are made for the later ones: knowing nothing (`none`), the earlier runs of the `best` k pairs of the training
tasks (`best 1` is what production looks like: the pair that is used was run), or those of k `random` pairs. On
benchmarks whose tasks have families, tasks are split within them (`family apart`: a test task's relatives were run) or
by whole families (`family together`: none was). `naive` is the rule that people follow: the best pair that succeeded
here, else the best one that was not seen failing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.path import embedded, row, split_of
from hmrouter.bench.experiments.recurring import report as recurring_report
from hmrouter.bench.experiments.recurring.earlier import EARLIER, Rerun, repeated_routes, rerun
from hmrouter.bench.experiments.recurring.families import FAMILY, family_split, has_families
from hmrouter.bench.judge.choices import best_among, shares_of, tie_order
from hmrouter.bench.judge.history import informed
from hmrouter.bench.judge.predict import predict, scorer_of
from hmrouter.bench.methods import REFERENCES
from hmrouter.evidence.dataset import Split
from hmrouter.scorers.base import Scorer, Training
from hmrouter.scorers.safe.scorer import Safe
from hmrouter.state import Floats

NAIVE, FORGETFUL = "naive", "safe_forgetful"
PASSED = 0.5
"""From this score on, a run succeeded."""


class Recurring(Experiment):
    """Measures what earlier runs on a task, or on its relatives, are worth."""

    name: ClassVar[str] = "recurring"
    title: ClassVar[str] = "Tasks that come again"
    report: ClassVar[Report] = recurring_report
    methods: ClassVar[Sequence[str]] = (
        "random", "fixed", NAIVE, "knn", "hm", FORGETFUL, "safe_alone", "safe", "oracle"
    )  # fmt: skip
    own_methods: ClassVar[Mapping[str, str]] = {NAIVE: "fixed", FORGETFUL: "safe"}

    def refusal(self, benchmark: Benchmark) -> str:
        """Refuse a benchmark on which nothing recurs."""
        if len(repeated_routes(benchmark.data())) > 1 or has_families(benchmark):
            return ""
        return "no two routes were run several times on most of their tasks, and no tasks are variants of each other"

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, setting that it allows, split and method."""
        return [
            Unit(self.name, b.name, method, split, setting)
            for b in request.benchmarks
            for setting in (*(EARLIER if len(repeated_routes(b.data())) > 1 else ()),
                            *(FAMILY if has_families(b) else ()))
            for split in range(request.splits)
            for method in request.methods
        ]  # fmt: skip

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Fit on what is known, choose for the runs that follow."""
        if unit.setting in FAMILY:
            whole = family_split(benchmark, unit.setting == FAMILY[1], request.seed, unit.split)
            ran = Rerun.of_new_tasks(whole)
        else:
            whole = _repeated_split(benchmark, request.seed, unit.split)
            ran = _rerun(whole, unit.setting, request.seed)
        split = ran.split
        if unit.method in REFERENCES:
            return [row(unit, split, shares_of(unit.method, split, None), None)]
        training, x_test = embedded(whole, request)  # which is the same for all settings
        if unit.method == NAIVE:
            found = predict("fixed", training, x_test, split.test)
            value = naive_value(found.merit, ran.earlier)
            return [row(unit, split, best_among(split.test, value, tie_order(split.train)), None)]
        if unit.method != "fixed":  # the best pair of the training tasks
            training = known_training(training, x_test, ran)
        method: Scorer = Safe(memory=False) if unit.method == FORGETFUL else scorer_of(unit.method)
        found = predict(method, informed(training, method, self.told_by(unit, request)), x_test, split.test)
        return [row(unit, split, shares_of(unit.method, split, found), found)]


def naive_value(merit: Floats, earlier: Floats) -> Floats:
    """Rank those that succeeded here first, then those not seen failing, then those that failed; each by merit."""
    succeeded, failed = earlier >= PASSED, earlier < PASSED  # neither where nothing was run
    spread = float(np.ptp(merit)) + 1.0
    return np.asarray(merit + spread * succeeded - spread * failed)


def known_training(training: Training, x_test: Floats, ran: Rerun) -> Training:
    """Add the earlier runs that are known to a training set, with the vectors of their tasks."""
    sides = ((ran.split.train, training.x), (ran.split.test, x_test))
    vectors = {t.key: x for side, rows in sides for t, x in zip(side.tasks, rows, strict=True)}
    x = np.array([vectors[t.key] for t in ran.known.tasks], dtype=training.x.dtype)
    return replace(training, data=ran.known, x=x.reshape(len(ran.known.tasks), training.x.shape[1]))


@lru_cache(maxsize=8)
def _repeated_split(benchmark: Benchmark, seed: int, number: int) -> Split:
    split = split_of(benchmark, seed, number)
    routes = repeated_routes(benchmark.data())
    return Split(number, split.train.restrict(routes=routes), split.test.restrict(routes=routes))


@lru_cache(maxsize=8)
def _rerun(split: Split, setting: str, seed: int) -> Rerun:
    return rerun(split, setting, seed)
