"""Tables of results: one row per route and suite, as CSV or TOML, and the folder in which a user keeps them.

    suite,family,model,harness,tasks,mean_score,mean_cost,source,commit,date
    our-agents,,gpt-5,codex,120,0.71,0.42,our-team/agent-runs,3f2a91c,2026-01

`family` (suites of one family share tasks), `mean_cost`, `source`, `commit` and `date` may be empty or left out. In
TOML every row is a table `[[results]]` with the same keys.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from hmrouter.errors import InputError, OutputError, UnknownName, UsageError
from hmrouter.files import atomic_write
from hmrouter.history.records import Record
from hmrouter.names import canonical_harness, canonical_model
from hmrouter.toml import parse_toml
from hmrouter.types import Route

REQUIRED = ("suite", "model", "harness", "tasks", "mean_score")
COLUMNS = ("suite", "family", "model", "harness", "tasks", "mean_score", "mean_cost", "source", "commit", "date")
MOST_ROWS = 2000
"""Rows of one table: learning from them takes time that grows with the cube of their number."""
LONGEST = 512
"""Characters of a name."""
ENVIRONMENT = "HMROUTER_HISTORY"

_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class TableContent(NamedTuple):
    """The records of a table, and one line for each row that cannot be used."""

    records: list[Record]
    problems: list[str]


def read_table(path: Path) -> TableContent:
    """Read a table; a bad row becomes one of the problems, a file that is no table at all an `InputError`."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InputError(f"{path} is not UTF-8 text; convert it and try again") from e
    except OSError as e:
        raise InputError(f"cannot read {path}: {e.strerror or e}; give a CSV or TOML file of results") from e
    return parse_table(text, path.name, toml=path.suffix.lower() == ".toml")


def parse_table(text: str, name: str, *, toml: bool = False) -> TableContent:
    """Read the records of a table with this content; those that name no source have the table's name as theirs.

    >>> content = "suite,model,harness,tasks,mean_score\\nours,GPT-5,Codex,20,0.7\\nours,o3,codex,20,1.7\\n"
    >>> parse_table(content, "ours.csv").problems
    ['ours.csv line 3: mean_score 1.7 is outside 0 to 1']
    """
    rows = list(_toml_rows(text, name) if toml else _csv_rows(text, name))
    if len(rows) > MOST_ROWS:
        raise InputError(f"{name} has {len(rows):,} rows; the limit is {MOST_ROWS:,}: leave out old or small results")
    found, first = TableContent([], []), dict[tuple[str, Route], str]()
    families: dict[str, str] = {}
    for place, columns, cells in rows:
        try:
            if len(cells) != len(columns):
                raise InputError(f"it has {len(cells)} cells, the header has {len(columns)}")
            record = _record(dict(zip(columns, cells, strict=True)), Path(name).stem)
            if (before := first.setdefault((record.suite, record.route), place)) != place:
                raise InputError(f"{record.route} on suite {record.suite!r} is there already, in {before}; keep one")
            if (family := families.setdefault(record.suite, record.family)) != record.family:
                raise InputError(f"suite {record.suite!r} is of family {family!r} above, here of {record.family!r}")
            found.records.append(record)
        except (InputError, UsageError) as e:
            found.problems.append(f"{name} {place}: {e}")
    if not rows:
        raise InputError(f"{name} has no rows; a table has the columns {', '.join(COLUMNS)}")
    return found


def _csv_rows(text: str, name: str) -> Iterator[tuple[str, list[str], list[Any]]]:
    """Place, columns and cells of each row that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip() for cell in next(reader, [])]
        _check_columns(header, name)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield f"line {reader.line_num}", header, cells
    except csv.Error as e:
        raise InputError(f"{name} line {reader.line_num}: it is not CSV ({e})") from e


def _toml_rows(text: str, name: str) -> Iterator[tuple[str, list[str], list[Any]]]:
    content = parse_toml(text.encode(), name)
    rows = content.get("results")
    if set(content) != {"results"} or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{name} must hold tables [[results]] and nothing else")
    for number, row in enumerate(rows, 1):
        _check_columns(row, f"{name} result {number}")
        yield f"result {number}", list(row), list(row.values())


def _check_columns(columns: Any, where: str) -> None:
    for column in columns:
        if column not in COLUMNS:
            raise InputError(str(UnknownName("column", str(column), COLUMNS, f"{where}: a table of results")))
    if len(set(columns)) < len(columns):
        raise InputError(f"{where} has a column twice; keep one")
    if missing := [column for column in REQUIRED if column not in columns]:
        raise InputError(f"{where} has no column {missing[0]!r}; needed are {', '.join(REQUIRED)}")


def _record(row: Mapping[str, Any], table: str) -> Record:
    cells = {column: _text(row.get(column), column) for column in COLUMNS}
    for column in REQUIRED:
        if not cells[column]:
            raise InputError(f"{column} is empty; needed are {', '.join(REQUIRED)}")
    tasks = _number(cells["tasks"], "tasks")
    if not (tasks >= 1 and tasks.is_integer() and tasks < 2**53):
        raise InputError(f"tasks {cells['tasks']} is not a whole number of at least 1")
    mean = _number(cells["mean_score"], "mean_score")
    if not 0.0 <= mean <= 1.0:
        raise InputError(f"mean_score {cells['mean_score']} is outside 0 to 1")
    cost = _number(cells["mean_cost"], "mean_cost") if cells["mean_cost"] else None
    if cost is not None and not (cost >= 0.0 and math.isfinite(cost)):
        raise InputError(f"mean_cost {cells['mean_cost']} is not a finite number of at least 0")
    route = Route(canonical_model(cells["model"]), canonical_harness(cells["harness"]))
    source = "@".join(filter(None, (cells["source"] or table, cells["commit"])))
    return Record(cells["suite"], route, int(tasks), mean, cost, cells["family"], source, _dated(cells["date"]))


def _text(value: Any, column: str) -> str:
    """Read a cell as text: TOML has numbers and dates of its own."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float | date):
        raise InputError(f"{column} {value!r} is neither a text nor a number")
    text = str(value).strip()
    if len(text) > LONGEST:
        raise InputError(f"{column} has {len(text):,} characters; the limit is {LONGEST}")
    if not text.isprintable():
        raise InputError(f"{column} {text!r} holds a character that cannot be shown")
    return text


def _number(text: str, column: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{column} {text!r} is not a number") from None


def _dated(text: str) -> str:
    """Check that a date is empty or YYYY, YYYY-MM or YYYY-MM-DD of the calendar."""
    if text:
        try:
            if not _DATE.fullmatch(text):
                raise ValueError
            date.fromisoformat(f"{text}-01-01"[:10])  # the first day of a year or a month that stands alone
        except ValueError:
            raise InputError(f"date {text!r} is not a date; write 2026-01-31, 2026-01 or 2026") from None
    return text


class TableFolder:
    """The folder of a user's tables: files NAME.csv and NAME.toml."""

    def __init__(self, path: Path | None = None) -> None:
        """Unless one is given: HMROUTER_HISTORY of the environment, else hmrouter/history where settings are kept."""
        self.path = path or _of_the_environment()

    def names(self) -> list[str]:
        """List the tables that are there."""
        return sorted(self._files())

    def read(self, name: str) -> list[Record]:
        """Read the records of a table; one that was damaged after it was added is refused."""
        file = self._file(name)
        try:
            records, problems = read_table(file)
        except InputError as e:
            problems = [str(e)]
        if problems:
            raise InputError(f"history table {name!r}: {problems[0]}", hint="mend_table", file=file, name=name)
        return records

    def write(self, name: str, file: Path) -> bool:
        """Keep a copy of a table under a name, in one step; return whether it took the place of another."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name for a table; use letters, digits, '.', '_' and '-', up to 100")
        before, kept = self._files().get(name), self.path / f"{name}{_suffix(file)}"
        try:
            content = file.read_bytes()
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise OutputError(f"cannot keep tables in {self.path}: {e.strerror or e}; set {ENVIRONMENT}") from e
        atomic_write(kept, content)
        if before is not None and before != kept:
            self._unlink(before)
        return before is not None

    def remove(self, name: str) -> None:
        """Remove a table."""
        self._unlink(self._file(name))

    def _file(self, name: str) -> Path:
        files = self._files()
        if name not in files:
            raise UnknownName("history table", name, files, str(self.path))
        return files[name]

    def _files(self) -> dict[str, Path]:
        try:
            files = sorted(self.path.iterdir())
        except FileNotFoundError:
            return {}
        except OSError as e:
            raise InputError(f"cannot read the history folder {self.path}: {e.strerror or e}; set {ENVIRONMENT}") from e
        return {file.stem: file for file in files if file.suffix in (".csv", ".toml") and not file.name.startswith(".")}

    def _unlink(self, file: Path) -> None:
        try:
            file.unlink()
        except OSError as e:
            raise OutputError(f"cannot remove {file}: {e.strerror or e}") from e


def _suffix(file: Path) -> str:
    return ".toml" if file.suffix.lower() == ".toml" else ".csv"


def _of_the_environment() -> Path:
    if given := os.environ.get(ENVIRONMENT):
        return Path(given)
    settings = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(settings).expanduser() / "hmrouter" / "history"
