"""Splits of tasks that are variants of each other: within their families, or by whole families."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.evidence.dataset import TRAINING_SHARE, Dataset, Split, hash_rank
from hmrouter.features.near_texts import NearTexts
from hmrouter.types import Task

FAMILY = ("family apart", "family together")
"""Settings: a test task's relatives were run, or none of them was."""
FAMILY_KEYS = ("family", "scenario", "template")
"""Keys of a task's meta, the first of which that it has names its family; a task without any is compared by text."""
SHARE, FEWEST = 0.2, 10
"""Families are worth an experiment where this share of the tasks has a relative, and there are so many families."""


@lru_cache(maxsize=8)
def named(benchmark: Benchmark) -> Dataset:
    """Give the outcomes of a benchmark with the families of its tasks in their meta, where a key of it says them."""

    def family(task: Task) -> Task:
        name = next((task.meta[k] for k in FAMILY_KEYS if task.meta.get(k) is not None), None)
        return task if name is None else replace(task, meta={**task.meta, "family": str(name)})

    return benchmark.data().with_tasks(family)


@lru_cache(maxsize=32)
def families_of(benchmark: Benchmark) -> dict[tuple[str, str], str]:
    """Say for each task, by its key, the family that it belongs to, alone or not."""
    tasks = named(benchmark).tasks
    _, near = NearTexts.of([t.text for t in tasks], [0] * len(tasks))
    return {t.key: t.family or f"text {n}" for t, n in zip(tasks, near.tolist(), strict=True)}


def has_families(benchmark: Benchmark) -> bool:
    """Tell whether enough tasks have a relative, in enough families."""
    of = families_of(benchmark)
    sizes = [n for n in Counter(of.values()).values() if n > 1]
    return len(sizes) >= FEWEST and sum(sizes) >= SHARE * len(of)


@lru_cache(maxsize=4)
def family_split(benchmark: Benchmark, together: bool, seed: int, number: int) -> Split:
    """Split tasks that have relatives 70/30: whole families, or each family in itself, so that none is on one side.

    Tasks without a relative are left out: they would only dilute what is measured.
    """
    data, of = named(benchmark), families_of(benchmark)
    sizes = Counter(of.values())
    keys = sorted((k for k, family in of.items() if sizes[family] > 1), key=lambda k: hash_rank(seed, number, *k))
    if together:
        names = sorted({of[k] for k in keys}, key=lambda family: hash_rank(seed, number, family))
        training = set(names[: round(TRAINING_SHARE * len(names))])
        train = {k for k in keys if of[k] in training}
    else:
        place: Counter[str] = Counter()
        train = set()
        for k in keys:
            place[of[k]] += 1
            if place[of[k]] <= min(max(round(TRAINING_SHARE * sizes[of[k]]), 1), sizes[of[k]] - 1):
                train.add(k)
    return Split(number, data.restrict(tasks=train), data.restrict(tasks=set(keys) - train))
