"""A bad optional cell is not a bad row: it is read where it means one thing, else left out, and said once per kind."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import LogError
from hmrouter.logs import Notes, read_logs
from hmrouter.types import Outcome, Status


def read_one(path: Path, notes: Notes | None = None, **cells: Any) -> Outcome:
    row = {"task": "t", "model": "m", "harness": "h", "score": 1, **cells}
    path.write_text(json.dumps(row) + "\n")
    (outcome,) = read_logs(path, notes=notes)
    return outcome


@pytest.mark.parametrize(
    ("field", "cell", "value"),
    [
        ("cost", "$1.53", 1.53),
        ("cost", "1.53 USD", 1.53),
        ("cost", "US$ 1,204.50", 1204.5),
        ("cost", "1.204,50", 1204.5),
        ("cost", "1,53", 1.53),
        ("cost", "0,204", 0.204),
        ("cost", "1 204.5", None),
        ("cost", "12 345", 12345.0),
        ("cost", "1,204", None),  # 1.204 or 1204
        ("cost", "n/a", None),
        ("cost", "€3", None),  # no dollars
        ("cost", "cheap", None),
        ("cost", "-1", None),
        ("cost", -1, None),
        ("cost", 1e999, None),
        ("cost", float("nan"), None),
        ("cost", True, None),
        ("cost", 10**400, None),
        ("input_tokens", "1,204", 1204),
        ("input_tokens", "1.204", 1204),
        ("input_tokens", "1'204'000", 1204000),
        ("input_tokens", "12.5", None),
        ("input_tokens", "12k", None),
        ("input_tokens", 2**63, None),
        ("output_tokens", -3, None),
        ("seconds", "12.5s", 12.5),
        ("seconds", "350 ms", 0.35),
        ("seconds", "0:01:30", 90.0),
        ("seconds", "2 min", 120.0),
        ("seconds", "soon", None),
        ("text", 5, ""),
        ("text", {"messages": []}, ""),
    ],
)
def test_a_cell_is_read_where_it_means_one_thing(tmp_path: Path, field: str, cell: Any, value: Any) -> None:
    notes = Notes()
    outcome = read_one(tmp_path / "a.jsonl", notes, **{field: cell})
    assert (outcome.task.text if field == "text" else getattr(outcome, field)) == value
    assert len(notes.remarks) == 1


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("17/12/2025", datetime(2025, 12, 17)),
        ("12/17/2025 3:04 PM", datetime(2025, 12, 17, 15, 4)),
        ("11/11/2025", datetime(2025, 11, 11)),
        ("03/04/2025", None),  # in March or in April
        ("17.12.2025 08:30", datetime(2025, 12, 17, 8, 30)),
        ("03.04.2025", datetime(2025, 4, 3)),
        ("2025/12/17", datetime(2025, 12, 17)),
        ("Dec 17, 2025", datetime(2025, 12, 17)),
        ("17-Dec-2025", datetime(2025, 12, 17)),
        ("2025-12-17 10:33:01 UTC", datetime(2025, 12, 17, 10, 33, 1)),
        ("2025-12-17T10:33:01.250Z", datetime(2025, 12, 17, 10, 33, 1, 250000)),
        (1765967581, datetime(2025, 12, 17, 10, 33, 1)),
        (1765967581000, datetime(2025, 12, 17, 10, 33, 1)),
        ("yesterday", None),
        ("46008", None),  # a day as spreadsheets count them, or anything else
        ("0001-01-01T00:00:00+23:00", None),
        ("", None),
        (None, None),
    ],
)
def test_a_date_is_read_where_it_is_of_one_day(tmp_path: Path, cell: Any, value: datetime | None) -> None:
    outcome = read_one(tmp_path / "a.jsonl", when=cell)
    assert outcome.when == (None if value is None else value.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("cell", "score"),
    [
        ("pass", 1.0), ("FAIL", 0.0), ("Resolved", 1.0), ("unresolved", 0.0), ("Yes", 1.0), ("no", 0.0),
        ("85%", 0.85), ("85 %", 0.85), ("0,5", 0.5), ("1,0", 1.0), ("✓", 1.0), ("✗", 0.0), (True, 1.0),
        ("correct", 1.0),
    ],
)  # fmt: skip
def test_a_verdict_may_be_a_word_or_a_share(tmp_path: Path, cell: Any, score: float) -> None:
    assert read_one(tmp_path / "a.jsonl", score=cell).score == score


@pytest.mark.parametrize("cell", ["maybe", "85", "1,204", "n/a", "completed", 1.7, "101%"])
def test_a_score_that_cannot_be_read_is_a_bad_row(tmp_path: Path, cell: Any) -> None:
    with pytest.raises(LogError, match="line 1: score"):
        read_one(tmp_path / "a.jsonl", score=cell)


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("FINISHED", Status.OK), ("success", Status.OK), ("failed", Status.OK), ("crashed", Status.UNKNOWN),
        ("error", Status.UNKNOWN), ("running", Status.UNKNOWN), ("blue", Status.OK),
    ],
)  # fmt: skip
def test_words_of_other_tools_say_how_it_ended(tmp_path: Path, word: str, status: Status) -> None:
    notes = Notes()
    assert read_one(tmp_path / "a.jsonl", notes, status=word).status == status
    assert len(notes.remarks) == 1


def test_a_failure_without_a_score_has_no_verdict(tmp_path: Path) -> None:
    assert read_one(tmp_path / "a.jsonl", status="failed", score=None).status == Status.UNKNOWN


@pytest.mark.parametrize(
    ("field", "cell"),
    [("cost_is_route_mean", "maybe"), ("meta", [1]), ("meta", "{"), ("n_trials", 1.5), ("n_trials", -1)],
)
def test_what_cannot_be_read_is_left_out(tmp_path: Path, field: str, cell: Any) -> None:
    notes = Notes()
    outcome = read_one(tmp_path / "a.jsonl", notes, **{field: cell})
    assert (outcome.cost_is_route_mean, outcome.task.meta, outcome.n_trials) == (False, {}, 1)
    assert len(notes.remarks) == 1


def test_cells_of_one_kind_are_said_once(tmp_path: Path) -> None:
    notes = Notes()
    rows = [f"t{i},m,h,1,${i}.50,{i + 1:02}/04/2025" for i in range(20)]
    log = tmp_path / "a.csv"
    log.write_text("\n".join(["task,model,harness,score,cost,when", *rows]) + "\n")
    assert len(list(read_logs(log, notes=notes))) == 20
    assert notes.remarks == {
        "cost '$0.50' is read as 0.5, and others like it": 20,
        "when '01/04/2025' is left out: it may be of two days, and others like it": 11,
        "when '04/04/2025' is read as 2025-04-04, and others like it": 9,
    }


def test_a_key_that_cannot_be_read_is_a_bad_row(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"line 1: run \['r'\] is not text"):
        read_one(tmp_path / "a.jsonl", run=["r"])


def test_a_whole_number_is_an_id_even_as_a_float(tmp_path: Path) -> None:
    assert read_one(tmp_path / "a.jsonl", task=17.0).task.id == "17"
