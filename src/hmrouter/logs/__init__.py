"""Execution logs -> outcomes. `read_logs` recognises the format by what the file holds.

formats/            one reader per format, and parts that two of them share
base.py             the contract of a reader; the caller's request; bad records; messages with file and line
walk.py             a path -> the logs in it
archives.py         an archive -> a folder for a while
members.py          entries of an archive
budget.py           the one limit of what a log may become
faults.py           a fault in reading a log refuses that log alone
zip_file.py         members of ZIP archives
tar_file.py         members of tar archives
decompress.py       bzip2 and xz in bounded blocks
files.py            bytes and lines, gzip or plain, bounded and counted
json_file.py        JSON documents, whole or item by item
json_object.py      JSON text -> one object, strictly
json_stream.py      the bytes of a document on their way to the parser
parquet_pages.py    how large the pages of a Parquet file become
parquet_cells.py    cells of a Parquet file as Python values
content_run.py      the run of a log that names none
table.py            rows of a table -> outcomes
csv_dialect.py      what separates the cells of a table, and where its header is
encodings.py        UTF-16 as UTF-8
spreadsheet.py      cells of an exported CSV that are no formulas
fields.py           the column names of an outcome's fields in tables
column_hints.py     which column may be meant for a field that a table lacks
coerce.py           one cell -> one value
forgiving.py        cells as people write them: read where they mean one thing, else left out
keys.py             warns of texts that hold keys
harness_output.py   recognises a harness's own output, to say that it is no log of outcomes
"""

from __future__ import annotations

import itertools
import os.path
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from hmrouter.errors import UsageError
from hmrouter.logs.archives import is_archive
from hmrouter.logs.base import Notes, Reader, Refusals, Request
from hmrouter.logs.fields import check_mapping
from hmrouter.logs.formats.benchmark import BenchmarkReader, benchmark_directories, read_benchmark, refuse_mixing
from hmrouter.logs.formats.csv_file import CsvReader
from hmrouter.logs.formats.hal_site import HalSiteReader
from hmrouter.logs.formats.hal_upload import HalUploadReader
from hmrouter.logs.formats.harbor import HarborReader
from hmrouter.logs.formats.inspect_log import InspectReader
from hmrouter.logs.formats.json_table import JsonTableReader
from hmrouter.logs.formats.jsonl_file import JsonlReader
from hmrouter.logs.formats.openhands_index import OpenHandsIndexReader
from hmrouter.logs.formats.openhands_output import OpenHandsOutputReader
from hmrouter.logs.formats.parquet_file import ParquetReader
from hmrouter.logs.formats.swebench_report import SweBenchReportReader
from hmrouter.logs.formats.swebench_site import SweBenchSiteReader
from hmrouter.logs.formats.terminal_bench import TerminalBenchReader
from hmrouter.logs.formats.workspace_bench import WorkspaceBenchReader
from hmrouter.logs.walk import Log, logs_at
from hmrouter.names import Names
from hmrouter.types import Outcome

__all__ = [
    "Log",
    "Notes",
    "Reader",
    "Refusals",
    "Request",
    "benchmark_directories",
    "check_suite",
    "find_logs",
    "format_names",
    "read_benchmark",
    "read_logs",
    "sniff",
]  # fmt: skip

READERS: tuple[Reader, ...] = (
    BenchmarkReader(),
    HarborReader(),
    TerminalBenchReader(),
    InspectReader(),
    OpenHandsIndexReader(),
    OpenHandsOutputReader(),  # before SWE-bench's: a run folder holds a report of theirs
    SweBenchReportReader(),
    SweBenchSiteReader(),
    HalSiteReader(),
    HalUploadReader(),
    WorkspaceBenchReader(),
    ParquetReader(),
    JsonTableReader(),
    JsonlReader(),
    CsvReader(),
)
"""In the order in which they are tried: the particular before the general."""


def format_names() -> tuple[str, ...]:
    """List the names of the formats that can be read.

    >>> format_names()[:4]
    ('benchmark', 'harbor', 'terminal-bench', 'inspect')
    """
    return tuple(reader.name for reader in READERS)


def sniff(path: str | Path) -> str:
    """Recognise the format of a file or directory by its content and return its name."""
    with closing(find_logs(path)) as found:
        return next(found).reader.name


def find_logs(
    path: str | Path,
    format: str = "auto",
    notes: Notes | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Generator[Log, None, None]:
    """Find the logs at a path: itself, or those in the folder or archive that it is; what is passed over is noted.

    Close it if you stop before its end: an archive lies unpacked while its logs are read.
    """
    if path == "":  # not the current folder, as an empty path is to Python
        raise UsageError("the path of the log is empty; give a file, a folder or an archive")
    return logs_at(Path(path), READERS, Notes() if notes is None else notes, format, mapping)


def check_suite(
    path: str | Path, suite: str | None, format: str = "auto", mapping: Mapping[str, str] | None = None
) -> None:
    """Refuse one suite for a folder or archive of several benchmark directories: it would mix their tasks."""
    if not suite or not (os.path.isdir(path) or is_archive(Path(path))):
        return
    with closing(find_logs(path, format, mapping=mapping)) as found:
        refuse_mixing(suite, sum(isinstance(part.reader, BenchmarkReader) for part in found))


def read_logs(
    path: str | Path,
    format: str = "auto",
    suite: str | None = None,
    names: Names | None = None,
    *,
    mapping: Mapping[str, str] | None = None,
    model: str | None = None,
    harness: str | None = None,
    run: str | None = None,
    family: str | None = None,
    notes: Notes | None = None,
) -> Iterator[Outcome]:
    """Read the outcomes of a log, or of all logs in a folder or archive; memory does not grow with their size.

    `suite` is for outcomes whose log names none, as are `model`, `harness` and `run`; `mapping` (field -> column) for
    tables with columns of their own naming; `family` for the column, or the key of a task's meta, that names its
    family; `notes` is filled with what was ignored. What cannot be read raises a `LogError` with file and line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "runs.csv")
    ...     _ = log.write_text("task,route,score,cost\\nfix-ci,codex:gpt-5,1,0.42\\n")
    ...     [(o.task.id, str(o.route), o.score, o.cost) for o in read_logs(log)]
    [('fix-ci', 'codex:gpt-5', 1.0, 0.42)]
    """
    notes = Notes() if notes is None else notes
    request = Request(
        suite, Names() if names is None else names, mapping or {}, model=model, harness=harness, run=run,
        family=family, notes=notes,
    )  # fmt: skip
    check_mapping(request.mapping)
    check_suite(path, suite, format, request.mapping)
    found = find_logs(path, format, notes, request.mapping)
    first = next(found)  # what is wrong with the path itself is said now, not when the first outcome is asked for

    def outcomes() -> Iterator[Outcome]:
        with closing(found):
            for part in itertools.chain([first], found):
                yield from part.read(request)

    return outcomes()
