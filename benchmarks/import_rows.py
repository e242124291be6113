"""Importing outcomes into a SQLite store: time as rows grow to a million, and memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.memory import peak_mb
from benchmarks.ratio import Ratio
from benchmarks.timing import growth
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task

GROWTH_ROWS = (62_500, 250_000, 1_000_000)
ROUTES = tuple(Route(f"model-{i % 25}", f"harness-{i // 25}") for i in range(100))
PER_TASK = 10


def rows(n: int) -> Iterator[Outcome]:
    """Ten routes per task, route after route as logs have them: a task comes back long after it was first seen."""
    n_tasks = n // PER_TASK
    for i in range(n):
        task, nth = i % n_tasks, i // n_tasks
        route = ROUTES[(task + 10 * nth) % len(ROUTES)]
        text = f"Repair what test {task} of the suite reports. " * 8
        yield Outcome(
            Task(f"task-{task:07d}", "generated", text), route, float(i % 3 == 0), cost=i / n,
            input_tokens=i, cached_tokens=i // 2, output_tokens=i // 10, source="benchmark", run=f"run-{nth}",
        )  # fmt: skip


def into_sqlite(n: int) -> None:
    """Import into a new store."""
    with TemporaryDirectory() as folder, OutcomeStore(f"sqlite:///{Path(folder) / 'store.db'}") as store:
        if store.add(rows(n)).new != n:
            raise RuntimeError(f"of {n} new rows some were not stored")


def as_rows_grow() -> Iterator[Ratio]:
    """Reading the generated rows, staging, merging and counting them."""
    works = {n: (lambda n=n: into_sqlite(n)) for n in GROWTH_ROWS}
    span = f"{min(works):,} to {max(works):,}"
    yield Ratio("import_growth", growth(works, rounds=1), f"exponent of import time, {span} rows", at_most=1.15)


def memory() -> Iterator[Ratio]:
    """The peak of a process that imports a million rows; in MB, as there is no ratio to it."""
    used = peak_mb("from benchmarks.import_rows import GROWTH_ROWS, into_sqlite; into_sqlite(GROWTH_ROWS[-1])")
    what = f"MB at the peak of a process that imports {GROWTH_ROWS[-1]:,} rows into SQLite"
    yield Ratio("import_peak_mb", used, what, at_most=300)
