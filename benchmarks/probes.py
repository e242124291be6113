"""Choosing executions: as tasks grow, as routes grow, and at the size that a big team has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.memory import peak_mb
from benchmarks.ratio import Ratio
from benchmarks.timing import growth, seconds
from benchmarks.world import pool
from hmrouter.evidence.dataset import Dataset
from hmrouter.probe import Prober
from hmrouter.types import Outcome, Task

RUNS = 50
CELLS_PER_TASK = 10
TASKS, MODELS, HARNESSES = 10_000, 20, 15
GROWTH_TASKS = (1_250, 2_500, 5_000, 10_000)
GROWTH_MODELS = (5, 10, 20)


def simulate(n_tasks: int, n_models: int = MODELS) -> Dataset:
    """Every task has been run on ten routes; half succeed."""
    rng, routes = np.random.default_rng(0), pool(n_models, HARNESSES)
    tasks = [Task(f"{t:06d}") for t in range(n_tasks)]
    return Dataset(
        (
            Outcome(task, routes[r], float(rng.random() < 0.5), cost=0.5)
            for task in tasks
            for r in rng.choice(len(routes), CELLS_PER_TASK, replace=False).tolist()
        ),
        routes=routes,
    )


def suggest(data: Dataset) -> object:
    """From a data set to a batch, all of it."""
    return Prober(data).suggest(runs=RUNS)


def as_it_grows() -> Iterator[Ratio]:
    """More tasks on 300 routes, and more routes on 2,500 tasks."""
    by_tasks = {n: simulate(n) for n in GROWTH_TASKS}
    works = {n: (lambda data=data: suggest(data)) for n, data in by_tasks.items()}
    what = f"exponent of time to suggest {RUNS} runs, {GROWTH_TASKS[0]:,} to {GROWTH_TASKS[-1]:,} tasks x 300 routes"
    yield Ratio("probe_growth_tasks", growth(works, rounds=2), what, at_most=1.1)
    by_routes = {n * HARNESSES: simulate(2_500, n) for n in GROWTH_MODELS}
    works = {n: (lambda data=data: suggest(data)) for n, data in by_routes.items()}
    what = f"the same, {min(works)} to {max(works)} routes x 2,500 tasks"
    yield Ratio("probe_growth_routes", growth(works, rounds=2), what, at_most=1.5)


def at_full_size() -> Iterator[Ratio]:
    """Seconds and megabytes, as there is no ratio to them."""
    data = simulate(TASKS)
    suggest(simulate(100))  # the first call pays for imports
    what = f"seconds to suggest {RUNS} runs, {TASKS:,} tasks x {MODELS * HARNESSES} routes"
    yield Ratio("probe_seconds", min(seconds(lambda: suggest(data)) for _ in range(2)), what, at_most=5)
    used = peak_mb("from benchmarks.probes import TASKS, simulate, suggest; suggest(simulate(TASKS))")
    yield Ratio("probe_peak_mb", used, "MB at the peak of a process that does so", at_most=2000)
