"""A bad record refuses its file with all the places, or is left out when that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import LogError
from hmrouter.logs import Log, Reader, Refusals, Request, read_logs
from hmrouter.logs.base import SHOWN_REFUSALS, problem
from hmrouter.logs.formats.csv_file import CsvReader
from hmrouter.logs.formats.jsonl_file import JsonlReader

CSV = "task,model,harness,score\nt1,m,h,1\nt2,m,h,2\nt3,m,h\nt4,m,h,1,9\nt5,m,h,0\n"
JSONL = """\
{"task": "t1", "route": "h:m", "score": 1}
{"task": "t2", "route": "h:m", "score": 2}
{"task": "t3", "route
{"task": "t4", "score": 1}
{"task": "t5", "route": "h:m", "score": 0}
"""


def read(path: Path, reader: Reader, refusals: Refusals) -> list[str]:
    return [outcome.task.id for outcome in Log(path, reader).read(Request(refusals=refusals))]


@pytest.mark.parametrize(
    ("reader", "text", "records"),
    [
        (
            CsvReader(),
            CSV,
            [{"task": "t2", "model": "m", "harness": "h", "score": "2"}, ["t3", "m", "h"], ["t4", "m", "h", "1", "9"]],
        ),
        (
            JsonlReader(),
            JSONL,
            [{"task": "t2", "route": "h:m", "score": 2}, '{"task": "t3", "route', {"task": "t4", "score": 1}],
        ),
    ],
)
def test_bad_records_are_left_out_and_kept_for_correction(
    tmp_path: Path, reader: Reader, text: str, records: list[Any]
) -> None:
    log = tmp_path / "log"
    log.write_text(text)
    kept: list[dict[str, Any]] = []
    refusals = Refusals(skip=True, keep=kept.append)
    assert read(log, reader, refusals) == ["t1", "t5"]
    assert refusals.count == 3
    assert [entry["record"] for entry in kept] == records
    lines = [str(entry["error"]).removeprefix(f"{log} ").partition(":")[0] for entry in kept]
    assert lines == [f"line {2 + n + (reader.name == 'csv')}" for n in range(3)]


@pytest.mark.parametrize(("reader", "text"), [(CsvReader(), CSV), (JsonlReader(), JSONL)])
def test_without_that_all_places_are_told(tmp_path: Path, reader: Reader, text: str) -> None:
    log = tmp_path / "log"
    log.write_text(text)
    with pytest.raises(LogError) as caught:
        read(log, reader, Refusals())
    message = str(caught.value)
    assert message.count(str(log)) == 3
    assert message.endswith(" (3 bad records); mend them, or skip them to read the rest")


def test_a_file_of_bad_records_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("{not json}\n{}}\n")
    with pytest.raises(LogError, match=r"line 1: the line is not valid JSON.*line 2: the line is not valid JSON"):
        list(read_logs(log))
    assert read(log, JsonlReader(), Refusals(skip=True)) == []


def test_many_bad_records_are_counted_and_not_listed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("task,model,harness,score\n" + "".join(f"t,m,h,x{number}\n" for number in range(1000)))
    refusals = Refusals(skip=True)
    assert read(log, CsvReader(), refusals) == []
    assert refusals.count == sum(refusals.reasons.values()) == 1000
    assert len(refusals.first) == SHOWN_REFUSALS
    assert len(refusals.reasons) == SHOWN_REFUSALS + 1


@pytest.mark.parametrize(
    ("reader", "text", "said"),
    [
        (CsvReader(), b'task,model,harness,score\nt1,m,h,1\nt2,m,h,"1\n', "line 3: not valid CSV"),
        (CsvReader(), b"task,model,harness,score\nt1,m,h,1\nt2,m\xff,h,1\n", "line 3: byte 5 (0xff) is not valid"),
        (CsvReader(), b"task,model,harness,score\nt1,m,h,1\nt2\0,m,h,1\n", "line 3: NUL byte"),
        (JsonlReader(), JSONL[:43].encode() + b'{"task": "\xff"}', "line 2: byte 11 (0xff) is not valid UTF-8"),
        (JsonlReader(), JSONL[:43].encode() + b"\0", "line 2: NUL byte"),
        (CsvReader(), b"task,model,score\nt1,m,1\n", "header: no column for harness"),
    ],
)
def test_a_file_that_breaks_off_is_refused_even_so(tmp_path: Path, reader: Reader, text: bytes, said: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(text)
    with pytest.raises(LogError) as caught:
        read(log, reader, Refusals(skip=True))
    assert said in str(caught.value)


def test_a_message_is_one_line_that_no_terminal_obeys(tmp_path: Path) -> None:
    log = tmp_path / "two\nlines\x1b[2J\u2028\u202e.csv"
    log.write_text("task,model,harness,score\nt,m,h,2\n")
    with pytest.raises(LogError) as caught:
        list(read_logs(log))
    message = str(caught.value)
    assert message.endswith(r"two\nlines\x1b[2J\u2028\u202e.csv line 2: score 2.0 is outside 0 to 1")
    assert message.isprintable()
    log.write_text("task,mod\x1bel,har\u202eness,score\nt,m,h,2\n")
    with pytest.raises(LogError, match=r"found task, mod\\x1bel, har\\u202eness, score"):
        list(read_logs(log))


def test_a_place_and_a_message_are_bounded() -> None:
    error = problem(Path("a.json"), "long " * 10_000, at="instance " + "\n" * 5000 + "x" * 10_000_000)
    assert len(str(error)) < 800
    assert str(error).startswith("a.json instance")
    assert "\n" not in str(error)


def test_a_cell_above_the_limit_is_a_bad_record(tmp_path: Path) -> None:
    log = tmp_path / "log"
    long = "x" * 2_000_000
    log.write_text(f"task,model,harness,score,text\nt1,m,h,1,{long}\nt2,m,h,1,short\n")
    assert read(log, CsvReader(), Refusals(skip=True)) == ["t2"]
    log.write_text(json.dumps({"task": "t1", "text": long}) + '\n{"task": "t2", "route": "h:m", "score": 1}\n')
    assert read(log, JsonlReader(), Refusals(skip=True)) == ["t2"]
