"""The pooled model: solving as cells grow to a million, memory, and taking in one more outcome against a refit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from benchmarks.memory import peak_mb
from benchmarks.ratio import Ratio
from benchmarks.timing import growth, seconds
from benchmarks.world import pool
from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Training
from hmrouter.scorers.safe import Safe
from hmrouter.types import Outcome, Task

GROWTH_TASKS = (12_500, 35_000, 100_000)
CELLS_PER_TASK = 10
OBSERVED = 300


def simulate(n_tasks: int, n_models: int = 50, n_harnesses: int = 20) -> Training:
    """Every task has been run on ten routes; vectors as long as the model's features."""
    rng, routes = np.random.default_rng(0), pool(n_models, n_harnesses)
    x = rng.standard_normal((n_tasks, 34)) / np.sqrt(34)
    first, step = rng.integers(len(routes), size=n_tasks), rng.integers(1, len(routes) // CELLS_PER_TASK, size=n_tasks)
    route = (first[:, None] + step[:, None] * np.arange(CELLS_PER_TASK)) % len(routes)
    good = rng.normal(0.5, 0.1, len(routes))[route] + rng.normal(0.0, 0.2, (n_tasks, 1)) + 0.2 * x[:, :1]
    score = (rng.random(route.shape) < good).astype(np.float64)
    tasks = [Task(f"{t:06d}") for t in range(n_tasks)]
    outcomes = (
        Outcome(task, routes[r], s)
        for task, of_task, scores in zip(tasks, route.tolist(), score.tolist(), strict=True)
        for r, s in zip(of_task, scores, strict=True)
    )
    return Training(Dataset(outcomes, routes=routes, tasks=tasks), x, {})


def as_cells_grow() -> Iterator[Ratio]:
    """The whole fit: features, solve, five more for the calibration; 1,000 routes."""
    whole = simulate(GROWTH_TASKS[-1])
    trainings = []
    for n in GROWTH_TASKS:
        data = whole.data.restrict(tasks={task.key for task in whole.data.tasks[:n]})
        trainings.append(Training(data, whole.x[:n], {}))
    works = {len(t.data.cells): (lambda t=t: Safe().fit(t)) for t in trainings}
    cells = f"{min(works):,} to {max(works):,}"
    yield Ratio("pooled_growth", growth(works, rounds=2), f"exponent of fit time, {cells} cells", at_most=1.1)


def memory() -> Iterator[Ratio]:
    """The peak of a process that makes the outcomes, collects them and fits; in MB, as there is no ratio to it."""
    used = peak_mb("from benchmarks.pooled import GROWTH_TASKS, Safe, simulate; Safe().fit(simulate(GROWTH_TASKS[-1]))")
    what = "MB at the peak of a process that collects and fits 1,000,000 cells"
    yield Ratio("pooled_peak_mb", used, what, at_most=2000)


def observing_against_a_refit() -> Iterator[Ratio]:
    """300 routes, 30,000 cells: one more outcome, of a new task, and the fit that would give the same."""
    training, number = simulate(3_000, 20, 15), count()
    safe, routes = Safe().fit(training), training.data.routes

    def observe() -> None:
        i = next(number)
        safe.observe(Outcome(Task(f"new {i}"), routes[i * 7 % len(routes)], float(i % 2)), training.x[i])

    observe()
    ratios = []
    for _ in range(5):
        refit, one = seconds(lambda: Safe().fit(training)), seconds(observe, OBSERVED)
        ratios.append(refit / one)
    what = "refit / observe, one more outcome at 300 routes and 30,000 cells"
    yield Ratio("observe_vs_refit", float(np.median(ratios)), what, at_least=100)
