"""Memory of tasks: indexing near-identical texts, a fit that remembers, and answers about tasks that were run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.memory import peak_mb
from benchmarks.ratio import Ratio
from benchmarks.timing import Work, growth, speedup
from benchmarks.world import pool
from hmrouter.evidence.dataset import Dataset
from hmrouter.features.near_texts import NearTexts
from hmrouter.scorers.base import Training
from hmrouter.scorers.safe import Safe
from hmrouter.types import Outcome, Task

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"]
TEXTS = (12_500, 35_000, 100_000)
PER_TASK = 5
SIZES = (2_000, 200_000)
"""Tasks, five cells each; two tasks a family: 10^6 cells and 10^5 families at most."""


def texts(n: int) -> list[str]:
    """Templates of fifteen words, each filled with two values."""
    rng = np.random.default_rng(0)
    words = rng.integers(len(WORDS), size=((n + 1) // 2, 15))
    return [f"{' '.join(WORDS[w] for w in words[i // 2])} for {i}" for i in range(n)]


def simulate(n: int) -> Training:
    """Every task has been run on five of 300 routes."""
    rng, routes, dims = np.random.default_rng(0), pool(20, 15), 34
    x = rng.standard_normal((n, dims)) / np.sqrt(dims)
    tasks = [Task(f"{i:06d}", text=text) for i, text in enumerate(texts(n))]
    first = rng.integers(len(routes), size=n)
    score = (rng.random((n, PER_TASK)) < 0.5).astype(np.float64)
    outcomes = (
        Outcome(task, routes[(first[i] + 61 * j) % len(routes)], score[i, j])
        for i, task in enumerate(tasks)
        for j in range(PER_TASK)
    )
    return Training(Dataset(outcomes, routes=routes, tasks=tasks), x, {})


def as_texts_grow() -> Iterator[Ratio]:
    """Index texts of which every second one is near another."""
    every = texts(TEXTS[-1])
    works = {n: (lambda n=n: NearTexts.of(every[:n], [0] * n)) for n in TEXTS}
    what = "exponent of the time to index 12,500 to 100,000 texts"
    yield Ratio("near_growth", growth(works, rounds=1), what, at_most=1.2)


def as_cells_grow() -> Iterator[Ratio]:
    """A fit with memory beside one without; an answer about a known task beside one about a new one, and its growth."""
    small, large = (simulate(n) for n in (SIZES[0], SIZES[1] // 10))
    fits = speedup(lambda: Safe(memory=False).fit(large), lambda: Safe().fit(large), rounds=1)
    yield Ratio("remembering_fit", fits, "fit with memory / without, 100,000 cells of 300 routes", at_most=4)

    def asking(training: Training, known: bool) -> Work:
        scorer, routes = Safe().fit(training), training.data.routes
        tasks = [training.data.tasks[7] if known else Task("never seen")]
        return lambda: scorer.predict_tasks(training.x[7:8], routes, tasks).merit

    known, what = asking(large, known=True), "answer about a task that was run / about a new one, 300 routes"
    yield Ratio("recall_vs_new", speedup(asking(large, known=False), known, rounds=5, times=20), what)
    more = speedup(asking(small, known=True), known, rounds=5, times=20)
    yield Ratio("recall_growth", more, "answer with 100,000 cells / with 10,000", at_most=1.5)


def memory() -> Iterator[Ratio]:
    """The peak of a process that makes the outcomes, collects them and fits; in MB, as there is no ratio to it."""
    used = peak_mb("from benchmarks.remembering import SIZES, Safe, simulate; Safe().fit(simulate(SIZES[-1]))")
    what = "MB at the peak of a process that fits 1,000,000 cells of 100,000 families"
    yield Ratio("remembering_peak_mb", used, what, at_most=3000)
