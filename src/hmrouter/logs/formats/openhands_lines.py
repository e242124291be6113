"""`output.jsonl` of OpenHands, and the reports of the same shape beside it, as objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, InvalidOutcome
from hmrouter.logs.base import Request, problem
from hmrouter.logs.files import open_bytes
from hmrouter.logs.json_file import ITEM_LIMIT, top_keys
from hmrouter.logs.json_object import load_object


def has_executions(file: Path) -> bool:
    """Whether a file begins with a line about an execution."""
    keys = top_keys(file)
    return isinstance(keys.get("instance_id"), str) and isinstance(keys.get("test_result"), dict)


def stem(file: Path) -> str:
    """The file's name without its endings."""
    return file.name.removesuffix(".gz").removesuffix(".jsonl")


def records(file: Path, request: Request) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the lines as objects. They hold transcripts, so they may be far longer than those of a table."""
    with open_bytes(file) as stream:
        for number, line in enumerate(iter(partial(stream.readline, ITEM_LIMIT + 1), b""), start=1):
            at = f"line {number}"
            if len(line) > ITEM_LIMIT:
                raise problem(file, f"is longer than {ITEM_LIMIT // 2**20} MiB, the limit for one execution", at)
            if line.isspace():
                continue
            try:
                yield number, load_object(line.decode("utf-8-sig"), "the line")
            except UnicodeDecodeError as error:
                request.refuse(file, f"byte {error.start + 1} is not valid UTF-8", at, None)
            except InputError as error:  # the line itself is not repeated: it may hold a key
                request.refuse(file, error, at, None)


def part(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Get an object within an object, empty if there is none."""
    value = record.get(key)
    if value is not None and not isinstance(value, dict):
        raise InvalidOutcome(f"{key} is not an object {{...}}")
    return value or {}
