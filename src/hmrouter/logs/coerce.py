"""Reading cells of tables: one cell -> one value of an outcome.

A cell is text in CSV, a JSON value in JSONL and a Python value in Parquet, so each function takes all three; an
empty cell, null and an absent column mean the same. What cannot be meant is refused, never guessed at.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

from hmrouter.errors import InvalidOutcome
from hmrouter.logs import forgiving
from hmrouter.logs.files import CELL_LIMIT
from hmrouter.logs.json_object import load_object
from hmrouter.types import Status

NAME_BYTES = 1000
"""UTF-8 bytes of what goes into a key: ids and names. Databases index these, and cannot index much more."""

_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_LARGEST_INTEGER = 2**63 - 1  # what a database column holds


def name(value: Any, field: str) -> str:
    """Read an id or a name, "" where there is none; numbers are fine as ids.

    >>> name(17, "task")
    '17'
    """
    if type(value) is not str:
        if value is None:
            return ""
        if type(value) is float and value.is_integer():
            value = int(value)  # tables with gaps turn integers into floats
        if type(value) is not int:
            raise InvalidOutcome(f"{field} {reprlib.repr(value)} is not text")
        value = str(value)
    if len(value) > NAME_BYTES // 4 and (size := len(value.encode("utf-8", "surrogatepass"))) > NAME_BYTES:
        raise InvalidOutcome(f"{field} {reprlib.repr(value)} has {size} bytes; the limit is {NAME_BYTES}")
    return "" if not value or value.isspace() else text(value, field)


def text(value: Any, field: str) -> str:
    """Read any text, as it is."""
    if value is None:
        return ""
    if type(value) is not str:
        raise InvalidOutcome(f"{field} {reprlib.repr(value)} is not text")
    if "\0" in value:  # PostgreSQL stores none
        raise InvalidOutcome(f"{field} contains a NUL character")
    if len(value) > CELL_LIMIT:
        raise InvalidOutcome(f"{field} holds more than {CELL_LIMIT // 2**20} MiB, the limit")
    return value


def score(value: Any, field: str) -> float | None:
    """Read a number, a share in per cent, or a verdict; the range is checked where the outcome is made.

    >>> score("passed", "score"), score(0.25, "score"), score("85%", "score"), score("n/a", "score")
    (1.0, 0.25, 0.85, None)
    """
    if type(value) is bool:
        return float(value)
    try:
        return number(value, field)
    except InvalidOutcome:
        if forgiving.missing(value):
            return None
        if type(value) is str and (read := forgiving.score(value)) is not None:
            return read
        raise InvalidOutcome(f"{field} {reprlib.repr(value)} is not a number from 0 to 1") from None


def number(value: Any, field: str) -> float | None:
    """Read a number; NaN and infinity pass here and are refused with their range where the outcome is made."""
    if type(value) is str:
        try:
            return float(value)
        except ValueError:
            if not value.strip():
                return None
    elif value is None:
        return None
    elif isinstance(value, Real | Decimal) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:  # an integer of 400 digits
            return math.inf
    raise InvalidOutcome(f"{field} {reprlib.repr(value)} is not a number")


def amount(value: Any, field: str) -> float | None:
    """Read a number of dollars or seconds: finite, and at least 0."""
    real = number(value, field)
    if real is not None and not (real >= 0 and math.isfinite(real)):
        raise InvalidOutcome(f"{field} {real} is not a finite number of at least 0")
    return real


def count(value: Any, field: str) -> int | None:
    """Read a whole number of at least 0."""
    found = integer(value, field)
    if found is not None and found < 0:
        raise InvalidOutcome(f"{field} {found} is negative")
    return found


def integer(value: Any, field: str) -> int | None:
    """Read a whole number; 5.0 is one, because tables with gaps turn integers into floats."""
    if type(value) is not int:
        try:
            # Directly, because a float has no room for the last digits of a large integer.
            whole = int(value) if type(value) is str else None
        except ValueError:
            whole = None
        if whole is None:
            real = number(value, field)
            if real is None:
                return None
            if not real.is_integer():
                raise InvalidOutcome(f"{field} {reprlib.repr(value)} is not a whole number")
            whole = int(real)
        value = whole
    if abs(value) > _LARGEST_INTEGER:
        raise InvalidOutcome(f"{field} {reprlib.repr(value)} is larger than {_LARGEST_INTEGER}")
    return int(value)


def trials(value: Any, field: str) -> int:
    """Read a number of executions; one where the log does not say."""
    found = count(value, field)
    return 1 if found is None else found


def flag(value: Any, field: str) -> bool:
    """Read true or false, false where the log does not say."""
    truth = value if type(value) is bool else _TRUTH.get(str(value).strip().lower())
    if truth is None:
        if name(value, field):
            raise InvalidOutcome(f"{field} {reprlib.repr(value)} is neither true nor false")
        return False
    return truth


def status(value: Any, field: str) -> Status:
    """Read one of the three statuses; `ok` where the log does not say."""
    word = name(value, field).strip().lower()
    try:
        return Status(word) if word else Status.OK
    except ValueError:
        valid = ", ".join(Status)
        raise InvalidOutcome(f"{field} {reprlib.repr(value)} is not known; choose from {valid}") from None


def moment(value: Any, field: str) -> datetime | None:
    """Read a point in time in UTC; one without a zone is taken as UTC.

    >>> moment("2026-01-31T12:00:00+01:00", "when").isoformat()
    '2026-01-31T11:00:00+00:00'
    """
    if type(value) is str:
        if not value.strip():
            return None
        with suppress(ValueError):
            value = datetime.fromisoformat(value.strip())
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidOutcome(f"{field} {reprlib.repr(value)} is not an ISO 8601 time such as 2026-01-31T12:00:00Z")
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:  # a zone offset that leaves the years 1 to 9999
        raise InvalidOutcome(f"{field} {value} is out of range") from None


def meta(value: Any, field: str) -> Mapping[str, Any]:
    """Read a JSON object, as such or as text."""
    if value is None:
        return {}
    if type(value) is str:
        return load_object(value, field) if value.strip() else {}
    if type(value) is not dict:
        raise InvalidOutcome(f"{field} {reprlib.repr(value)} is not a JSON object")
    return value


Convert = Callable[[Any, str], Any]
