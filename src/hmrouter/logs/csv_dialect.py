"""How a table of text is laid out: what separates its cells, and on which line its header is."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hmrouter.logs.encodings import text_head
from hmrouter.logs.fields import FIELDS, plain_column

SEPARATORS = (",", ";", "\t")
_LOOKED_AT = 10
"""Lines among which the header is: spreadsheets have titles above it."""
_EXCEL = re.compile(r"sep=(.)", re.IGNORECASE)
_NAMES = frozenset(name for field in FIELDS.values() for name in field.columns)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The layout of a table."""

    separator: str = ","
    header: int = 1
    """The line of the header, from 1."""
    has_titles: bool = False
    """Whether there is something above the header that is not read."""


def dialect_of(path: Path, mapping: Mapping[str, str] | None = None) -> Dialect:
    """Find the layout by the first lines: the header is the line that names most fields, else the first."""
    text = text_head(path).decode("utf-8", "replace")
    lines = text.splitlines()[:_LOOKED_AT]
    if lines and (said := _EXCEL.fullmatch(lines[0].strip())):
        return Dialect(said[1], 2)
    known = _NAMES | {plain_column(column) for column in (mapping or {}).values()}
    best, most = Dialect(_commonest(_first(lines))), 0
    for number, line in enumerate(lines, 1):
        for separator in SEPARATORS:
            found = sum(plain_column(cell) in known for cell in _cells(line, separator))
            if found > most:
                best, most = Dialect(separator, number, has_titles=any(map(str.strip, lines[: number - 1]))), found
    return best if most >= 2 else Dialect(_commonest(_first(lines)))


def looks_like_a_table(start: bytes) -> bool:
    """Whether text may be a table: its first line has a separator. The reader then says which columns it lacks."""
    line = start.lstrip(b"\r\n ").partition(b"\n")[0]
    return any(separator.encode() in line for separator in SEPARATORS)


def _first(lines: list[str]) -> str:
    return next((line for line in lines if line.strip()), "")


def _commonest(line: str) -> str:
    return max(SEPARATORS, key=line.count)


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []
