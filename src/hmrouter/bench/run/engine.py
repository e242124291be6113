"""Runs units: from the cache if they are finished, else on this machine's cores or on a Ray cluster.

A unit that fails is reported and left out; the others go on. Rows come in the order of the units, whatever
finished first, so that every engine gives the same results.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol

from hmrouter.bench.experiments.base import Unit
from hmrouter.bench.run.failures import sentences
from hmrouter.bench.run.local_engine import run_local
from hmrouter.bench.run.ray_engine import run_ray
from hmrouter.bench.run.results_cache import ResultsCache
from hmrouter.bench.run.unit_keys import UnitKeys
from hmrouter.bench.run.vectors import keep_vectors
from hmrouter.bench.run.work import Requests, UnitResult
from hmrouter.errors import UnknownName

ENGINES = ("local", "ray")


@dataclass(slots=True)
class Results:
    """Holds what a run gave."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """What failed and why, in sentences."""
    computed: int = 0
    cached: int = 0


class Watch(Protocol):
    """Is told how far a run is."""

    def begins(self, todo: Sequence[Unit], cached: int) -> None:
        """Hear, before the first unit is run, what there is to do and how many units are finished already."""

    def ended(self, finished: UnitResult) -> None:
        """Hear that a unit was run."""


def run(
    units: Sequence[Unit],
    requests: Requests,
    cache: ResultsCache,
    *,
    engine: str = "local",
    jobs: int | None = None,
    address: str | None = None,
    watch: Watch | None = None,
) -> Results:
    """Run the units and collect their rows."""
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    keys = UnitKeys(requests)
    done: dict[Unit, UnitResult] = {}
    for unit in units:
        rows = cache.get(keys.of(unit))
        if rows is not None:
            done[unit] = UnitResult(unit, rows, cached=True)
    todo = [unit for unit in units if unit not in done]
    cached = len(done)
    if watch is not None:
        watch.begins(todo, cached)
    keep_vectors(todo, requests)
    with closing(_execute(engine, todo, requests, jobs or os.cpu_count() or 1, address)) as running:
        for finished in running:
            done[finished.unit] = finished
            if not finished.error:
                cache.put(keys.of(finished.unit), finished.rows)
            if watch is not None:
                watch.ended(finished)
    ended = [done[unit] for unit in units]
    return Results([row for f in ended for row in f.rows], sentences(ended), len(todo), cached)


def _execute(
    engine: str, units: Sequence[Unit], requests: Requests, jobs: int, address: str | None
) -> Generator[UnitResult, None, None]:
    if not units:
        return
    yield from run_local(units, requests, jobs) if engine == "local" else run_ray(units, requests, jobs, address)
