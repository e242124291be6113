"""Parquet: its own types, and its own ways of being broken."""

from __future__ import annotations

import gzip
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmrouter.errors import LogError, MissingExtra
from hmrouter.logs import Log, Notes, Refusals, Request, read_logs
from hmrouter.logs.formats.parquet_file import ParquetReader

BASE = {"task": ["a", "b"], "model": ["m", "m"], "harness": ["h", "h"], "score": [1.0, 0.0]}


def write(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(BASE | columns), path)
    return path


def message_of(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        list(read_logs(path, "parquet"))
    return str(caught.value).removeprefix(str(path))


def test_the_types_that_tables_use(tmp_path: Path) -> None:
    when = pa.array([1_767_225_600_000_000_001, None], pa.timestamp("ns", "Europe/Berlin"))
    log = write(
        tmp_path / "a.parquet",
        task=pa.array([7, 8]),
        score=pa.array([True, False]),
        model=pa.array(["m", "m"]).dictionary_encode(),
        cost=pa.array([1, None], pa.decimal128(5, 2)),
        n_trials=pa.array([3.0, None]),
        meta=pa.array([{"a": 1}, None]),
        when=when,
    )
    first, second = read_logs(log)
    assert (first.task.id, first.score, first.cost, first.n_trials, first.task.meta) == ("7", 1.0, 1.0, 3, {"a": 1})
    assert first.when == datetime(2026, 1, 1, tzinfo=UTC)
    assert (second.score, second.cost, second.n_trials, second.task.meta, second.when) == (0.0, None, 1, {}, None)


def test_more_rows_than_a_batch_keep_their_numbers(tmp_path: Path) -> None:
    scores = [1.0] * 3000 + [2.0]
    table = {"task": ["t"] * 3001, "route": ["h:m"] * 3001, "score": scores}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    outcomes = read_logs(tmp_path / "a.parquet")
    assert [next(outcomes).trial for _ in range(3000)][-1].endswith(".2999")
    with pytest.raises(LogError, match=r"row 3001: score 2\.0 is outside 0 to 1"):
        next(outcomes)


def test_other_columns_are_not_decoded_but_noted(tmp_path: Path) -> None:
    notes = Notes()
    log = write(tmp_path / "a.parquet", colour=["x" * 2_000_000, ""])
    assert len(list(read_logs(log, notes=notes))) == 2
    assert notes.ignored_columns == {str(log): {"colour"}}


def test_a_row_that_cannot_be_kept_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    request = Request(refusals=Refusals(skip=True))
    log = write(tmp_path / "a.parquet", text=["x" * 2_000_000, "short"])
    assert [outcome.task.id for outcome in Log(log, ParquetReader()).read(request)] == ["b"]
    assert request.refusals.first == [f"{log} row 1: a cell holds more than 1 MiB, the limit"]


def test_what_the_caller_gives_stands_in_for_a_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"task": ["a"], "model": ["o3"], "score": [1]}), tmp_path / "a.parquet")
    (outcome,) = read_logs(tmp_path / "a.parquet", model="gpt-5", harness="codex")
    assert str(outcome.route) == "codex:o3"


def test_a_missing_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"task": ["a"], "route": ["h:m"]}), tmp_path / "a.parquet")
    assert message_of(tmp_path / "a.parquet").startswith(" schema: no column for score; found task, route")


def test_no_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table(BASE).slice(0, 0), tmp_path / "a.parquet")
    assert "not a single row" in message_of(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("column", "cells", "expected"),
    [
        ("text", ["", "x" * 2_000_000], "row 2: a cell holds more than 1 MiB"),
        ("task", ["t\0", "u"], "row 1: task contains a NUL character"),
        ("task", [b"a", b"b"], "row 1: task b'a' is not text"),
        ("score", [1.0, float("nan")], "row 2: score nan is outside 0 to 1"),
        ("meta", [{"at": datetime(2026, 1, 1)}, None], "row 1: a nested value cannot be kept as JSON"),
    ],
)
def test_bad_cells(tmp_path: Path, column: str, cells: list[Any], expected: str) -> None:
    assert expected in message_of(write(tmp_path / "a.parquet", **{column: cells}))


def test_broken_files(tmp_path: Path) -> None:
    log = write(tmp_path / "a.parquet")
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    assert "is not a readable Parquet file" in message_of(log)
    log.write_bytes(gzip.compress(whole))
    assert "is not a Parquet file; if it is one in gzip, unpack it first" in message_of(log)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = write(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"reading Parquet needs .* pip install '\.\[parquet\]'"):
        list(read_logs(log))
