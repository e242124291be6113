"""The contract of a log reader, and the one place where a problem gets its file and line.

A reader turns one format into outcomes. Adding a format is one file with such a class and one line in `READERS`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hmrouter.errors import LogError
from hmrouter.names import Names
from hmrouter.types import Outcome

MESSAGE_LIMIT = 500
"""Characters of an error message: a hostile cell must not flood a terminal or a log."""

NOTED_COLUMNS = 100
"""About how many ignored columns are remembered per file: every JSON line can bring new ones."""


@dataclass
class Notes:
    """What a reader met that is no error, for the summary after an import."""

    ignored_columns: dict[str, set[str]] = field(default_factory=dict)
    """Per file: the columns that no field of an outcome is read from."""
    skipped: list[str] = field(default_factory=list)
    """Folders beside the benchmark directories that are not one."""
    without_query: int = 0
    """Outcomes whose task `queries.jsonl` does not list; their text is empty."""

    def ignore(self, path: Path, columns: Collection[str]) -> None:
        """Remember columns of a file that are not read."""
        if columns:
            noted = self.ignored_columns.setdefault(str(path), set())
            if len(noted) < NOTED_COLUMNS:
                noted.update(columns)


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller asked for, beside the path."""

    suite: str | None
    """The suite of outcomes whose log does not name one."""
    names: Names
    """Turns the log's spellings of models and harnesses into canonical ones."""
    mapping: Mapping[str, str]
    """Field -> column, where a table does not use the usual column names."""
    notes: Notes
    """Filled while reading."""

    @classmethod
    def of(
        cls,
        suite: str | None = None,
        names: Names | None = None,
        mapping: Mapping[str, str] | None = None,
        notes: Notes | None = None,
    ) -> Request:
        """A request in which what is None has its default."""
        return cls(
            suite,
            Names() if names is None else names,
            {} if mapping is None else mapping,
            Notes() if notes is None else notes,
        )


class Reader(Protocol):
    """Reads one log format."""

    name: str
    """What `--format` calls it."""

    def sniff(self, path: Path) -> bool:
        """Whether the content looks like this format. Cheap, and never by the file's name."""

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """The outcomes, in the order of the log, streaming; a `LogError` at the first problem."""


def problem(path: Path, message: object, at: str = "") -> LogError:
    """The error for a problem in a file, on one line: `runs.csv line 7: score 1.7 is outside 0 to 1`.

    >>> print(problem(Path("runs.csv"), "score 1.7 is outside 0 to 1", at="line 7"))
    runs.csv line 7: score 1.7 is outside 0 to 1
    """
    text = " ".join(str(message).split())
    if len(text) > MESSAGE_LIMIT:
        text = text[: MESSAGE_LIMIT - 1] + "…"
    return LogError(f"{path} {at}: {text}" if at else f"{path}: {text}")
