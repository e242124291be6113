"""Table cells: numbers as text, and which numbers are the best of their row or column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from typing import Final

from hmrouter.bench.report.parts import Cell, Interval, ReportTable

DASH: Final = "\N{EN DASH}"
"""Stands for "does not apply" and "could not be computed"."""
MINUS: Final = "\N{MINUS SIGN}"


class Mark(Enum):
    """How a number is set off from the others of its row or column."""

    BEST = "best"
    SECOND = "second"


def show(cell: Cell, digits: int = 1) -> str:
    """A cell as a person reads it.

    >>> show(Interval(1.234, 0.3, 2.71)), show(Interval(61.2, 60.0, 62.4, signed=False))
    ('+1.2 [0.3, 2.7]', '61.2 [60.0, 62.4]')
    >>> show(0.52, 2), show(-0.01), show(12345), show("kNN"), show(None) == DASH
    ('0.52', '0.0', '12,345', 'kNN', True)
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Interval):
        if math.isnan(cell.value):
            return DASH
        value = _number(float(cell.value), digits, plus=cell.signed)
        return f"{value} [{_number(float(cell.low), digits)}, {_number(float(cell.high), digits)}]"
    return DASH if cell is None else _number(cell, digits)


def number_of(cell: Cell) -> float | None:
    """Give the number that a cell is sorted and ranked by, None for texts and empty cells."""
    if isinstance(cell, Interval):
        cell = cell.value
    return None if cell is None or isinstance(cell, str) or math.isnan(cell) else float(cell)


def is_numeric(table: ReportTable, column: int) -> bool:
    """Whether a column holds numbers and no text, so that it is set flush right."""
    cells = [row[column] for row in table.rows]
    return any(number_of(c) is not None for c in cells) and not any(isinstance(c, str) for c in cells)


def marks(table: ReportTable) -> dict[tuple[int, int], Mark]:
    """The best and second-best cells by (row, column), as `ReportTable.best` asks.

    Numbers that read the same rank the same. Where all are equal nothing is marked. Means below a table (its footer)
    are ranked along their row, but do not compete with the rows that they are means of.

    >>> table = ReportTable("", ["benchmark", "fixed", "knn", "hm"], [["gaia", 70.0, 68.0, 70.04]], best="row")
    >>> {column: mark.value for (_, column), mark in marks(table).items()}
    {1: 'best', 2: 'second', 3: 'best'}
    """
    body = range(len(table.rows) - table.footer_rows)
    columns = range(1, len(table.columns))  # the first column names the row
    groups: list[list[tuple[int, int]]] = []
    if table.best == "row":
        groups = [[(i, j) for j in columns] for i in range(len(table.rows))]
    elif table.best == "column":
        groups = [[(i, j) for i in body] for j in columns]
    return {cell: mark for group in groups for cell, mark in _ranked(table, group).items()}


def _ranked(table: ReportTable, group: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Mark]:
    unranked, lower = _names(table.unranked), _names(table.lower_is_better)
    goodness: dict[tuple[int, int], float] = {}
    for i, j in group:
        names = {table.columns[j].casefold(), str(table.rows[i][0]).casefold()}
        number = number_of(table.rows[i][j])
        if number is not None and not names & unranked:
            goodness[i, j] = round(number, table.digits) * (-1 if names & lower else 1)
    places = sorted(set(goodness.values()), reverse=True)[:2]
    if len(places) < 2:
        return {}
    mark = dict(zip(places, (Mark.BEST, Mark.SECOND), strict=True))
    return {cell: mark[value] for cell, value in goodness.items() if value in mark}


def not_ranked(table: ReportTable) -> list[str]:
    """The columns and rows of a ranked table that are left out of the ranking."""
    unranked = _names(table.unranked)
    names = [*table.columns[1:], *(str(row[0]) for row in table.rows)]
    return [name for name in dict.fromkeys(names) if name.casefold() in unranked] if table.best else []


def _names(names: Iterable[str]) -> set[str]:
    return {name.casefold() for name in names}


def _number(value: float, digits: int, *, plus: bool = False) -> str:
    if math.isnan(value):
        return DASH
    if math.isinf(value):
        text = "∞" if value > 0 else "-∞"
    else:
        # `+ 0.0` turns the minus zero that rounding may leave into zero.
        text = f"{value:,}" if isinstance(value, int) else f"{round(value, digits) + 0.0:,.{digits}f}"
    sign = "+" if plus and round(value, digits) > 0 else ""
    return sign + text.replace("-", MINUS)
