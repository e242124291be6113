"""Benchmark directories: `outcomes.csv` and `queries.jsonl`, one directory or a folder of them.

outcomes.csv   query_id, model, harness, score, n_trials, cost_usd, cost_is_route_mean
queries.jsonl  query_id, text, meta
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from pathlib import Path

from hmrouter.errors import InputError, UsageError
from hmrouter.logs import cells
from hmrouter.logs.base import Notes, Request, problem
from hmrouter.logs.csv_file import csv_rows
from hmrouter.logs.jsonl_file import jsonl_objects
from hmrouter.logs.table import Origin, outcomes
from hmrouter.names import Names
from hmrouter.types import Outcome, Task

OUTCOMES = "outcomes.csv"
QUERIES = "queries.jsonl"

# A directory says what its outcomes are about: these never come from a column of outcomes.csv.
OF_THE_DIRECTORY = ("suite", "source", "run", "text", "meta")


class BenchmarkReader:
    """The project's own exchange format. Suite and source are the directory's name, the run is its content hash."""

    name = "benchmark"

    def sniff(self, path: Path) -> bool:
        """A directory that holds one of the two files, or directories that do."""
        return os.path.isdir(path) and bool(benchmark_directories(path))

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per row of each `outcomes.csv`."""
        if not os.path.isdir(path):
            raise problem(path, f"is not a directory; a benchmark is one with {OUTCOMES} and {QUERIES}")
        directories = benchmark_directories(path, request.notes)
        if not directories:
            raise problem(path, f"neither holds {OUTCOMES} and {QUERIES} nor directories that do")
        if request.suite and len(directories) > 1:
            raise UsageError(
                f"one suite {request.suite!r} for {len(directories)} benchmarks would mix their tasks;"
                " leave it out (each gets its own name) or read them one by one"
            )
        for directory in directories:
            yield from _read(directory, request)


def benchmark_directories(path: Path, notes: Notes | None = None) -> list[Path]:
    """The directory itself if it is a benchmark, else those directly in it that are, by name."""
    try:
        if _is_benchmark(path):
            return [path]
        folders = sorted(child for child in path.iterdir() if child.is_dir() and not child.name.startswith("."))
        found = [folder for folder in folders if _is_benchmark(folder)]
    except OSError as error:
        raise problem(path, f"cannot be read: {error.strerror or error}") from None
    if notes is not None:
        notes.skipped.extend(str(folder) for folder in folders if folder not in found)
    return found


def read_benchmark(
    path: str | Path, suite: str | None = None, names: Names | None = None, notes: Notes | None = None
) -> Iterator[Outcome]:
    """The outcomes of a benchmark directory, or of a folder of them."""
    return BenchmarkReader().read(Path(path), Request.of(suite, names, notes=notes))


def _is_benchmark(path: Path) -> bool:
    # One of the two is enough: the reader then says which one is missing.
    return (path / OUTCOMES).is_file() or (path / QUERIES).is_file()


def _read(directory: Path, request: Request) -> Iterator[Outcome]:
    files = (directory / OUTCOMES, directory / QUERIES)
    for file in files:
        if not os.path.isfile(file):
            raise problem(directory, f"no {file.name} in it; a benchmark directory holds {OUTCOMES} and {QUERIES}")
    name = directory.absolute().name
    suite = request.suite or name
    origin = Origin(
        files[0], suite=suite, source=name, header="header", files=files,
        tasks=_tasks(files[1], suite), unread=OF_THE_DIRECTORY,
    )  # fmt: skip
    yield from outcomes(csv_rows(files[0]), origin, request)


def _tasks(path: Path, suite: str) -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    for line, query in jsonl_objects(path):
        try:
            query_id = cells.name(query.get("query_id"), "query_id")
            if not query_id:
                raise InputError("query_id is missing")
            if query_id in tasks:
                raise InputError(f"query_id {query_id!r} appears twice")
            text, meta = cells.text(query.get("text"), "text"), cells.meta(query.get("meta"), "meta")
            tasks[query_id] = Task(query_id, suite, text, meta)
        except InputError as error:
            raise problem(path, error, at=f"line {line}") from None
    return tasks
