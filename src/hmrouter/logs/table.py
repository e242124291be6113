"""Rows of a table -> outcomes: what CSV, JSONL, Parquet and the benchmark directory have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, InvalidOutcome, UsageError
from hmrouter.logs.base import Request, problem
from hmrouter.logs.fields import FIELDS, Binding, bind
from hmrouter.logs.files import content_hash
from hmrouter.names import Names
from hmrouter.types import DEFAULT_SUITE, Outcome, Route, Task

Row = tuple[int, tuple[str, ...], Sequence[Any]]
"""Where it stands in the file, its column names, its cells."""


@dataclass
class Origin:
    """Where rows come from, and what holds for those that do not say it themselves."""

    path: Path
    """The file they stand in, for messages."""
    suite: str
    source: str
    unit: str = "line"
    """How the file counts its rows."""
    header: str = ""
    """What to call the place of the column names; "" where every row has its own."""
    files: tuple[Path, ...] = ()
    """What the run is the content hash of; the file itself if empty."""
    tasks: Mapping[str, Task] | None = None
    """Tasks known from elsewhere, by id."""
    unread: Collection[str] = ()
    """Fields that are not taken from columns."""
    _seen: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of_file(cls, path: Path, request: Request, *, unit: str = "line", header: str = "") -> Origin:
        """A file on its own: the source is its name without endings, the same for `runs.csv` and `runs.csv.gz`."""
        bare = path.with_suffix("") if path.suffix == ".gz" else path
        return cls(path, suite=request.suite or DEFAULT_SUITE, source=bare.stem, unit=unit, header=header)

    @cached_property
    def run(self) -> str:
        """The content hash, so that reading the same file again adds nothing; computed when a row needs it."""
        return content_hash(*(self.files or (self.path,)))

    def trial(self, *key: str | Route) -> str:
        """The ordinal among the rows with this key, so that repeated executions stay apart."""
        cell = hash(key)  # not the key itself: millions of rows must fit into memory
        ordinal = self._seen.get(cell, 0)
        self._seen[cell] = ordinal + 1
        return str(ordinal)


def outcomes(rows: Iterator[Row], origin: Origin, request: Request) -> Iterator[Outcome]:
    """Convert rows one by one; the first that cannot be an outcome raises a `LogError` with its place."""
    routes = _routes(request.names)

    @lru_cache(maxsize=256)  # one entry for a table, a few for JSON lines of different shapes
    def converter(columns: tuple[str, ...]) -> Callable[[Sequence[Any]], Outcome]:
        binding = bind(columns, request.mapping, origin.unread)
        request.notes.ignore(origin.path, binding.ignored)
        return _converter(binding, origin, request, routes)

    place = 0
    for place, columns, values in rows:
        try:
            convert = converter(columns)
        except InputError as error:
            raise problem(origin.path, error, origin.header or f"{origin.unit} {place}") from None
        try:
            outcome = convert(values)
        except (InputError, UsageError) as error:
            raise problem(origin.path, error, f"{origin.unit} {place}") from None
        yield outcome
    if not place:
        raise problem(origin.path, "holds no outcomes, not a single row")


def _converter(
    binding: Binding, origin: Origin, request: Request, routes: Callable[[str, str], Route]
) -> Callable[[Sequence[Any]], Outcome]:
    read = [(field, place, FIELDS[field].convert) for field, place in binding.at.items()]
    tasks, notes = origin.tasks, request.notes

    def convert(values: Sequence[Any]) -> Outcome:
        cell = {field: convert(values[place], field) for field, place, convert in read}
        if "route" in cell:
            parsed = Route.parse(cell.pop("route"))
            route = routes(parsed.model, parsed.harness)
        else:
            route = routes(cell.pop("model"), cell.pop("harness"))
        suite = cell.pop("suite", "") or origin.suite
        source = cell.pop("source", "") or origin.source
        run = cell.pop("run", "") or origin.run
        task_id = cell.pop("task")
        if tasks is None:
            task = Task(task_id, suite, cell.pop("text", ""), cell.pop("meta", {}))
        elif task_id in tasks:
            task = tasks[task_id]
        else:
            task = Task(task_id, suite)
            notes.without_query += 1
        trial = cell.pop("trial", "") or origin.trial(suite, source, run, task_id, route)
        return Outcome(task, route, cell.pop("score"), source=source, run=run, trial=trial, **cell)

    return convert


def _routes(names: Names) -> Callable[[str, str], Route]:
    shared = lru_cache(maxsize=4096)(Route)  # a log repeats few routes often

    def route(model: str, harness: str) -> Route:
        if not model or not harness:
            raise InvalidOutcome(f"{'harness' if model else 'model'} is missing")
        return shared(names.model(model), names.harness(harness))

    return route
