"""The one table of the column names of an outcome's fields in CSV, JSONL and Parquet, and of how they are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hmrouter.errors import InputError, UnknownName
from hmrouter.logs import coerce


@dataclass(frozen=True, slots=True)
class Field:
    """How one field of an outcome is found and read."""

    columns: tuple[str, ...]
    """Column names, any one of them."""
    convert: coerce.Convert


FIELDS: Mapping[str, Field] = {
    "task": Field(("task", "task_id", "query_id", "instance_id"), coerce.name),
    "model": Field(("model",), coerce.name),
    "harness": Field(("harness",), coerce.name),
    "route": Field(("route",), coerce.name),
    "score": Field(("score",), coerce.score),
    "suite": Field(("suite",), coerce.name),
    "text": Field(("text",), coerce.text),
    "text_hash": Field(("text_hash",), coerce.name),
    "meta": Field(("meta",), coerce.meta),
    "family": Field(("family",), coerce.name),
    "n_trials": Field(("n_trials", "trials"), coerce.trials),
    "status": Field(("status",), coerce.status),
    "cost": Field(("cost", "cost_usd"), coerce.number),
    "cost_is_route_mean": Field(("cost_is_route_mean",), coerce.flag),
    "token_cost": Field(("token_cost", "token_cost_usd"), coerce.number),
    "input_tokens": Field(("input_tokens",), coerce.integer),
    "cached_tokens": Field(("cached_tokens",), coerce.integer),
    "output_tokens": Field(("output_tokens",), coerce.integer),
    "seconds": Field(("seconds",), coerce.number),
    "when": Field(("when",), coerce.moment),
    "source": Field(("source",), coerce.name),
    "run": Field(("run",), coerce.name),
    "trial": Field(("trial",), coerce.name),
    "model_version": Field(("model_version",), coerce.name),
    "harness_version": Field(("harness_version",), coerce.name),
    "dataset_version": Field(("dataset_version",), coerce.name),
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
    for place, column in enumerate(columns):
        if places.setdefault(plain_column(column), place) != place:
            raise InputError(f"column {column!r} appears twice; rename or remove one")
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
        raise InputError(f"no column for {', '.join(missing)}; found {_listed(columns)}; expected {EXPECTED}")
    export = places.get(EXPORT) if at.keys() >= set(KEY) else None
    used = {*at.values(), export}
    return Binding(at, frozenset(columns[place] for place in range(len(columns)) if place not in used), export)


def plain_column(column: str) -> str:
    """Write a column name as it is compared: spreadsheets like "Score" and " score"."""
    return column.strip().lower()


def _listed(columns: Sequence[str], limit: int = 12) -> str:
    more = f" and {len(columns) - limit} more" if len(columns) > limit else ""
    return (", ".join(column[:40] for column in columns[:limit]) or "none") + more
