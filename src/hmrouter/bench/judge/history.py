"""Tells a method what the other benchmarks of a run say about the routes of one.

Benchmarks that share a task are not other for each other: what one of them shows about its tasks would be known of the
other's, and where both inform a third, their tasks count once. One common task is enough here, where accuracy is
measured; `history.families` asks for a share of the tasks, by ids alone, as it looks at stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.methods import METHODS
from hmrouter.errors import HMRouterError
from hmrouter.evidence.dataset import Dataset
from hmrouter.history import SuiteBelief, learn, records_of
from hmrouter.scorers.base import Scorer, Training


def shares_tasks(a: Dataset, b: Dataset) -> bool:
    """Tell whether the two have a task in common: the same id, and the same text wherever both have one.

    Ids alone do not tell: tasks that are merely numbered have the same ones everywhere.

    >>> from hmrouter.types import Task
    >>> one, other = Dataset([], tasks=[Task("1", "x", "Plot it")]), Dataset([], tasks=[Task("1", "y", "Call her")])
    >>> shares_tasks(one, other), shares_tasks(one, Dataset([], tasks=[Task("1", "z")]))
    (False, True)
    """
    texts = {task.id: task.text.split() for task in a.tasks}
    for task in b.tasks:
        if task.id in texts:
            here, there = texts[task.id], task.text.split()
            if here == there or not here or not there:
                return True
    return False


def others(benchmark: Benchmark, benchmarks: Iterable[Benchmark]) -> tuple[Benchmark, ...]:
    """List those of the benchmarks that share no task with this one."""
    return tuple(b for b in benchmarks if b != benchmark and not _share(*sorted((b, benchmark), key=lambda b: b.path)))


def listens(method: str | Scorer) -> bool:
    """Tell whether a method's scorer is one in which other suites have a say."""
    try:
        scorer = METHODS.load(method) if isinstance(method, str) else method
    except HMRouterError:  # a reference has no class; a plug-in that cannot be imported fails in its unit
        return False
    return getattr(scorer, "listens", False)


def informed(
    training: Training, method: str | Scorer, sources: Sequence[Benchmark], sides: Sequence[Dataset] | None = None
) -> Training:
    """Add what other benchmarks say to a training set, for a method that listens to it.

    `sides` are the parts of the sources' outcomes that may be known; without them, all are.
    """
    if not listens(method):
        return training
    return replace(training, belief=believed(sources) if sides is None else believed_of(sides, sources))


def believed(sources: Sequence[Benchmark]) -> SuiteBelief | None:
    """Learn, once per process, what these benchmarks say about the routes of another; None if there are none."""
    return _believed(tuple(sources))


def believed_of(sides: Sequence[Dataset], sources: Sequence[Benchmark]) -> SuiteBelief | None:
    """Learn the same from a part of each benchmark's outcomes."""
    family = _families(tuple(sources))
    return learn(record for side in sides for record in records_of(side, family))


@lru_cache(maxsize=64)
def _believed(sources: tuple[Benchmark, ...]) -> SuiteBelief | None:
    return believed_of([b.data() for b in sources], sources)


@lru_cache(maxsize=64)
def _families(benchmarks: tuple[Benchmark, ...]) -> dict[str, str]:
    """Suite -> the first of the benchmarks that it shares tasks with, by itself or through others."""
    family: dict[str, str] = {}
    for b in benchmarks:
        near = {family[o.name] for o in benchmarks if o.name in family and b not in others(o, [b, o])}
        joined = min(near, default=b.name)
        family = {name: joined if of in near else of for name, of in family.items()} | {b.name: joined}
    return family


@lru_cache(maxsize=1024)
def _share(a: Benchmark, b: Benchmark) -> bool:
    return shares_tasks(a.data(), b.data())
