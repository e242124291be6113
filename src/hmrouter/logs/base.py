"""The contract of a log reader, and the one place where a problem gets its file and line.

A reader turns one format into outcomes. Adding a format is one file with such a class and one line in `READERS`.
"""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hmrouter.errors import HMRouterError, LogError
from hmrouter.logs.forgiving import Reading
from hmrouter.names import Names
from hmrouter.printable import printable
from hmrouter.types import Outcome, Route

MESSAGE_LIMIT = 500
"""Characters of an error message: a hostile cell must not flood a terminal or a log."""

PLACE_LIMIT = 200
"""Characters of the place in a file, which may be named by what the file holds."""

SHOWN_REFUSALS = 20
"""How many refused records, and how many different reasons, are told one by one."""

NOTED_COLUMNS = 100
"""About how many ignored columns are remembered per file: every JSON line can bring new ones."""


@dataclass
class Notes:
    """Observations of a reader that are no errors, for the summary after an import."""

    ignored_columns: dict[str, set[str]] = field(default_factory=dict)
    """Per file: the columns that no field of an outcome is read from."""
    skipped: list[str] = field(default_factory=list)
    """Files and folders of a walked folder in which no log was recognised, with the reason where there is one."""
    without_query: int = 0
    """Outcomes whose task `queries.jsonl` does not list; their text is empty."""
    remarks: Counter[str] = field(default_factory=Counter)
    """Anything else that a person should read once, and how often it came up."""

    _cells: dict[tuple[str, str], str] = field(default_factory=dict)

    def cell(self, field: str, cell: object, reading: Reading) -> None:
        """Remember a cell that was read as people write it, or left out; cells of one kind are one remark."""
        key = (field, reading.kind)
        if key not in self._cells:
            self._cells[key] = f"{field} {reprlib.repr(cell)} {reading.in_words}, and others like it"
        self.remarks[self._cells[key]] += 1

    def ignore(self, path: Path, columns: Collection[str]) -> None:
        """Remember columns of a file that are not read."""
        if columns:
            noted = self.ignored_columns.setdefault(shown(path), set())
            if len(noted) < NOTED_COLUMNS:
                noted.update(columns)


@dataclass
class Refusals:
    """The records that cannot be outcomes. A file with one is refused whole, unless `skip` leaves them out."""

    skip: bool = False
    """Read on without them."""
    keep: Callable[[dict[str, Any]], None] | None = None
    """Takes each refused record with its place and the reason, for a file that a person can correct."""
    count: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """How many records each reason refused; many different ones are counted together."""
    first: list[str] = field(default_factory=list)
    """The first few, each with its file and line."""
    words: Callable[[LogError], str] = str
    """How an error reads: a front end gives its own words."""

    def add(self, error: LogError, record: object) -> None:
        """Count one more refused record."""
        self.count += 1
        message = self.words(error)
        if len(self.first) < SHOWN_REFUSALS:
            self.first.append(message)
        reason = message.removeprefix(f"{error.place}: ")
        self.reasons[reason if reason in self.reasons or len(self.reasons) < SHOWN_REFUSALS else "other"] += 1
        if self.keep is not None:
            self.keep({"error": message, "record": record})

    def raise_any(self) -> None:
        """Refuse the whole file, if a record of it was refused and nobody asked to read on."""
        if self.count and not self.skip:
            more = f"; and {self.count - len(self.first):,} more" if self.count > len(self.first) else ""
            several = self.count > 1
            total = f" ({self.count:,} bad records)" * several
            raise LogError("; ".join(self.first) + more + total, hint="skip_bad" * several)


@dataclass(frozen=True, slots=True)
class Request:
    """The caller's request beside the path: names, mapping, and what holds where the log does not say."""

    suite: str | None = None
    """The suite of outcomes whose log does not name one."""
    names: Names = field(default_factory=Names)
    """Turns the log's spellings of models and harnesses into canonical ones."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Field -> column, where a table does not use the usual column names."""
    model: str | None = None
    """The model of logs that do not name it."""
    harness: str | None = None
    """The harness of logs that do not name it."""
    run: str | None = None
    """The run of logs that do not name it."""
    family: str | None = None
    """The column, or the key of a task's meta, that names its family."""
    pattern: re.Pattern[str] | None = None
    """Finds `(?P<model>...)` and `(?P<harness>...)` in the free-form name of a run that does not say them."""
    notes: Notes = field(default_factory=Notes)
    """Filled while reading."""
    refusals: Refusals = field(default_factory=Refusals)
    """Filled while reading."""

    def route(self, model: str | None, harness: str | None, found: str = "") -> Route:
        """Find the route of a record: from the log, else from `found` (the name of its run or folder) through the
        pattern, else from the caller; a refusal asks for what is missing.

        >>> str(Request(harness="codex").route("GPT-5", None))
        'codex:gpt-5'
        """
        said = self.pattern.search(found) if self.pattern is not None else None
        groups = said.groupdict() if said else {}
        model = model or groups.get("model") or self.model
        harness = harness or groups.get("harness") or self.harness
        if model and harness:
            return Route(self.names.model(model), self.names.harness(harness), spelled=(model, harness))
        missing = " and ".join(kind for kind, value in (("model", model), ("harness", harness)) if not value)
        named = f" of {found!r}" if found else ""
        raise LogError(f"the log does not say the {missing}{named}", hint="name_route")

    def refuse(self, path: Path, error: object, at: str, record: object) -> None:
        """Count a record that cannot be an outcome; the reader goes on with the next."""
        self.refusals.add(problem(path, error, at), record)


class Reader(Protocol):
    """Reads one log format."""

    name: str
    """What the format is called."""

    def sniff(self, path: Path) -> bool:
        """Whether the content of a file, or the layout of a directory, is this format's. Cheap, and no guess by the
        file's ending."""

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """Read the outcomes one by one, in the order of the log.

        A record that cannot be an outcome goes to `request.refuse`; a `LogError` says that nothing more can be read.
        """


UNPACKED: dict[Path, Path] = {}
"""Folders in which an archive lies unpacked at the moment -> the archive."""


def shown(path: Path) -> str:
    """Write a path on one line for messages. One in an unpacked archive begins with the archive, not a scratch folder.

    >>> shown(Path("two\\nlines.csv"))
    'two\\\\nlines.csv'
    """
    for folder, archive in UNPACKED.items():
        if path.is_relative_to(folder):
            inner = path.relative_to(folder)
            return shown(archive) if inner == Path(".") else f"{shown(archive)}/{printable(str(inner))}"
    return printable(str(path))


def problem(path: Path, message: object, at: str = "") -> LogError:
    """Make the error for a problem in a file, on one line: `runs.csv line 7: score 1.7 is outside 0 to 1`.

    >>> print(problem(Path("runs.csv"), "score 1.7 is outside 0 to 1", at="line 7"))
    runs.csv line 7: score 1.7 is outside 0 to 1
    """
    where = _bounded(at, PLACE_LIMIT)
    place = f"{shown(path)} {where}" if where else shown(path)
    if not isinstance(message, HMRouterError) or not message.hint:
        return LogError(_bounded(str(message), MESSAGE_LIMIT), place=place)
    details = {name: _bounded(str(value), PLACE_LIMIT) for name, value in message.details.items()}
    return LogError(_bounded(message.what, MESSAGE_LIMIT), place=place, hint=message.hint, **details)


def _bounded(text: str, limit: int) -> str:
    start = text[: 10 * limit]  # the whole may be megabytes
    line = printable(" ".join(start.split()))
    return line if len(line) <= limit and start == text else line[: limit - 1] + "…"
