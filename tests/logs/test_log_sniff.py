"""Which format a path is in: by content, not by name."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmrouter.errors import LogError, UnknownName
from hmrouter.logs import READERS, format_names, read_logs, sniff

TABLE = {"task": ["t"], "route": ["h:m"], "score": [1]}


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (b"task,route,score\n", "csv"),
        (b"\xef\xbb\xbftask,route,score\n", "csv"),
        (b"a,b\n", "csv"),
        (b'{"task": "t", "route": "h:m"}\n', "jsonl"),
        (b'\xef\xbb\xbf\n {"task": "t"}', "jsonl"),
        (b'{"task": bad}\n', "jsonl"),
        (b'{"text": "' + b"x" * 100_000 + b'"}\n', "jsonl"),
    ],
)
def test_text_formats(tmp_path: Path, content: bytes, format: str) -> None:
    path = tmp_path / "log.parquet"  # a misleading name
    path.write_bytes(content)
    assert sniff(path) == format
    path.write_bytes(gzip.compress(content))
    assert sniff(path) == format


def test_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table(TABLE), tmp_path / "log.csv")
    assert sniff(tmp_path / "log.csv") == "parquet"


def test_exactly_one_reader_takes_a_path(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("task,route,score\n")
    (tmp_path / "b").write_text('{"task": 1, "score": 2}\n')
    pq.write_table(pa.table(TABLE), tmp_path / "c")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "queries.jsonl").touch()
    takers = {path.name: [reader.name for reader in READERS if reader.sniff(path)] for path in tmp_path.iterdir()}
    assert takers == {"a": ["csv"], "b": ["jsonl"], "c": ["parquet"], "d": ["benchmark"]}


@pytest.mark.parametrize("content", [b"one line of prose\n", b"\x89PNG\r\n\x1a\n\0\0,\0", os.urandom(2000) + b"\0"])
def test_nothing_recognised(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "runs.csv"
    path.write_bytes(content)
    with pytest.raises(LogError, match=f"no known log format recognised; known are {', '.join(format_names())}"):
        read_logs(path)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ('{\n  "runs": [],\n  "colour": "red"\n}', "; it is a JSON document with runs, colour"),
        ('{"runs": [\n1, 2]}', "; it is a JSON document with runs"),
        ("[1, 2]", ""),
        ("<html><body>a, b</body></html>", ""),
    ],
)
def test_a_document_of_an_unknown_kind_is_no_table(tmp_path: Path, document: str, said: str) -> None:
    (tmp_path / "a.json").write_text(document)
    with pytest.raises(LogError, match=f"no known log format recognised; known are {', '.join(format_names())}{said}$"):
        read_logs(tmp_path / "a.json")


def test_a_folder_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no known log format recognised"):
        read_logs(tmp_path)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    with pytest.raises(LogError, match=r"a\.csv: is empty"):
        read_logs(tmp_path / "a.csv")


def test_a_folder_without_the_named_format(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"task": "t", "route": "h:m", "score": 1}')
    with pytest.raises(LogError, match=r"no known log format recognised; known are csv; it holds a\.jsonl"):
        list(read_logs(tmp_path, "csv"))
    assert len(list(read_logs(tmp_path, "jsonl"))) == 1


def test_an_unknown_format_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="format 'jsnl' is not known; did you mean 'jsonl'"):
        read_logs(tmp_path, "jsnl")


def test_a_named_format_overrides_sniffing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one line of prose\n")
    with pytest.raises(LogError, match="holds no outcomes"):
        list(read_logs(tmp_path / "a", "csv"))
    assert {"benchmark", "parquet", "jsonl", "csv"} <= set(format_names())
