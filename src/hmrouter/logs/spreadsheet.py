"""Cells of an exported CSV that a spreadsheet must not take for formulas.

A task named `=HYPERLINK(...)` is text here and code there. So a cell that begins like a formula gets an apostrophe in
front, which spreadsheets show as text; an import of the export takes it away again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hmrouter.logs.fields import EXPORT, EXPORT_VERSION, plain_column

GUARDED = f"{EXPORT_VERSION} guarded"
"""What the mark of an export says where its cells have such apostrophes."""

_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def guarded(cell: object) -> object:
    """Write a cell as a spreadsheet may open it.

    >>> guarded("=1+1"), guarded("'=1"), guarded("fix it"), guarded(-1.0)
    ("'=1+1", "''=1", 'fix it', -1.0)
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def unguarded(columns: Sequence[str], cells: Sequence[str]) -> Sequence[str]:
    """Read a row of an export as it was; one of any other table is left alone.

    >>> unguarded(["task", EXPORT], ["'=1+1", GUARDED]), unguarded(["task"], ["'=1+1"])
    (['=1+1', '1'], ["'=1+1"])
    """
    if plain_column(columns[-1]) != EXPORT or len(cells) != len(columns) or cells[-1] != GUARDED:
        return cells
    return [*(cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell for cell in cells[:-1]), EXPORT_VERSION]
