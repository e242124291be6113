"""JSON documents: one value per file, small ones whole, large ones item by item in constant memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, LogError
from hmrouter.logs.base import problem
from hmrouter.logs.files import head, open_bytes
from hmrouter.logs.json_object import load_object
from hmrouter.logs.json_stream import JsonStream

DOCUMENT_LIMIT = 16 * 2**20
"""Bytes of a document that is read whole: the result of one execution, the description of one run."""
ITEM_LIMIT = 64 * 2**20
"""Bytes of one item of a document that is streamed: one execution, perhaps with its transcript."""


def is_document(path: Path) -> bool:
    """Whether a file begins like a JSON object, by content."""
    start = head(path)
    return b"\0" not in start and start.lstrip().startswith(b"{")


def top_keys(path: Path) -> dict[str, Any]:
    """Read the keys of the object that a file begins with, as far as its first 64 KiB go, for sniffing.

    A scalar comes with its value, a nested object with the dictionary of its own keys (their values likewise, one
    level), an array as an empty list. What is not JSON gives what came before the fault; a directory gives nothing.
    """
    import ijson

    found: dict[str, Any] = {}
    if not is_document(path):
        return found
    inner: dict[str, Any] = {}
    depth, outer_key, inner_key = 0, "", ""
    try:
        for event, value in ijson.basic_parse(JsonStream(path, BytesIO(head(path)), ITEM_LIMIT)):
            if event == "map_key":
                if depth == 1:
                    outer_key = value
                elif depth == 2:
                    inner_key = value
                continue
            if event in ("end_map", "end_array"):
                depth -= 1
                if depth == 0:
                    break
                continue
            opens = event in ("start_map", "start_array")
            kept: Any = ({} if event == "start_map" else []) if opens else value
            if depth == 1:
                found[outer_key] = inner = kept
            elif depth == 2 and isinstance(inner, dict):
                inner[inner_key] = kept
            depth += opens
    except (ijson.JSONError, UnicodeDecodeError, LogError, ArithmeticError):
        pass  # cut off in the middle, no JSON after all, or a number like 1e99999999999999999999
    return found


def load_document(path: Path, limit: int = DOCUMENT_LIMIT) -> dict[str, Any]:
    """Read the one object of a small file; whatever is wrong with it is a `LogError`."""
    with open_bytes(path) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise problem(path, f"is larger than {limit // 2**20} MiB, the limit for a document of this kind")
    if b"\0" in data:
        raise problem(path, "NUL byte; this is binary data or UTF-16, and UTF-8 text is expected")
    try:
        return load_object(data.decode("utf-8-sig"), "the document")
    except UnicodeDecodeError as error:
        raise problem(path, f"byte {error.start + 1} is not valid UTF-8; convert the file to UTF-8") from None
    except InputError as error:
        raise problem(path, error) from None


def stream_items(path: Path, prefix: str) -> Iterator[Any]:
    """Stream the values at a place of a document, one at a time: `results.item` for each of the array `results`."""
    import ijson

    with open_document(path) as stream:
        for item in ijson.items(stream, prefix, use_float=True):
            stream.end_item()
            yield item


@contextmanager
def open_document(path: Path) -> Iterator[JsonStream]:
    """Open a document for the parser; call `end_item` after each item. Whatever is wrong with it is a `LogError`."""
    import ijson

    with open_bytes(path) as stream:
        try:
            yield JsonStream(path, stream, ITEM_LIMIT)
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise problem(path, f"is not valid JSON: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    # The parser goes on with an excerpt and an arrow to the place; it has bytes where they are no UTF-8.
    said = error.args[0] if error.args else ""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(error)
    return text.partition("\n")[0]
