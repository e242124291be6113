"""The HAL site's databases: SQLite with a table `parsed_results`, one row per run.

    benchmark_name, agent_name "Harness (Model (date))", date, run_id, successful_tasks, failed_tasks, total_cost

The two lists are written as Python literals and are parsed as data. Cost and tokens are of the whole run.
"""

from __future__ import annotations

import ast
import reprlib
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from hmrouter.errors import InputError, InvalidOutcome, UsageError
from hmrouter.logs import coerce
from hmrouter.logs.base import Request, problem
from hmrouter.logs.files import CELL_LIMIT, head, open_bytes
from hmrouter.logs.formats.hal_run import HalRun, mean_cost, scores_of, split_agent_name
from hmrouter.types import Outcome

COPY_LIMIT = 2**30
"""Bytes of a compressed database when unpacked."""

_MAGIC = b"SQLite format 3\0"
_RUN = ("benchmark_name", "agent_name", "run_id")
_REQUIRED = (*_RUN, "successful_tasks", "failed_tasks")
_OPTIONAL = ("date", "total_cost", "model_name")
_TOKENS = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")


class HalSiteReader:
    """A database of the Holistic Agent Leaderboard's site."""

    name = "hal-site"

    def sniff(self, path: Path) -> bool:
        """A SQLite file whose first pages, where the tables are declared, name the table and its lists."""
        start = head(path)
        return start.startswith(_MAGIC) and b"parsed_results" in start and b"successful_tasks" in start

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per task of each run that lists its tasks."""
        if not head(path).startswith(_MAGIC):
            raise problem(path, "is not a SQLite database")
        found = False
        try:
            with _opened(path) as database:
                tokens = _tokens(database)
                for row in _rows(path, database):
                    try:
                        outcomes = _outcomes(row, tokens.get(tuple(row[key] for key in _RUN), 0.0), request)
                    except (InputError, UsageError) as error:
                        at = f"run {reprlib.repr(row['run_id'])}"
                        request.refuse(path, error, at, {key: row[key] for key in _RUN})
                        found = True
                        continue
                    if not outcomes:
                        request.notes.remarks["HAL runs that do not list their tasks; left out"] += 1
                    found |= bool(outcomes)
                    yield from outcomes
        except sqlite3.Error as error:
            raise problem(path, f"cannot be read as a SQLite database: {error}") from None
        if not found:
            raise problem(path, "holds no outcomes: no run lists its tasks")


def literal_list(text: Any, field: str) -> list[Any]:
    """Read a Python list of ids written as text, never evaluated; nothing where there is none.

    >>> literal_list("['a', 'b', 3]", "failed_tasks")
    ['a', 'b', 3]
    """
    source = coerce.text(text, field)
    if len(source) > CELL_LIMIT:
        raise InvalidOutcome(f"{field} holds more than {CELL_LIMIT // 2**20} MiB, the limit")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser warns of an odd escape such as '\d'
            value = ast.literal_eval(source.strip() or "None")
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InvalidOutcome(f"{field} {source[:60]!r} is not a list of task ids such as ['a', 'b']") from None
    if value is None:
        return []
    if not isinstance(value, list | tuple | set):
        raise InvalidOutcome(f"{field} is a {type(value).__name__}, and a list of task ids is expected")
    return list(value)


def _outcomes(row: Mapping[str, Any], tokens: float, request: Request) -> list[Outcome]:
    scores = scores_of(*(literal_list(row[key], key) for key in ("successful_tasks", "failed_tasks")))
    if not scores:
        return []
    suite, agent, run_id = (coerce.name(row[key], key) for key in _RUN)
    for value, key in zip((suite, agent, run_id), _RUN, strict=True):
        if not value:
            raise InvalidOutcome(f"{key} is missing")
    harness, model = split_agent_name(agent)
    model = model or coerce.name(row.get("model_name"), "model_name")
    route = request.route(model or None, harness, found=agent)
    cost = mean_cost(coerce.number(row.get("total_cost"), "total_cost"), len(scores), tokens, request.notes)
    run = HalRun(suite, run_id, route, model or route.model, cost, coerce.moment(row.get("date"), "date"))
    return [run.outcome(task, score) for task, score in scores.items()]


def _rows(path: Path, database: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    columns = _columns(database, "parsed_results")
    if not columns:
        raise problem(path, "is a SQLite database without the table parsed_results of a HAL site database")
    if missing := [name for name in _REQUIRED if name not in columns]:
        raise problem(path, f"table parsed_results has no column {', '.join(missing)}")
    wanted = [*_REQUIRED, *(name for name in _OPTIONAL if name in columns)]
    for row in database.execute(f"SELECT {', '.join(wanted)} FROM parsed_results"):
        yield dict(zip(wanted, row, strict=True))


def _tokens(database: sqlite3.Connection) -> dict[tuple[Any, ...], float]:
    """Sum the tokens of each run, of all models that took part in it."""
    columns = _columns(database, "token_usage")
    counts = [name for name in _TOKENS if name in columns]
    if not counts or not columns.issuperset(_RUN):
        return {}
    total, key = " + ".join(f"COALESCE({name}, 0)" for name in counts), ", ".join(_RUN)
    rows = database.execute(f"SELECT {key}, TOTAL({total}) FROM token_usage GROUP BY {key}")
    return {tuple(run): tokens for *run, tokens in rows}


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    """List the columns of a table; a view of that name is none, because reading it would run what somebody wrote."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone():
        return set()
    return {row[1] for row in database.execute(f"PRAGMA table_info({table})")}


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database, read only and without trust in what its schema says."""
    with _plain(path) as file:
        if file.stat().st_size < _promised_size(file):  # SQLite would take the missing pages for empty ones
            raise problem(path, "the database is truncated; copy or download the file again")
        address = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 4 * CELL_LIMIT)
            database.execute("PRAGMA trusted_schema = OFF")
            yield database


def _promised_size(file: Path) -> int:
    """Read the size from the header: bytes per page times pages."""
    start = head(file)
    page = int.from_bytes(start[16:18], "big")
    return (2**16 if page == 1 else page) * int.from_bytes(start[28:32], "big")


@contextmanager
def _plain(path: Path) -> Iterator[Path]:
    """Give the file, or a decompressed temporary copy of it: SQLite reads no gzip."""
    with open_bytes(path, unpack=False) as raw:
        plain = raw.read(len(_MAGIC)) == _MAGIC
    if plain:
        yield path
        return
    with NamedTemporaryFile(suffix=".db") as copy:
        with open_bytes(path) as stream:
            size = 0
            while block := stream.read(2**20):
                size += copy.write(block)
                if size > COPY_LIMIT:
                    raise problem(path, f"unpacks to more than {COPY_LIMIT // 2**20} MiB; unpack it first")
        copy.flush()
        yield Path(copy.name)
