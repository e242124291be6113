"""Values out of JSON that another program wrote: what is absent or of an unexpected type is None, never an error."""

from __future__ import annotations

import json
from typing import Any


def parsed(line: str) -> dict[str, Any] | None:
    """Read a line that is a JSON object; None for anything else, such as a warning between the events."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def field(value: Any, path: str) -> Any:
    """Follow a path of keys separated by dots; a number is a place in a list.

    >>> field({"a": [{"b": 7}]}, "a.0.b"), field({"a": 1}, "a.b.c")
    (7, None)
    """
    for key in path.split("."):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.lstrip("-").isdigit() and -len(value) <= int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def count(value: Any, path: str) -> int | None:
    """A whole number of at least 0 at a path.

    >>> count({"n": 3}, "n"), count({"n": True}, "n"), count({"n": "3"}, "n")
    (3, None, None)
    """
    found = amount(value, path)
    return None if found is None else int(found)


def amount(value: Any, path: str) -> float | None:
    """A number of at least 0 at a path."""
    found = field(value, path)
    return found if isinstance(found, int | float) and not isinstance(found, bool) and found >= 0 else None


def text(value: Any, path: str) -> str:
    """A text at a path, "" where there is none."""
    found = field(value, path)
    return found if isinstance(found, str) else ""


def total(*numbers: int | None) -> int | None:
    """The sum of what is known, None where nothing is.

    >>> total(1, None, 2), total(None)
    (3, None)
    """
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
