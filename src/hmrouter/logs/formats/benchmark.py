"""Benchmark directories: `outcomes.csv` and `queries.jsonl`, one directory or a folder of them.

outcomes.csv   query_id, model, harness, score, n_trials, cost_usd, cost_is_route_mean
queries.jsonl  query_id, text, meta
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path

from hmrouter.errors import InputError, UsageError
from hmrouter.logs import coerce
from hmrouter.logs.base import Notes, Request, problem, shown
from hmrouter.logs.formats.csv_file import csv_rows
from hmrouter.logs.formats.jsonl_file import jsonl_objects
from hmrouter.logs.table import Origin, file_name, outcomes
from hmrouter.names import Names
from hmrouter.types import Outcome, Task

OUTCOMES = "outcomes.csv"
QUERIES = "queries.jsonl"
HOW = (
    "a row per execution under the header query_id,model,harness,score,cost_usd",
    'a line per task, {"query_id": "T-101", "text": "Fix the parser"}',
)
"""How to make each of them."""

# A directory says what its outcomes are about: these never come from a column of outcomes.csv.
OF_THE_DIRECTORY = ("suite", "source", "run", "text", "text_hash", "meta")


class BenchmarkReader:
    """The project's own exchange format. Suite and source are the directory's name, the run is its content hash."""

    name = "benchmark"

    def sniff(self, path: Path) -> bool:
        """A directory that holds one of the two files."""
        return os.path.isdir(path) and _is_benchmark(path)

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per row of each `outcomes.csv`."""
        if not os.path.isdir(path):
            raise problem(path, f"is not a directory; a benchmark is one with {OUTCOMES} and {QUERIES}")
        directories = benchmark_directories(path, request.notes)
        if not directories:
            raise problem(path, f"neither holds {OUTCOMES} and {QUERIES} nor directories that do")
        if request.suite:
            refuse_mixing(request.suite, len(directories))
        for directory in directories:
            yield from _read(directory, request)


def benchmark_directories(path: Path, notes: Notes | None = None) -> list[Path]:
    """Find benchmark directories: the directory itself if it is one, else those directly in it that are, by name."""
    try:
        if _is_benchmark(path):
            return [path]
        folders = sorted(child for child in path.iterdir() if child.is_dir() and not child.name.startswith("."))
        found = [folder for folder in folders if _is_benchmark(folder)]
    except OSError as error:
        raise problem(path, f"cannot be read: {error.strerror or error}") from None
    if notes is not None:
        notes.skipped.extend(shown(folder) for folder in folders if folder not in found)
    return found


def refuse_mixing(suite: str, directories: int) -> None:
    """Refuse one suite for several benchmarks: ids are unique within a benchmark only."""
    if directories > 1:
        raise UsageError(
            f"one suite {suite!r} for {directories} benchmarks would mix their tasks;"
            " leave it out (each gets its own name) or read them one by one"
        )


def read_benchmark(
    path: str | Path, suite: str | None = None, names: Names | None = None, notes: Notes | None = None
) -> Iterator[Outcome]:
    """Read the outcomes of a benchmark directory, or of a folder of them."""
    request = Request(suite, Names() if names is None else names, notes=Notes() if notes is None else notes)
    yield from BenchmarkReader().read(Path(path), request)
    request.refusals.raise_any()


def _is_benchmark(path: Path) -> bool:
    # One of the two is enough: the reader then says which one is missing.
    return (path / OUTCOMES).is_file() or (path / QUERIES).is_file()


def both_files(directory: Path) -> tuple[Path, Path]:
    """Find the two files of a benchmark directory; an error names a missing one and how to make it."""
    files = directory / OUTCOMES, directory / QUERIES
    for file, how in zip(files, HOW, strict=True):
        if not os.path.isfile(file):
            what = f"no {file.name} in it; a benchmark directory holds {OUTCOMES} and {QUERIES}: write {how}"
            raise problem(directory, InputError(what, hint="benchmark_files"))
    return files


def _read(directory: Path, request: Request) -> Iterator[Outcome]:
    files = both_files(directory)
    tasks = {task.id: task for task in directory_tasks(directory, request)}
    yield from directory_outcomes(directory, tasks, request, files)


def directory_outcomes(
    directory: Path, tasks: Mapping[str, Task], request: Request, files: tuple[Path, ...] = ()
) -> Iterator[Outcome]:
    """Read the rows of `outcomes.csv`, on those tasks; the run is the content of `files`, else of that file alone."""
    path, name = directory / OUTCOMES, _name(directory)
    origin = Origin(
        path, suite=request.suite or name, source=name, header="header", files=files,
        tasks=tasks, unread=OF_THE_DIRECTORY, strict=True,
    )  # fmt: skip
    yield from outcomes(csv_rows(path, request), origin, request)


def directory_tasks(directory: Path, request: Request) -> Iterator[Task]:
    """Read the lines of `queries.jsonl`; one that is no task, or one that was there before, is refused."""
    path, suite = directory / QUERIES, request.suite or _name(directory)
    seen: set[str] = set()
    for line, query in jsonl_objects(path, request):
        try:
            task_id = coerce.name(query.get("query_id"), "query_id")
            text, meta = coerce.text(query.get("text"), "text"), coerce.meta(query.get("meta"), "meta")
            if request.family is not None and (family := meta.get(request.family)) is not None:
                meta = {**meta, "family": str(family)}
            if not task_id or task_id in seen:
                raise InputError(f"query_id {task_id!r} appears twice" if task_id else "query_id is missing")
        except InputError as error:
            request.refuse(path, error, f"line {line}", query)
            continue
        seen.add(task_id)
        yield Task(task_id, suite, text, meta)


def _name(directory: Path) -> str:
    return file_name(directory.absolute().name)
