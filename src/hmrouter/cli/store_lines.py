"""Helpers that both exports share: whether an import takes a text, and records as lines of JSON."""

from __future__ import annotations

import json
from typing import Any

from hmrouter.logs.files import CELL_LIMIT, RECORD_LIMIT

LONGEST = RECORD_LIMIT - CELL_LIMIT
"""The most bytes of a text that an import takes, with room for the rest of its record."""


def fits(text: str) -> bool:
    """Whether an import takes a text of this length.

    >>> fits("Fix the failing CI job"), fits("x" * (CELL_LIMIT + 1))
    (True, False)
    """
    return len(text) <= CELL_LIMIT and len(text.encode()) <= LONGEST


def json_line(record: dict[str, Any]) -> bytes:
    """Write a record as one line of JSON."""
    try:
        return json.dumps(record, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair in the meta; the import will refuse this record alone
        return json.dumps(record).encode() + b"\n"
