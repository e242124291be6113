"""JSON lines: one object per line, plain or gzipped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError
from hmrouter.logs.base import Request, problem
from hmrouter.logs.encodings import open_utf8, text_head
from hmrouter.logs.files import CELL_LIMIT, CELL_TOO_LONG, Lines
from hmrouter.logs.json_file import top_keys
from hmrouter.logs.json_object import load_object
from hmrouter.logs.table import Origin, Row, TableReader, outcomes
from hmrouter.types import Outcome


class JsonlReader(TableReader):
    """One JSON object per line; the keys are those of `fields.FIELDS`, and may differ from line to line."""

    name = "jsonl"

    def sniff(self, path: Path) -> bool:
        """Text whose first line is an object, not only the beginning of one that goes on: that is a JSON document."""
        start = text_head(path).lstrip()
        line, end, _ = start.partition(b"\n")
        return b"\0" not in start and line.startswith(b"{") and (not end or line.rstrip().endswith(b"}"))

    def columns(self, path: Path) -> Sequence[str]:
        """The keys of the first line that is an object, as far as the first 64 KiB go."""
        for line in text_head(path).decode("utf-8", "replace").split("\n"):
            with suppress(InputError):
                return list(load_object(line, "the line"))
        return list(top_keys(path))  # one line, longer than that

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per line."""
        return outcomes(_rows(path, request), Origin.of_file(path, request), request)


def _rows(path: Path, request: Request) -> Iterator[Row]:
    for number, record in jsonl_objects(path, request):
        yield row(number, record, request)


def row(number: int, record: dict[str, Any], request: Request) -> Row:
    """Make a row of an object; what lies in objects inside it is a column of its own where a mapping asks for one.

    >>> row(1, {"task": "t", "metadata": {"model": "gpt-5"}}, Request(mapping={"model": "metadata.model"}))[1]
    ('task', 'metadata', 'metadata.model')
    """
    inner = {}
    for column in request.mapping.values():
        if "." in column and column not in record and (found := _inside(record, column.split("."))) is not None:
            inner[column] = found
    return number, (*record, *inner), (*record.values(), *inner.values())


def _inside(record: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(record, dict):
            return None
        record = record.get(key)
    return record


def jsonl_objects(path: Path, request: Request) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the objects of a file with their line numbers; blank lines are skipped, lines that are none are refused."""
    with open_utf8(path) as stream:
        lines = Lines(path, stream)
        for line in lines:
            long = lines.end_record()
            if line.isspace():
                continue
            at = f"line {lines.number}"
            try:
                record = load_object(line, "the line")
            except InputError as error:
                request.refuse(path, error, at, line.rstrip("\r\n"))
                continue
            if long and any(_size(value) > CELL_LIMIT for value in record.values()):
                request.refuse(path, CELL_TOO_LONG, at, None)
                continue
            yield lines.number, record
    if not lines.number:
        raise problem(path, "is empty")


def _size(value: Any) -> int:
    return len(value if isinstance(value, str) else json.dumps(value))
