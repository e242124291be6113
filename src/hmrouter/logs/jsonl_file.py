"""JSON lines: one object per line, plain or gzipped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError
from hmrouter.logs.base import Request, problem
from hmrouter.logs.files import CELL_LIMIT, CELL_TOO_LONG, Lines, head, open_bytes
from hmrouter.logs.json_object import load_object
from hmrouter.logs.table import Origin, Row, outcomes
from hmrouter.types import Outcome


class JsonlReader:
    """One JSON object per line; the keys are those of `fields.FIELDS`, and may differ from line to line."""

    name = "jsonl"

    def sniff(self, path: Path) -> bool:
        """Text that begins with an object."""
        start = head(path)
        return b"\0" not in start and start.lstrip().startswith(b"{")

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per line."""
        return outcomes(_rows(path), Origin.of_file(path, request), request)


def _rows(path: Path) -> Iterator[Row]:
    for number, record in jsonl_objects(path):
        yield number, tuple(record), tuple(record.values())


def jsonl_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their line numbers; blank lines are skipped."""
    with open_bytes(path) as stream:
        lines = Lines(path, stream)
        for line in lines:
            long = lines.end_record()
            if line.isspace():
                continue
            try:
                record = load_object(line, "the line")
            except InputError as error:
                raise problem(path, error, at=f"line {lines.number}") from None
            if long and any(_size(value) > CELL_LIMIT for value in record.values()):
                raise problem(path, CELL_TOO_LONG, at=f"line {lines.number}")
            yield lines.number, record
    if not lines.number:
        raise problem(path, "is empty")


def _size(value: Any) -> int:
    return len(value if isinstance(value, str) else json.dumps(value))
