"""Rows of a table -> outcomes: what CSV, JSONL, Parquet and the benchmark directory have in common."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, InvalidOutcome, LogError, UsageError
from hmrouter.logs import coerce, forgiving
from hmrouter.logs.base import Request, problem
from hmrouter.logs.content_run import content_run
from hmrouter.logs.fields import EXPORT, EXPORT_VERSION, FIELDS, KEY, Binding, bind, plain_column
from hmrouter.logs.forgiving import Reading
from hmrouter.types import CONTENT_RUN, DEFAULT_SUITE, Outcome, Route, Status, Task

Row = tuple[int, tuple[str, ...], Sequence[Any]]
"""Where it stands in the file, its column names, its cells."""


class TableReader(ABC):
    """Reads tables of any purpose; the columns tell which of them hold outcomes."""

    @abstractmethod
    def columns(self, path: Path) -> Sequence[str]:
        """Read the column names, of the first record where each has its own."""

    def holds_outcomes(self, path: Path, mapping: Mapping[str, str]) -> bool:
        """Whether there are columns for task and score: then it is meant to be read, whatever else is missing."""
        there = {plain_column(column) for column in self.columns(path)}
        wanted = ((mapping[field],) if field in mapping else FIELDS[field].columns for field in ("task", "score"))
        return all(any(plain_column(column) in there for column in columns) for columns in wanted)


@dataclass
class Origin:
    """The file that rows come from, with defaults for rows that do not say their suite, source or run."""

    path: Path
    """The file they stand in, for messages."""
    suite: str
    source: str
    unit: str = "line"
    """How the file counts its rows."""
    header: str = ""
    """The name for the place of the column names; "" where every row has its own."""
    files: tuple[Path, ...] = ()
    """The files whose content hash is the run; the file itself if empty."""
    tasks: Mapping[str, Task] | None = None
    """Tasks known from elsewhere, by id."""
    unread: Collection[str] = ()
    """Fields that are not taken from columns."""
    strict: bool = False
    """A bad optional cell is a bad row: of a format that is this project's own, and that is checked before use."""
    source_is_file: bool = False
    """Whether the source is only the file's name, so that a renamed file has another."""
    _run: str | None = None
    _seen: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of_file(cls, path: Path, request: Request, *, unit: str = "line", header: str = "") -> Origin:
        """Take a file on its own: the source is its name without endings, the same for `runs.csv` and `runs.csv.gz`."""
        bare = path.with_suffix("") if path.suffix == ".gz" else path
        return cls(
            path, suite=request.suite or DEFAULT_SUITE, source=file_name(bare.stem), unit=unit, header=header,
            source_is_file=True,
        )  # fmt: skip

    def run(self, request: Request) -> str:
        """The run of rows that name none: as the caller says, else by content; computed when a row needs it."""
        if self._run is None:
            self._run = content_run(request, *(self.files or (self.path,)))
        return self._run

    def trial(self, *key: str | tuple[str, str]) -> str:
        """Number a row among those with this key, so that repeated executions stay apart."""
        cell = hash(key)  # not the key itself: millions of rows must fit into memory
        ordinal = self._seen.get(cell, 0)
        self._seen[cell] = ordinal + 1
        return str(ordinal)


def file_name(name: str) -> str:
    """Write the name of a file as text for keys: its bytes need not be UTF-8, and a database takes nothing else.

    >>> file_name("caf\\udce9")
    'caf\ufffd'
    """
    return os.fsencode(name).decode("utf-8", "replace")


def columns_from_request(columns: Sequence[str], request: Request) -> dict[str, str]:
    """Add the columns that a table lacks and the request has: its model and harness hold for all rows.

    >>> columns_from_request(["task", "model", "score"], Request(model="gpt-5", harness="codex"))
    {'harness': 'codex'}
    """
    there = {plain_column(column) for column in columns} | request.mapping.keys()
    said = {} if "route" in there else {"model": request.model, "harness": request.harness}
    return {field: value for field, value in said.items() if value and field not in there}


def outcomes(rows: Iterator[Row], origin: Origin, request: Request) -> Iterator[Outcome]:
    """Convert rows one by one. One that cannot be an outcome is refused; a `LogError` says that none of them can."""
    routes = _routes(request)
    refused_before = request.refusals.count

    @lru_cache(maxsize=256)  # one entry for a table, a few for JSON lines of different shapes
    def converter(columns: tuple[str, ...]) -> Callable[[Sequence[Any]], Outcome]:
        extra = columns_from_request(columns, request)
        binding = bind((*columns, *extra), _with_family(request, origin), origin.unread)
        request.notes.ignore(origin.path, binding.ignored)
        return _converter(binding, origin, request, routes, tuple(extra.values()))

    place = 0
    for place, columns, values in rows:
        try:
            convert = converter(columns)
        except InputError as error:
            if origin.header:  # true of every row that follows
                raise problem(origin.path, error, origin.header) from None
            error = _with_inner_columns(error, columns, values, request, origin)
            request.refuse(origin.path, error, f"{origin.unit} {place}", dict(zip(columns, values, strict=True)))
            continue
        try:
            if len(values) != len(columns):
                raise InputError(wrong_width(values, columns))
            outcome = convert(values)
        except LogError:  # the file, not the row: its hash is computed when the first row needs it
            raise
        except (InputError, UsageError) as error:
            whole = len(values) == len(columns)
            record = dict(zip(columns, values, strict=True)) if whole else list(values)
            request.refuse(origin.path, error, f"{origin.unit} {place}", record)
            continue
        yield outcome
    if not place and request.refusals.count == refused_before:
        raise problem(origin.path, "holds no outcomes, not a single row")


def _with_inner_columns(
    error: InputError, columns: Sequence[str], values: Sequence[Any], request: Request, origin: Origin
) -> InputError:
    """Say what a row lacks with what lies in objects inside it, where the mapping could find it."""
    inner = [name for column, value in zip(columns, values, strict=True) for name in _inner(column, value)]
    if not inner:
        return error
    try:
        bind((*columns, *inner, *columns_from_request(columns, request)), request.mapping, origin.unread)
    except InputError as fuller:
        return fuller
    return error


def _inner(column: str, value: Any, deepest: int = 3) -> Iterator[str]:
    """Name what lies in an object inside a row, by the path to it."""
    if isinstance(value, dict) and deepest and column != "meta":
        for key, inner in value.items():
            yield from (
                _inner(f"{column}.{key}", inner, deepest - 1) if isinstance(inner, dict) else (f"{column}.{key}",)
            )


def wrong_width(values: Sequence[Any], columns: Sequence[str]) -> str:
    """Describe a row that is not as wide as its header."""
    return f"{len(values)} cells where the header has {len(columns)} columns"


def _converter(
    binding: Binding, origin: Origin, request: Request, routes: Callable[[str, str], Route], extra: tuple[str, ...]
) -> Callable[[Sequence[Any]], Outcome]:
    read = [(field, place, FIELDS[field].convert) for field, place in binding.at.items()]
    read.sort(key=lambda each: each[0] == "status")  # last: what some of its words mean depends on the score
    tasks, notes = origin.tasks, request.notes
    as_written = lru_cache(maxsize=4096)(Route)

    def convert(values: Sequence[Any]) -> Outcome:
        if extra:
            values = (*values, *extra)
        cell = {}
        for name, place, convert in read:
            try:
                cell[name] = convert(values[place], name)
            except InputError:
                if origin.strict:
                    raise
                forgiven = _forgiven(name, values[place], cell.get("score") is not None)
                if forgiven is None:
                    raise
                notes.cell(name, values[place], forgiven)
                if forgiven.value is not None:
                    cell[name] = forgiven.value
        exported = binding.export is not None and _is_export(values[binding.export])
        by_file = by_content = False
        if "route" in cell:
            parsed = Route.parse(cell.pop("route"))
            model, harness = parsed.model, parsed.harness
        else:
            model, harness = cell.pop("model"), cell.pop("harness")
        spelled = cell.pop("model_spelling", ""), cell.pop("harness_spelling", "")
        known = spelled if all(spelled) else None  # an export may be of outcomes whose spelling nobody kept
        route = as_written(model, harness, known) if exported else routes(model, harness)
        suite, source, run, trial = (cell.pop(field, "") for field in KEY)
        task_id = cell.pop("task")
        if not exported:
            by_file = origin.source_is_file and not source
            suite, source, run = suite or origin.suite, source or origin.source, run or origin.run(request)
            by_content = not trial and run.startswith(CONTENT_RUN)
            if not trial and not by_content:
                trial = origin.trial(suite, source, run, task_id, route.spelling)
        family = cell.pop("family", "")
        if tasks is None:
            meta = {**cell.pop("meta", {}), **({"family": family} if family else {})}
            task = Task(task_id, suite, cell.pop("text", ""), meta, cell.pop("text_hash", ""))
        elif task_id in tasks:
            task = tasks[task_id]
        else:
            task = Task(task_id, suite)
            notes.without_query += 1
        outcome = Outcome(
            task, route, cell.pop("score"), source=source, run=run, trial=trial, source_is_file=by_file, **cell
        )
        if not by_content:
            return outcome
        # Identical rows are so many executions; rows that differ need no number to be told apart.
        number = origin.trial(suite, source, run, task_id, route.spelling, outcome.content)
        return replace(outcome, trial=f"{outcome.content}.{number}")

    return convert


def _forgiven(field: str, value: Any, scored: bool) -> Reading | None:
    """Read a cell as people write it, or leave it out; None if the row needs it as it should be."""
    if field == "status" and type(value) is str:
        word = forgiving.status(value, scored)
        return (
            Reading(value.strip().lower(), Status(word)) if word else Reading("no status", why="it is no known status")
        )
    forgive = FIELDS[field].forgive
    if forgive is None:
        return None
    reading = forgive(value)
    if isinstance(reading.value, int | float) and not (reading.value >= 0 and math.isfinite(reading.value)):
        return Reading("below zero", why="it is below 0")
    return reading


def _with_family(request: Request, origin: Origin) -> Mapping[str, str]:
    """Add the column that the caller says names families; tasks known from elsewhere have theirs in their meta."""
    named = request.family is not None and origin.tasks is None
    return {**request.mapping, "family": str(request.family)} if named else request.mapping


def _is_export(mark: Any) -> bool:
    version = coerce.name(mark, EXPORT)
    if version not in ("", EXPORT_VERSION):
        raise InvalidOutcome(f"{EXPORT} {version!r} is of another version of hmrouter; this one reads {EXPORT_VERSION}")
    return bool(version)


def _routes(request: Request) -> Callable[[str, str], Route]:
    shared = lru_cache(maxsize=4096)(Route)  # a log repeats few routes often
    names = request.names

    def route(model: str, harness: str) -> Route:
        model, harness = model or request.model or "", harness or request.harness or ""
        if not model or not harness:
            raise InvalidOutcome(f"{'harness' if model else 'model'} is missing")
        return shared(names.model(model), names.harness(harness), (model, harness))

    return route
