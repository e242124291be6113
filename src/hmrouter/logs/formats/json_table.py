"""JSON documents that are a table: an array of objects, an array under one key, or objects one after the other.

The first is what most tools call JSON, the second what services answer, the third what jq writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hmrouter.logs.base import Request
from hmrouter.logs.files import head
from hmrouter.logs.formats.jsonl_file import JsonlReader, row
from hmrouter.logs.json_file import open_document, top_keys
from hmrouter.logs.table import Origin, Row, TableReader, outcomes
from hmrouter.types import Outcome

WRAPPERS = ("data", "results", "runs", "rows", "items", "records", "traces", "outcomes")
"""Keys under which services put their rows."""
_ARRAY = re.compile(rb"\s*\[\s*\{")
_TASK_AND_SCORE = ({"task", "task_id", "query_id", "instance_id"}, {"score"})


class JsonTableReader(TableReader):
    """Objects as rows; the keys are those of `fields.FIELDS`, and may differ from object to object."""

    name = "json"

    def sniff(self, path: Path) -> bool:
        """An array of objects, one under a usual key, or an object over several lines that has a row's keys."""
        start = head(path)
        if b"\0" in start:
            return False
        return _prefix(path) != "" or (not JsonlReader().sniff(path) and _is_row(top_keys(path)))

    def columns(self, path: Path) -> Sequence[str]:
        """The keys of the first object."""
        return next((list(record) for record in _objects(path) if isinstance(record, dict)), [])

    def holds_outcomes(self, path: Path, mapping: Mapping[str, str]) -> bool:
        """Whether there are keys for task and score, perhaps inside other objects."""
        nested = any("." in column for column in mapping.values())
        return nested or super().holds_outcomes(path, mapping)

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per object."""
        return outcomes(_rows(path, request), Origin.of_file(path, request, unit="item"), request)


def _prefix(path: Path) -> str:
    """The place of the rows: "item" in an array, "data.item" under a key, "" where each value is a row itself."""
    if _ARRAY.match(head(path)):
        return "item"
    keys = top_keys(path)
    found = [key for key in keys if key in WRAPPERS and re.search(rb'"%s"\s*:\s*\[\s*\{' % key.encode(), head(path))]
    return f"{found[0]}.item" if found and not _is_row(keys) else ""


def _is_row(keys: Mapping[str, Any]) -> bool:
    return all(names & {key.lower() for key in keys} for names in _TASK_AND_SCORE)


def _objects(path: Path) -> Iterator[Any]:
    import ijson

    with open_document(path) as stream:
        for item in ijson.items(stream, _prefix(path), use_float=True, multiple_values=True):
            stream.end_item()
            yield item


def _rows(path: Path, request: Request) -> Iterator[Row]:
    for number, record in enumerate(_objects(path), 1):
        if isinstance(record, dict):
            yield row(number, record, request)
        else:
            request.refuse(path, "is not an object {...}", f"item {number}", record)
