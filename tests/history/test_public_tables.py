"""Tables of results: what is read, what is refused with which line, and the folder that keeps them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.errors import InputError, OutputError, UnknownName, UsageError
from hmrouter.history.public import PUBLIC, HistoryTables, shipped
from hmrouter.history.records import Record
from hmrouter.history.tables import COLUMNS, MOST_ROWS, TableFolder, parse_table, read_table
from hmrouter.types import Route

HEADER = "suite,model,harness,tasks,mean_score\n"
WHOLE = ",".join(COLUMNS) + "\n"


def test_a_row_becomes_a_record_with_canonical_names() -> None:
    text = WHOLE + "ours,ours-all,anthropic/claude-opus-4.5,Claude Code,40,0.75,1.5,us/runs,3f2a91c,2026-01\n"
    route = Route("claude-opus-4-5", "claude-code")
    expected = Record("ours", route, 40, 0.75, 1.5, "ours-all", "us/runs@3f2a91c", "2026-01")
    assert parse_table(text, "mine.csv") == ([expected], [])


def test_what_may_be_left_out() -> None:
    ((record,), problems) = parse_table(HEADER + "ours,gpt-5,codex,40,0.75\n\n", "mine.csv")
    assert problems == []
    assert (record.family, record.cost, record.source, record.date) == ("ours", None, "mine", "")


def test_toml_says_the_same_as_csv() -> None:
    text = """
        [[results]]
        suite = "ours"
        model = "gpt-5"
        harness = "codex"
        tasks = 40
        mean_score = 0.75
        mean_cost = 1
        date = 2026-01-31
        [[results]]
        suite = "ours"
        model = "o3"
        harness = "codex"
        tasks = 40
        mean_score = 1.5
    """
    rows = HEADER.strip() + ",mean_cost,date\nours,gpt-5,codex,40,0.75,1,2026-01-31\n"
    parsed = parse_table(text, "mine.toml", toml=True)
    assert parsed.records == parse_table(rows, "mine.csv").records
    assert parsed.problems == ["mine.toml result 2: mean_score 1.5 is outside 0 to 1"]


ROWS = {
    "score": ("ours,gpt-5,codex,40,1.5", "mean_score 1.5 is outside 0 to 1"),
    "score nan": ("ours,gpt-5,codex,40,nan", "mean_score nan is outside 0 to 1"),
    "score in words": ("ours,gpt-5,codex,40,good", "mean_score 'good' is not a number"),
    "no tasks": ("ours,gpt-5,codex,0,0.5", "tasks 0 is not a whole number of at least 1"),
    "half a task": ("ours,gpt-5,codex,1.5,0.5", "tasks 1.5 is not a whole number of at least 1"),
    "endless tasks": ("ours,gpt-5,codex,inf,0.5", "tasks inf is not a whole number of at least 1"),
    "no model": ("ours,,codex,40,0.5", "model is empty; needed are suite, model, harness, tasks, mean_score"),
    "cells": ("ours,gpt-5,codex,40", "it has 4 cells, the header has 5"),
    "unseen": ("ours,gpt\x075,codex,40,0.5", "model 'gpt\\x075' holds a character that cannot be shown"),
    "endless": (f"{'x' * 600},gpt-5,codex,40,0.5", "suite has 600 characters; the limit is 512"),
    "twice": ("fine,GPT-5,Codex,9,0.1", "codex:gpt-5 on suite 'fine' is there already, in line 2; keep one"),
}


@pytest.mark.parametrize(("row", "says"), ROWS.values(), ids=ROWS.keys())
def test_a_row_that_is_none_is_told_with_its_line(row: str, says: str) -> None:
    records, problems = parse_table(HEADER + "fine,gpt-5,codex,40,0.5\n" + row + "\n", "mine.csv")
    assert [record.suite for record in records] == ["fine"]
    assert problems == [f"mine.csv line 3: {says}"]


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("mean_cost=-1", "mean_cost -1 is not a finite number of at least 0"),
        ("mean_cost=inf", "mean_cost inf is not a finite number of at least 0"),
        ("date=2026-13", "date '2026-13' is not a date; write 2026-01-31, 2026-01 or 2026"),
        ("date=20260131", "date '20260131' is not a date; write 2026-01-31, 2026-01 or 2026"),
        ("family=other", "suite 'ours' is of family 'ours' above, here of 'other'"),
    ],
)
def test_what_is_known_beside_the_score_is_checked_too(cell: str, says: str) -> None:
    column, _, value = cell.partition("=")
    text = f"{HEADER.strip()},{column}\nours,o3,codex,40,0.5,\nours,gpt-5,codex,40,0.5,{value}\n"
    assert parse_table(text, "mine.csv").problems == [f"mine.csv line 3: {says}"]


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "has no column 'suite'; needed are suite, model, harness, tasks, mean_score"),
    "no rows": (HEADER.encode(), "has no rows; a table has the columns suite, family, model"),
    "a slip": (b"suite,model,harness,tasks,mean_scor\n", "did you mean 'mean_score'?"),
    "a column twice": (b"suite,suite,model,harness,tasks,mean_score\n", "has a column twice"),
    "not UTF-8": (HEADER.encode() + b"\xff", "is not UTF-8 text"),
    "an open quote": (HEADER.encode() + b'"ours,gpt-5', "line 2: it is not CSV"),
    "too much": (HEADER.encode() + b"a,b,c,1,0\n" * (MOST_ROWS + 1), "has 2,001 rows; the limit is 2,000"),
}


@pytest.mark.parametrize(("content", "says"), FILES.values(), ids=FILES.keys())
def test_a_file_that_is_no_table(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_table(file)
    assert says in str(refused.value)


@pytest.mark.parametrize("text", ["x =", "x = 1", "results = 3", "[[results]]\nsuite = 1\n", "results = [1]"])
def test_toml_that_is_no_table(text: str) -> None:
    with pytest.raises(InputError, match=r"mine\.toml"):
        parse_table(text, "mine.toml", toml=True)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nowhere\.csv: No such file"):
        read_table(tmp_path / "nowhere.csv")


@given(st.lists(st.lists(st.text(max_size=8), min_size=5, max_size=5), max_size=4), st.text(max_size=30))
def test_no_content_causes_another_error(rows: list[list[str]], tail: str) -> None:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    try:
        records, problems = parse_table(HEADER + out.getvalue() + tail, "mine.csv")
    except InputError as refused:
        records, problems = [], [str(refused)]
    assert records or problems
    assert all("mine.csv" in problem for problem in problems)


# -- the folder -----------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write a table beside the folder: `written("mine.csv", score=0.5)`."""

    def write(name: str, score: float = 0.5, suite: str = "ours") -> Path:
        file = tmp_path / name
        row = f'suite = "{suite}"\nmodel = "gpt-5"\nharness = "codex"\ntasks = 9\nmean_score = {score}\n'
        file.write_text(f"[[results]]\n{row}" if name.endswith("toml") else f"{HEADER}{suite},gpt-5,codex,9,{score}\n")
        return file

    return write


def test_tables_are_added_replaced_and_removed(tmp_path: Path, written: Callable[..., Path]) -> None:
    tables = HistoryTables(tmp_path / "deep" / "kept")
    assert tables.names() == [PUBLIC]
    assert tables.add(written("mine.csv")) == ("mine", False, [])
    assert tables.add(written("mine.toml", 0.25)) == ("mine", True, [])  # the CSV file goes
    assert tables.add(written("mine.csv", 0.75), "another") == ("another", False, [])
    assert tables.names() == [PUBLIC, "another", "mine"]
    assert [tables.read(name)[0].mean for name in ("another", "mine")] == [0.75, 0.25]
    tables.remove("another")
    assert tables.names() == [PUBLIC, "mine"]
    assert [file.name for file in (tmp_path / "deep" / "kept").iterdir()] == ["mine.toml"]
    with pytest.raises(UnknownName, match=r"history table 'another' is not in .*; choose from mine"):
        tables.remove("another")


def test_a_table_with_a_bad_row_is_not_kept(tmp_path: Path, written: Callable[..., Path]) -> None:
    tables = HistoryTables(tmp_path / "kept")
    tables.add(written("mine.csv"))
    name, replaced, problems = tables.add(written("mine.csv", 7))
    assert (name, replaced) == ("mine", False)
    assert problems == ["mine.csv line 2: mean_score 7 is outside 0 to 1"]
    assert tables.read("mine")[0].mean == 0.5


def test_the_shipped_table_can_be_hidden(tmp_path: Path, written: Callable[..., Path]) -> None:
    tables = HistoryTables(tmp_path / "kept")
    tables.remove(PUBLIC)
    tables.remove(PUBLIC)
    assert tables.names() == []
    assert tables.records() == []
    assert HistoryTables(tmp_path / "kept").names() == []  # said once, kept
    tables.add(written("mine.csv"))
    assert [r.suite for r in tables.records()] == ["ours"]
    tables.show_public()
    tables.show_public()
    assert tables.records()[1:] == list(shipped())


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../up", "x" * 101, "ü"])
def test_names_stay_in_the_folder(tmp_path: Path, written: Callable[..., Path], name: str) -> None:
    with pytest.raises(UsageError, match="is no name for a table"):
        HistoryTables(tmp_path / "kept").add(written("mine.csv"), name)


def test_a_table_that_was_damaged_later_is_told(tmp_path: Path, written: Callable[..., Path]) -> None:
    tables = HistoryTables(tmp_path / "kept")
    tables.add(written("mine.csv"))
    for content in (HEADER + "ours,gpt-5,codex,9,7\n", "nonsense"):
        (tmp_path / "kept" / "mine.csv").write_text(content)
        with pytest.raises(InputError, match=r"history table 'mine': .*; mend .*, or remove the table 'mine'"):
            tables.records()


def test_a_folder_that_cannot_be_one(tmp_path: Path, written: Callable[..., Path]) -> None:
    file = written("mine.csv")
    with pytest.raises(InputError, match="cannot read the history folder"):
        HistoryTables(file).names()
    for change in (
        lambda: HistoryTables(file / "below").add(file),
        lambda: HistoryTables(file / "below").remove(PUBLIC),
    ):
        with pytest.raises((InputError, OutputError), match="Not a directory"):
            change()


def test_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HMROUTER_HISTORY", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert TableFolder().path == tmp_path / ".config" / "hmrouter" / "history"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    assert TableFolder().path == tmp_path / "settings" / "hmrouter" / "history"
    monkeypatch.setenv("HMROUTER_HISTORY", str(tmp_path / "own"))
    assert TableFolder().path == tmp_path / "own"


def test_own_figures_of_a_shipped_suite_take_the_place_of_the_shipped_ones(
    tmp_path: Path, written: Callable[..., Path]
) -> None:
    tables = HistoryTables(tmp_path / "kept")
    tables.add(written("newer.csv", suite="terminalbench_2"))
    first = tables.records()[0]
    assert (first.source, first.family) == ("newer", "terminal-bench")
