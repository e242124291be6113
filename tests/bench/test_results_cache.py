"""The cache of finished units: found again by everything they depend on, and never half."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.run.results_cache import ResultsCache
from hmrouter.errors import OutputError

KEY = {"experiment": "routing", "split": 3, "embedder": ["lsa", "1234", None], "libraries": {"numpy": "2"}}
ROWS = [{"accuracy": 0.1 + 0.2, "auc": None, "reliability": [[0.1, 0.2, 3]], "benchmark": "Größe"}]


@pytest.fixture
def cache(tmp_path: Path) -> ResultsCache:
    return ResultsCache(tmp_path / "cache")


def test_what_was_put_is_found(cache: ResultsCache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, ROWS)
    assert cache.get(KEY) == ROWS
    assert ResultsCache(cache.directory).get(dict(reversed(KEY.items()))) == ROWS


@pytest.mark.parametrize("change", [{"split": 4}, {"embedder": ["lsa", "1234", {}]}, {"more": 1}, {"libraries": {}}])
def test_another_key_is_another_unit(cache: ResultsCache, change: dict[str, Any]) -> None:
    cache.put(KEY, ROWS)
    assert cache.get(KEY | change) is None


def the_file(cache: ResultsCache) -> Path:
    (file,) = [path for path in cache.directory.rglob("*") if path.is_file()]
    return file


def test_a_truncated_file_is_an_unfinished_unit(cache: ResultsCache) -> None:
    cache.put(KEY, ROWS)
    file = the_file(cache)
    whole = file.read_bytes()
    for end in range(0, len(whole) - 1, 7):
        file.write_bytes(whole[:end])
        assert cache.get(KEY) is None
    cache.put(KEY, ROWS)
    assert file.read_bytes() == whole


DAMAGE = [b"", b"[]", b"null", b"{}", b"\xff\xfe\x00", b'{"key": 1, "rows": []}', b'{"rows": []}', b"[" * 100_000]


@pytest.mark.parametrize("content", DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_file_is_an_unfinished_unit(cache: ResultsCache, content: bytes) -> None:
    cache.put(KEY, ROWS)
    the_file(cache).write_bytes(content)
    assert cache.get(KEY) is None


@pytest.mark.parametrize("rows", [b'"text"', b"5", b"null", b"{}", b"[1]", b"[[]]"])
def test_rows_that_are_no_rows(cache: ResultsCache, rows: bytes) -> None:
    cache.put(KEY, [])
    file = the_file(cache)
    file.write_bytes(file.read_bytes().replace(b'"rows": []', b'"rows": ' + rows))
    assert cache.get(KEY) is None


def test_a_directory_in_place_of_a_file(cache: ResultsCache) -> None:
    cache.put(KEY, ROWS)
    file = the_file(cache)
    file.unlink()
    file.mkdir()
    assert cache.get(KEY) is None
    with pytest.raises(OutputError, match="not a regular file"):
        cache.put(KEY, ROWS)


def test_a_cache_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(OutputError, match="choose another"):
        ResultsCache(tmp_path / "cache").put(KEY, ROWS)


@given(st.lists(st.dictionaries(st.text(), st.none() | st.floats(allow_nan=False) | st.integers() | st.text())))
def test_numbers_come_back_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    cache = ResultsCache(tmp_path_factory.mktemp("cache"))
    cache.put(KEY, rows)
    assert repr(cache.get(KEY)) == repr(rows)
