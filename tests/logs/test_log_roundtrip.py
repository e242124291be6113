"""What is written as a table comes back as it was."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmrouter.logs import read_logs
from hmrouter.types import Outcome, Route, Status, Task

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
names = texts.filter(lambda text: text.strip() != "")
versions = st.just("") | names
amounts = st.none() | st.floats(0, 1e9, allow_nan=False)
counts = st.none() | st.integers(0, 10**16)
metas = st.dictionaries(texts, st.none() | st.booleans() | st.integers(-9, 9) | texts, max_size=3)
routes = st.builds(Route, st.sampled_from(["gpt-5", "claude-opus-4-5", "new-1"]), st.sampled_from(["codex", "ours"]))


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    status = draw(st.sampled_from(Status))
    scores = st.floats(0, 1) if status is Status.OK else st.none() | st.floats(0, 1)
    return Outcome(
        Task(draw(names), draw(names), draw(texts), draw(metas)),
        draw(routes),
        draw(scores),
        n_trials=draw(st.integers(0, 1000)),
        status=status,
        cost=draw(amounts),
        cost_is_route_mean=draw(st.booleans()),
        token_cost=draw(amounts),
        input_tokens=draw(counts),
        cached_tokens=draw(counts),
        output_tokens=draw(counts),
        seconds=draw(amounts),
        when=draw(st.none() | st.datetimes(timezones=st.just(UTC))),
        source=draw(names),
        run=draw(names),
        trial=draw(names),
        model_version=draw(versions),
        harness_version=draw(versions),
        dataset_version=draw(versions),
    )


def as_row(outcome: Outcome) -> dict[str, Any]:
    row: dict[str, Any] = asdict(outcome)
    task = row.pop("task")
    row |= row.pop("route") | {"task_id": task.pop("id"), "meta": json.dumps(task.pop("meta"))} | task
    return row | {"status": str(outcome.status), "when": outcome.when and outcome.when.isoformat()}


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    objects = [row | {"meta": json.loads(row["meta"])} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in objects))


def write_jsonl_gz(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    write_jsonl(path, rows)
    path.write_bytes(gzip.compress(path.read_bytes()))


def write_parquet(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(list(rows)), path)


@pytest.mark.parametrize("write", [write_csv, write_jsonl, write_jsonl_gz, write_parquet])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(written=st.lists(outcomes(), min_size=1, max_size=5))
def test_what_is_written_comes_back(tmp_path: Path, write: Any, written: list[Outcome]) -> None:
    path = tmp_path / "log"  # the ending says nothing: the content does
    write(path, [as_row(outcome) for outcome in written])
    read = list(read_logs(path))
    assert read == written
    assert [outcome.task.meta for outcome in read] == [outcome.task.meta for outcome in written]
