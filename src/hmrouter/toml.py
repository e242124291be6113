"""TOML from a file that nobody vouched for: not too large, not nested without end."""

from __future__ import annotations

import tomllib
from typing import Any

from hmrouter.errors import InputError

TOML_LIMIT = 2**20
"""Bytes of a file; the parser's time grows faster than its length, and a person writes a few kilobytes."""


def parse_toml(content: bytes, what: str) -> dict[str, Any]:
    """Parse a TOML document; whatever is wrong with it is an `InputError` about `what`.

    >>> parse_toml(b"models = ['gpt-5']", "the pool file p.toml")
    {'models': ['gpt-5']}
    >>> parse_toml(b"a = " + b"[" * 10_000, "the pool file p.toml")
    Traceback (most recent call last):
    hmrouter.errors.InputError: the pool file p.toml is nested too deeply
    """
    if len(content) > TOML_LIMIT:
        raise InputError(f"{what} is larger than {TOML_LIMIT // 2**20} MiB, the limit")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except RecursionError:
        raise InputError(f"{what} is nested too deeply") from None
    except ValueError as error:  # also of text that is not UTF-8, and of an integer of thousands of digits
        raise InputError(f"{what} is not a TOML file: {error}") from error
