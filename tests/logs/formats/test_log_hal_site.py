"""The HAL site's databases."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.errors import InvalidOutcome, LogError
from hmrouter.logs.base import Notes, Refusals, Request
from hmrouter.logs.formats.hal_run import split_agent_name
from hmrouter.logs.formats.hal_site import HalSiteReader, literal_list
from hmrouter.logs.walk import Log
from hmrouter.types import Outcome, Route

COLUMNS = (
    "benchmark_name", "agent_name", "date", "run_id", "successful_tasks", "failed_tasks", "total_cost", "accuracy",
    "model_name",
)  # fmt: skip
RUN: dict[str, Any] = {
    "benchmark_name": "waterbench",
    "agent_name": "HAL Generalist Agent (o4-mini High (April 2025))",
    "date": "2025-08-05",
    "run_id": "waterbench_1754431985",
    "successful_tasks": "['0', '7']",
    "failed_tasks": "['9']",
    "total_cost": 6.0,
}


def written(folder: Path, *runs: dict[str, Any], name: str = "water.db", tokens: int | None = None) -> Path:
    path = folder / name
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE parsed_results ({', '.join(COLUMNS)})")
        for run in runs:
            marks = ", ".join("?" * len(COLUMNS))
            database.execute(f"INSERT INTO parsed_results VALUES ({marks})", [run.get(column) for column in COLUMNS])
        if tokens is not None:
            names = "benchmark_name, agent_name, run_id, model_name, prompt_tokens, output_tokens"
            database.execute(f"CREATE TABLE token_usage ({names})")
            row = [*(RUN[key] for key in ("benchmark_name", "agent_name", "run_id")), "o4-mini", tokens, None]
            database.execute("INSERT INTO token_usage VALUES (?, ?, ?, ?, ?, ?)", row)
    return path


def read(path: Path, **options: Any) -> list[Outcome]:
    return list(Log(path, HalSiteReader()).read(Request(**options)))


def test_a_run(tmp_path: Path) -> None:
    outcomes = read(written(tmp_path, RUN))
    assert [(outcome.task.id, outcome.score) for outcome in outcomes] == [("0", 1.0), ("7", 1.0), ("9", 0.0)]
    for outcome in outcomes:
        assert outcome.route == Route("o4-mini-high", "hal-generalist-agent")
        assert (outcome.cost, outcome.cost_is_route_mean) == (2.0, True)
        assert (outcome.task.suite, outcome.source, outcome.run) == ("waterbench", "hal", "waterbench_1754431985")
        assert outcome.when == datetime(2025, 8, 5, tzinfo=UTC)
        assert outcome.model_version == "o4-mini High (April 2025)"


def test_several_benchmarks_in_one_database_are_several_suites(tmp_path: Path) -> None:
    path = written(tmp_path, RUN, RUN | {"benchmark_name": "firebench"})
    assert {outcome.task.suite for outcome in read(path)} == {"waterbench", "firebench"}


@pytest.mark.parametrize(("cost", "tokens"), [(0.0, 10), (None, 10), (0.01, 40_000_000)])
def test_a_cost_that_was_not_measured_is_unknown(tmp_path: Path, cost: float | None, tokens: int) -> None:
    outcomes = read(written(tmp_path, RUN | {"total_cost": cost}, tokens=tokens))
    assert {(outcome.cost, outcome.cost_is_route_mean) for outcome in outcomes} == {(None, False)}


def test_a_low_cost_for_few_tokens_stands(tmp_path: Path) -> None:
    outcomes = read(written(tmp_path, RUN | {"total_cost": 0.03}, tokens=100_000))
    assert [outcome.cost for outcome in outcomes] == pytest.approx([0.01] * 3)


def test_the_model_column_tells_where_the_name_does_not(tmp_path: Path) -> None:
    path = written(tmp_path, RUN | {"agent_name": "CORE-Agent", "model_name": "GPT-5 Medium (August 2025)"})
    assert {outcome.route for outcome in read(path)} == {Route("gpt-5", "core-agent")}
    silent = written(tmp_path, RUN | {"agent_name": "CORE-Agent"}, name="silent.db")
    with pytest.raises(LogError, match="the log does not say the model of 'CORE-Agent'; give a model"):
        read(silent)
    assert {outcome.route for outcome in read(silent, model="o3")} == {Route("o3", "core-agent")}


def test_a_run_without_lists_is_left_out_with_a_remark(tmp_path: Path) -> None:
    notes = Notes()
    unlisted = RUN | {"run_id": "other", "successful_tasks": "None", "failed_tasks": None}
    assert len(read(written(tmp_path, unlisted, RUN), notes=notes)) == 3
    assert dict(notes.remarks) == {"HAL runs that do not list their tasks; left out": 1}
    with pytest.raises(LogError, match="holds no outcomes: no run lists its tasks"):
        read(written(tmp_path, unlisted, name="none.db"))


def test_keys_do_not_depend_on_the_place_or_the_compression(tmp_path: Path) -> None:
    path = written(tmp_path, RUN)
    packed = tmp_path / "a b?.db.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert HalSiteReader().sniff(packed)
    assert [outcome.key for outcome in read(path)] == [outcome.key for outcome in read(packed)]
    assert len({outcome.key for outcome in read(path)}) == 3


@pytest.mark.parametrize(
    "code",
    [
        "__import__('os').system('touch {file}')",
        "[__import__('os').system('touch {file}')]",
        "[open('{file}', 'w')]",
        "[*map(print, 'x')]",
        "['a' * 999999999]",
        "[" * 5000,
        "('a' for x in y)",
        "{{'a': 1}}",
        "'a'",
        "[True]",
        "[1.5]",
        "[['nested']]",
        "[b'bytes']",
        "['']",
        "['a\\0b']",
        "[" + "1," * 2**20 + "]",
    ],
)
def test_a_list_literal_is_data_and_never_runs(tmp_path: Path, code: str) -> None:
    touched = tmp_path / "touched"
    path = written(tmp_path, RUN | {"failed_tasks": code.format(file=touched) if "{" in code else code})
    with pytest.raises(LogError, match=r"water\.db run 'waterbench_1754431985': (failed_tasks|task id|a task id) "):
        read(path)
    assert not touched.exists()
    good = RUN | {"run_id": "good"}
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO parsed_results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [good.get(name) for name in COLUMNS]
        )
    assert {outcome.run for outcome in read(path, refusals=Refusals(skip=True))} == {"good"}


@given(st.lists(st.one_of(st.text(), st.integers())))
def test_whatever_python_writes_as_a_list_is_read_back(values: list[str | int]) -> None:
    assert literal_list(str(values), "failed_tasks") == values


@given(st.text())
def test_no_text_does_more_than_be_a_list_or_be_refused(text: str) -> None:
    with suppress(InvalidOutcome):
        assert type(literal_list(text, "failed_tasks")) is list


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"failed_tasks": "['7']"}, "task '7' is both successful and failed"),
        ({"run_id": None}, "run None: run_id is missing"),
        ({"agent_name": b"\x00\x01"}, "agent_name .* is not text"),
        ({"benchmark_name": ""}, "benchmark_name is missing"),
        ({"total_cost": -3.0}, "cost -1.0 is not a finite number"),
        ({"total_cost": "free"}, "total_cost 'free' is not a number"),
        ({"date": "last week"}, "date 'last week' is not an ISO 8601 time"),
        ({"agent_name": ":" * 1000 + " (o3)"}, "has 1005 bytes; the limit is 1000"),
    ],
)
def test_hostile_values_are_refused_in_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(LogError, match=message) as caught:
        read(written(tmp_path, RUN | change))
    assert "\n" not in str(caught.value)


def test_what_is_no_hal_database(tmp_path: Path) -> None:
    reader = HalSiteReader()
    names = ("text.db", "foreign.db", "view.db", "cut.db", "garbled.db")
    text, foreign, view, cut, garbled = (tmp_path / name for name in names)
    text.write_text("parsed_results, successful_tasks")
    with closing(sqlite3.connect(foreign)) as database, database:
        database.execute("CREATE TABLE outcomes (task, score)")
    with closing(sqlite3.connect(view)) as database, database:
        database.execute(f"CREATE VIEW parsed_results AS SELECT {', '.join(f'1 AS {name}' for name in COLUMNS)}")
    whole = written(tmp_path, RUN).read_bytes()
    cut.write_bytes(whole[:5000])
    garbled.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    for path, sniffed, message in (
        (text, False, "is not a SQLite database"),
        (foreign, False, "without the table parsed_results"),
        (view, True, "without the table parsed_results"),
        (cut, True, "the database is truncated"),
        (garbled, True, "cannot be read as a SQLite database"),
    ):
        assert reader.sniff(path) is sniffed
        with pytest.raises(LogError, match=message):
            read(path)
    assert not reader.sniff(tmp_path)


def test_a_table_without_the_lists(tmp_path: Path) -> None:
    path = tmp_path / "short.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE parsed_results (benchmark_name, agent_name, run_id, failed_tasks)")
    with pytest.raises(LogError, match="table parsed_results has no column successful_tasks"):
        read(path)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Agent (Model (May 2025))", ("Agent", "Model (May 2025)")),
        ("Agent (v2) (Model)", ("Agent (v2)", "Model")),
        ("Agent", ("Agent", "")),
        ("(Model)", ("(Model)", "")),
        ("Agent )Model)", ("Agent )Model)", "")),
    ],
)
def test_agent_names(name: str, parts: tuple[str, str]) -> None:
    assert split_agent_name(name) == parts
