"""JSON documents, whole and streamed, from people who do not like us."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmrouter.errors import LogError
from hmrouter.logs import json_file
from hmrouter.logs.json_file import load_document, stream_items, top_keys
from hmrouter.logs.json_stream import NESTING_LIMIT, JsonStream


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_top_keys(tmp_path: Path) -> None:
    document = '{"a": 1, "b": {"c": "x", "d": {"e": 1}, "f": [1]}, "g": [{"h": 1}], "i": null, "j": NaN}'
    assert top_keys(write(tmp_path / "a", document)) == {
        "a": 1, "b": {"c": "x", "d": {}, "f": []}, "g": [], "i": None, "j": "NaN",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        (b"", {}),
        (b"[1]", {}),
        (b"words", {}),
        (b'{"a": 1, "b": tru', {"a": 1}),
        (b'{"a": 1, "b": "' + b"x" * 100_000, {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": 1, "b": "\xff"}', {"a": 1}),
        ('{"a": 1}'.encode("utf-16"), {}),
        (b'{"a": ' + b"[" * 60_000, {}),
    ],
)
def test_top_keys_of_what_is_no_document(tmp_path: Path, content: bytes, keys: dict[str, Any]) -> None:
    assert top_keys(write(tmp_path / "a", content)) == keys
    assert top_keys(write(tmp_path / "b", gzip.compress(content))) == keys
    assert top_keys(tmp_path) == {}


def test_items(tmp_path: Path) -> None:
    path = write(tmp_path / "a", '{"results": [{"x": 1.5}, {"x": 2}], "by": {"k": [], "l": null}}')
    assert list(stream_items(path, "results.item")) == [{"x": 1.5}, {"x": 2}]


def test_a_byte_order_mark(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b'\xef\xbb\xbf{"a": [1]}')
    assert load_document(path) == {"a": [1]}
    assert list(stream_items(path, "a.item")) == [1]


def test_constants_that_are_no_json_become_text_and_can_be_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a", '[NaN, -Infinity, Infinity, "NaN", "\\"NaN", "a\\\\", NaN]')
    assert list(stream_items(path, "item")) == ["NaN", "-Infinity", "Infinity", "NaN", '"NaN', "a\\", "NaN"]


TEXTS = st.text('aN"\\-Infity[]{}\n\u00e4', max_size=12)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('Na"\\[', max_size=5), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(DOCUMENTS, st.integers(1, 30), st.booleans())
@settings(max_examples=300)
def test_wherever_the_blocks_end_only_constants_change(document: Any, size: int, ascii: bool) -> None:
    text = json.dumps(document, ensure_ascii=ascii).encode()
    stream = JsonStream(Path("a"), io.BytesIO(text), limit=10**6)
    read = b"".join(iter(lambda: stream.read(size), b""))
    assert repr(json.loads(read)) == repr(json.loads(text, parse_constant=str))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not valid JSON: parse error: premature EOF"),
        (b"[1, 2", "is not valid JSON: parse error: premature EOF"),
        (b"[1] x", "is not valid JSON: parse error: trailing garbage"),
        (b'["\xff"]', "is not valid JSON: lexical error: invalid bytes in UTF8 string."),
        (b'["a\0"]', "is not valid JSON: lexical error: invalid character inside string."),
        ("[1]".encode("utf-16"), "is not valid JSON: lexical error"),
        (b"[1" + b"0" * 900 + b"]", "is not valid JSON: parse error: integer overflow"),
        (b"[1" + b"0" * 5000 + b"]", "a number has more than 1,000 characters, the limit"),
        (b"[" * 200_000 + b"]" * 200_000, "is nested more than 256 levels deep, the limit"),
        (b'[{"a":' * 100_000, "is nested more than 256 levels deep, the limit"),
        (b"[" * 100 + b"[]," * 100 + b"[" * 200, "is nested more than 256 levels deep, the limit"),
    ],
)
def test_what_cannot_be_streamed(tmp_path: Path, content: bytes, said: str) -> None:
    path = write(tmp_path / "a", content)
    with pytest.raises(LogError) as caught:
        list(stream_items(path, "item"))
    assert str(caught.value).startswith(f"{path}: {said}")


def test_brackets_in_texts_and_side_by_side_are_no_nesting(tmp_path: Path) -> None:
    inner = [{"a": [[]], "text": "[" * 1000 + '\\"{'} for _ in range(3000)]
    path = write(tmp_path / "a", json.dumps(inner))
    assert list(stream_items(path, "item")) == inner
    depth = NESTING_LIMIT - 1
    nested = write(tmp_path / "b", "[" * depth + "]" * depth)
    assert len(list(stream_items(nested, "item"))) == 1


def test_an_endless_item_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_file, "ITEM_LIMIT", 2**20)
    path = write(tmp_path / "a", b'["' + b"x" * (40 * 2**20))
    tracemalloc.start()
    try:
        with pytest.raises(LogError, match="an item is larger than 1 MiB, the limit"):
            list(stream_items(path, "item"))
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the document is not valid JSON"),
        (b"[1]", "the document is a JSON array, and an object {...} is expected"),
        (b'{"a": 1, "a": 2}', "key 'a' appears twice"),
        (b'{"a": "\\ud800"}', "half of a surrogate pair"),
        (b'{"a": "\xff"}', "byte 8 is not valid UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "NUL byte; this is binary data or UTF-16"),
        (b'{"a": ' + b"[" * 100_000, "the document is nested too deeply"),
        (b'{"a": "' + b"x" * 2000 + b'"}', "is larger than 0 MiB"),
    ],
)
def test_what_is_no_small_document(tmp_path: Path, content: bytes, said: str) -> None:
    limit = 10**6 if b"xx" not in content else 1000
    with pytest.raises(LogError) as caught:
        load_document(write(tmp_path / "a", content), limit)
    assert said in str(caught.value)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.binary(max_size=60) | st.text('[]{}",:\\NaInfity-1e9', max_size=60).map(str.encode))
def test_no_bytes_cause_another_error(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "a", content)
    read: list[Callable[[], Any]] = [
        lambda: top_keys(path),
        lambda: load_document(path),
        lambda: list(stream_items(path, "item")),
    ]
    for attempt in read:
        with suppress(LogError):
            attempt()
