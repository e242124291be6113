"""Execution logs -> outcomes. `read_logs` recognises the format by what the file holds."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path

from hmrouter.errors import UnknownName
from hmrouter.logs.base import Notes, Reader, Request, problem
from hmrouter.logs.benchmark import BenchmarkReader, benchmark_directories, read_benchmark
from hmrouter.logs.csv_file import CsvReader
from hmrouter.logs.fields import check_mapping
from hmrouter.logs.files import head
from hmrouter.logs.jsonl_file import JsonlReader
from hmrouter.logs.parquet_file import ParquetReader
from hmrouter.names import Names
from hmrouter.types import Outcome

__all__ = ["Notes", "Reader", "Request", "benchmark_directories", "formats", "read_benchmark", "read_logs", "sniff"]

READERS: tuple[Reader, ...] = (BenchmarkReader(), ParquetReader(), JsonlReader(), CsvReader())
"""In the order in which they are tried: the particular before the general."""


def formats() -> tuple[str, ...]:
    """The names of the formats that can be read.

    >>> formats()
    ('benchmark', 'parquet', 'jsonl', 'csv')
    """
    return tuple(reader.name for reader in READERS)


def sniff(path: str | Path) -> str:
    """The name of the format that a file or directory is in, by its content."""
    return _recognise(Path(path)).name


def read_logs(
    path: str | Path,
    format: str = "auto",
    suite: str | None = None,
    names: Names | None = None,
    *,
    mapping: Mapping[str, str] | None = None,
    notes: Notes | None = None,
) -> Iterator[Outcome]:
    """The outcomes in a log, streaming: memory does not grow with the size of the texts.

    `suite` is for outcomes whose log names none, `mapping` (field -> column) for tables with columns of their own
    naming, `notes` is filled with what was ignored. The first thing that cannot be read raises a `LogError` with
    file and line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "runs.csv")
    ...     _ = log.write_text("task,route,score,cost\\nfix-ci,codex:gpt-5,1,0.42\\n")
    ...     [(o.task.id, str(o.route), o.score, o.cost) for o in read_logs(log)]
    [('fix-ci', 'codex:gpt-5', 1.0, 0.42)]
    """
    path = Path(path)
    request = Request.of(suite, names, mapping, notes)
    check_mapping(request.mapping)
    if format == "auto":
        return _recognise(path).read(path, request)
    for reader in READERS:
        if reader.name == format:
            return reader.read(path, request)
    raise UnknownName("format", format, ["auto", *formats()])


def _recognise(path: Path) -> Reader:
    if not os.path.isdir(path) and not head(path):
        raise problem(path, "is empty")
    for reader in READERS:
        if reader.sniff(path):
            return reader
    raise problem(path, f"no known log format recognised; known are {', '.join(formats())}")
