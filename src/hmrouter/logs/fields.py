"""The one table of the column names of an outcome's fields in CSV, JSONL and Parquet, and of how they are read."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hmrouter.errors import InputError, UnknownName
from hmrouter.logs import coerce, forgiving
from hmrouter.logs.column_hints import suggested


@dataclass(frozen=True, slots=True)
class Field:
    """How one field of an outcome is found and read."""

    columns: tuple[str, ...]
    """Column names, any one of them."""
    convert: coerce.Convert
    forgive: forgiving.Forgive | None = None
    """Reads a cell that `convert` refuses, or leaves it out. None: the row needs this cell as it should be."""


def _leave_out(_: object) -> forgiving.Reading:
    return forgiving.Reading("not readable", why="it cannot be read")


FIELDS: Mapping[str, Field] = {
    "task": Field(("task", "task_id", "query_id", "instance_id"), coerce.name),
    "model": Field(("model",), coerce.name),
    "harness": Field(("harness",), coerce.name),
    "route": Field(("route",), coerce.name),
    "score": Field(("score",), coerce.score),
    "suite": Field(("suite",), coerce.name),
    "text": Field(("text",), coerce.text, _leave_out),
    "text_hash": Field(("text_hash",), coerce.name, _leave_out),
    "meta": Field(("meta",), coerce.meta, _leave_out),
    "family": Field(("family",), coerce.name, _leave_out),
    "n_trials": Field(("n_trials", "trials"), coerce.trials, forgiving.whole),
    "status": Field(("status",), coerce.status, _leave_out),
    "cost": Field(("cost", "cost_usd"), coerce.amount, forgiving.amount),
    "cost_is_route_mean": Field(("cost_is_route_mean",), coerce.flag, _leave_out),
    "token_cost": Field(("token_cost", "token_cost_usd"), coerce.amount, forgiving.amount),
    "input_tokens": Field(("input_tokens",), coerce.count, forgiving.whole),
    "cached_tokens": Field(("cached_tokens",), coerce.count, forgiving.whole),
    "output_tokens": Field(("output_tokens",), coerce.count, forgiving.whole),
    "seconds": Field(("seconds",), coerce.amount, forgiving.duration),
    "when": Field(("when",), coerce.moment, forgiving.moment),
    "source": Field(("source",), coerce.name),
    "run": Field(("run",), coerce.name),
    "trial": Field(("trial",), coerce.name),
    "model_version": Field(("model_version",), coerce.name, _leave_out),
    "harness_version": Field(("harness_version",), coerce.name, _leave_out),
    "dataset_version": Field(("dataset_version",), coerce.name, _leave_out),
    "model_spelling": Field(("model_spelling",), coerce.name),
    "harness_spelling": Field(("harness_spelling",), coerce.name),
    "attempt": Field(("attempt",), coerce.trials),
}

KEY = ("suite", "source", "run", "trial")
"""Fields that identify an outcome beside its task and its route, and that have a default."""

EXPORT, EXPORT_VERSION = "hmrouter_export", "1"
"""The column, and what stands in it, that marks a row of an export: its key and its names are as they are, empty or of
another spelling. In any other table an empty cell means that the table does not say."""

EXPECTED = "task (or task_id, query_id, instance_id), model and harness (or route), score"


@dataclass(frozen=True, slots=True)
class Binding:
    """Which column holds which field."""

    at: Mapping[str, int]
    """Field -> position of its column."""
    ignored: frozenset[str]
    """Columns that no field is read from."""
    export: int | None = None
    """Position of the column that marks rows of an export, if there is one and the whole key."""


def check_mapping(mapping: Mapping[str, str]) -> None:
    """Refuse a mapping of a field that does not exist."""
    for field in mapping:
        if field not in FIELDS:
            raise UnknownName("field", field, FIELDS)


def bind(columns: Sequence[str], mapping: Mapping[str, str], unread: Collection[str] = ()) -> Binding:
    """Find the fields among the columns; `mapping` (field -> column) comes before the usual names.

    >>> bind(["instance_id", "route", "score", "colour"], {}).at
    {'task': 0, 'route': 1, 'score': 2}
    """
    places: dict[str, int] = {}
    twice: dict[str, str] = {}
    for place, column in enumerate(columns):
        if places.setdefault(plain_column(column), place) != place:
            twice[plain_column(column)] = column
    at: dict[str, int] = {}
    for field, column in mapping.items():
        if field in unread:
            raise InputError(f"{field} is not read from a column here, so it cannot be mapped to {column!r}")
        if plain_column(column) not in places:
            raise InputError(f"no column {column!r} for {field}, as the mapping says; found {_listed(columns)}")
        at[field] = places[plain_column(column)]
    taken = set(at.values())
    for field, known in FIELDS.items():
        if field in at or field in unread:
            continue
        found = [name for name in known.columns if name in places and places[name] not in taken]
        if len(found) > 1:
            raise InputError(f"columns {' and '.join(found)} both name the {field}; map {field} to one of them")
        if found:
            at[field] = places[found[0]]
    by_route = "route" in at and ("route" in mapping or not {"model", "harness"} <= at.keys())
    for field in ("model", "harness") if by_route else ("route",):
        at.pop(field, None)
    required = ("task", "score") if by_route else ("task", "model", "harness", "score")
    missing = [field for field in required if field not in at]
    if missing:
        raise _lacking(missing, [column for place, column in enumerate(columns) if place not in at.values()], columns)
    for column in (columns[place] for place in at.values()):
        if plain_column(column) in twice:  # of columns that nothing is read from, any number may have one name
            raise InputError(f"column {twice[plain_column(column)]!r} appears twice; rename or remove one")
    export = places.get(EXPORT) if at.keys() >= set(KEY) else None
    used = {*at.values(), export}
    return Binding(at, frozenset(columns[place] for place in range(len(columns)) if place not in used), export)


def _lacking(missing: Sequence[str], free: Sequence[str], columns: Sequence[str]) -> InputError:
    """Say which fields have no column, and the mapping to the nearest ones if there are any."""
    what = f"no column for {', '.join(missing)}; found {_listed(columns)}; expected {EXPECTED}"
    if near := suggested(missing, free):
        mapping = ",".join(f"{field}={column}" for field, column in near.items())
        named = [field for field in missing if field in ("model", "harness") and field not in near]
        return InputError(what, hint="map_and_name" if named else "map_columns", mapping=mapping, named=" ".join(named))
    if any(_is_number(column) for column in columns):
        return InputError(f"{what}; the first line looks like a row: put the names of the columns above it")
    return InputError(what)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def plain_column(column: str) -> str:
    """Write a column name as it is compared: spreadsheets like "Score" and " score"."""
    return column.strip().lower()


def _listed(columns: Sequence[str], limit: int = 12) -> str:
    more = f" and {len(columns) - limit} more" if len(columns) > limit else ""
    return (", ".join(column[:40] for column in columns[:limit]) or "none") + more
