"""Cells of Parquet files -> Python values, without making more of them than the file holds.

A file can say a long text once and refer to it from a million rows; so texts stay in pyarrow's dictionaries until each
is needed, and the rows of one share the value.
"""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from hmrouter.logs.files import CELL_LIMIT, CELL_TOO_LONG


def cells(array: Any, first: int, bad: dict[int, str], arrow: ModuleType) -> list[Any]:
    """Read the values of a column; a row with one that cannot be kept is added to `bad` with the reason."""
    if arrow.types.is_timestamp(array.type) and array.type.unit == "ns":
        # Python's datetime has no nanoseconds, and no log needs them.
        array = array.cast(arrow.timestamp("us", array.type.tz), safe=False)
    nested = arrow.types.is_nested(array.type)
    values = _shared(array) if arrow.types.is_dictionary(array.type) else _values(array, first, bad)
    for place, cell in enumerate(values, first):
        try:
            text = json.dumps(cell) if nested else cell
        except TypeError as error:
            bad[place] = f"a nested value cannot be kept as JSON: {error}"
        else:
            if isinstance(text, str | bytes) and len(text) > CELL_LIMIT:
                bad[place] = CELL_TOO_LONG
    return values


def _values(array: Any, first: int, bad: dict[int, str]) -> list[Any]:
    try:
        values: list[Any] = array.to_pylist()
    except (OverflowError, ValueError):  # one of them; UnicodeDecodeError is a ValueError, too
        values = []
        for place, scalar in enumerate(array, first):
            try:
                values.append(scalar.as_py())
            except (OverflowError, ValueError) as error:
                values.append(None)
                bad[place] = f"a value of type {array.type} has no form in Python: {error}"
    return values


def _shared(array: Any) -> list[Any]:
    places = array.indices.to_pylist()
    values = {place: array.dictionary[place].as_py() for place in set(places) if place is not None}
    return [values.get(place) for place in places]
