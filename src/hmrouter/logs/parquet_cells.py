"""Cells of Parquet files -> Python values, without making more of them than the file holds.

A file can say a long text once and refer to it from a million rows; so texts stay in pyarrow's dictionaries until each
is needed, and the rows of one share the value.
"""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from hmrouter.logs.files import CELL_LIMIT, CELL_TOO_LONG
from hmrouter.logs.parquet_pages import PAGE_LIMIT


def cells(array: Any, first: int, bad: dict[int, str], arrow: ModuleType) -> list[Any]:
    """Read the values of a column; a row with one that cannot be kept is added to `bad` with the reason."""
    if arrow.types.is_timestamp(array.type) and array.type.unit == "ns":
        # Python's datetime has no nanoseconds, and no log needs them.
        array = array.cast(arrow.timestamp("us", array.type.tz), safe=False)
    nested = arrow.types.is_nested(array.type)
    if arrow.types.is_dictionary(array.type):
        values = _shared(array)
    elif nested and _size(array, arrow) > PAGE_LIMIT:
        values = [_small(array, place, first, bad, arrow) for place in range(len(array))]
    else:
        values = _values(array, first, bad)
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


def _small(array: Any, place: int, first: int, bad: dict[int, str], arrow: ModuleType) -> Any:
    if _size(array.slice(place, 1), arrow) > CELL_LIMIT:
        bad[first + place] = CELL_TOO_LONG
        return None
    return array[place].as_py()


def _size(array: Any, arrow: ModuleType) -> int:
    """Bytes of the values of an array, about, once each is on its own."""
    import pyarrow.compute as compute

    kind = array.type
    if arrow.types.is_struct(kind):
        return sum(_size(child, arrow) for child in array.flatten())
    if arrow.types.is_nested(kind):  # lists and maps
        return 8 * len(array) + _size(array.flatten(), arrow)
    if arrow.types.is_dictionary(kind):
        if not _is_text(kind.value_type, arrow):
            return 8 * len(array)
        return compute.sum(compute.binary_length(array.dictionary).cast("int64").take(array.indices)).as_py() or 0
    if _is_text(kind, arrow):
        return compute.sum(compute.binary_length(array)).as_py() or 0
    return 8 * len(array)


def _is_text(kind: Any, arrow: ModuleType) -> bool:
    types = arrow.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    )
