"""JSON text -> one object, strictly."""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from typing import Any

from hmrouter.errors import InputError


def load_object(text: str, what: str) -> dict[str, Any]:
    """Parse one JSON object; refuse what would lose data or could not be stored.

    >>> load_object('{"a": 1}', "meta")
    {'a': 1}
    """
    try:
        value = _DECODER.decode(text)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise InputError(f"{what} is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{what} is not valid JSON: {error.msg} at character {error.pos + 1}") from None
    except UnicodeEncodeError:
        raise InputError(f"{what} holds half of a surrogate pair, which is not a character") from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"{what} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{what} is a JSON {_KIND[type(value)]}, and an object {{...}} is expected")
    return value


_KIND: dict[type, str] = {
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "true or false",
    type(None): "null",
}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # The standard parser keeps the last of two equal keys, which would drop a value without a word.
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise InputError(f"key {reprlib.repr(twice)} appears twice in one JSON object")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)  # one for all lines: making it costs more than a line
