"""`overhead` (Table overhead): the time that routing takes: encoding a task, scoring the pool, and training.

Times are medians of single tasks, one after the other on one thread, as a service meets them; they are this machine's,
under whatever load it had. The setting names the embedder; every embedder that is configured here takes part.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.overhead import report as overhead_report
from hmrouter.bench.experiments.path import embedded, fit, row, split_of
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.judge.choices import shares_of
from hmrouter.bench.judge.predict import scorer_of
from hmrouter.bench.methods import REFERENCES
from hmrouter.errors import HMRouterError, NotFitted
from hmrouter.evidence.dataset import Split
from hmrouter.features.base import EMBEDDERS, embedder_named

TIMED = 40
"""Tasks that are timed one by one."""


class Overhead(Experiment):
    """Times routing."""

    name: ClassVar[str] = "overhead"
    title: ClassVar[str] = "Routing overhead"
    report: ClassVar[Report] = overhead_report
    methods: ClassVar[Sequence[str]] = ("fixed", "component_average", "knn", "embedllm", "component_only", "hm", "safe")
    quick: ClassVar[Quick] = Quick(splits=None)

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, embedder and method; one split is enough to time."""
        methods = [m for m in request.methods if m not in REFERENCES]
        settings = present_embedders()
        return [
            Unit(self.name, b.name, m, 0, setting) for b in request.benchmarks for setting in settings for m in methods
        ]

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Fit, then time single tasks."""
        split = split_of(benchmark, request.seed, unit.split)
        embedder = unit.setting.partition(" ")[0]
        own, scorer = replace(request, embedder=embedder), scorer_of(unit.method)
        found = fit(scorer, split, own, self.told_by(unit, own))
        x_test = embedded(split, own)[1]
        encoding = _encoding(split, embedder)
        routes, seconds = split.test.routes, split.train.cells.seconds
        score = _median_ms([partial(scorer.predict, x[None], routes) for x in x_test[:TIMED]])
        return [
            row(unit, split, shares_of(unit.method, split, found), found)
            | {
                "encode_ms": encoding.ms, "score_ms": score, "embedder_fit_seconds": encoding.fit_seconds,
                "n_routes": len(routes), "n_outcomes": len(split.train.cells),
                "agent_seconds": None if np.isnan(seconds).all() else float(np.nanmedian(seconds)),
            }
        ]  # fmt: skip


def present_embedders() -> list[str]:
    """List the embedders that are configured here: their name, and the model of those that have one.

    >>> "lsa" in present_embedders()
    True
    """
    out = []
    for name in EMBEDDERS.names():
        try:
            out.append(f"{name} {embedder_named(name).identity()['model']}")
        except NotFitted:  # it learns from the training texts
            out.append(name)
        except HMRouterError:  # not configured, or not installed
            continue
    return out


@dataclass(frozen=True, slots=True)
class _Encoding:
    fit_seconds: float
    ms: float


@lru_cache(maxsize=4)
def _encoding(split: Split, name: str) -> _Encoding:
    """Time an embedder: learning from the training texts, and one task; the same for all methods."""
    embedder = embedder_named(name)
    start = time.perf_counter()
    embedder.fit([t.text for t in split.train.tasks])
    seconds = time.perf_counter() - start
    texts = [t.text for t in split.test.tasks[:TIMED]]
    return _Encoding(seconds, _median_ms([partial(embedder.embed, [text]) for text in texts]))


def _median_ms(calls: Sequence[Callable[[], Any]]) -> float:
    """Median milliseconds of these calls; the first one is made once more, as it may have to prepare something."""
    times = []
    for call in (calls[0], *calls):
        start = time.perf_counter()
        call()
        times.append(1000.0 * (time.perf_counter() - start))
    return float(np.median(times[1:]))
