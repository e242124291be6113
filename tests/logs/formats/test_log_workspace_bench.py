"""WorkspaceBench tables that the tests write themselves."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hmrouter.errors import LogError
from hmrouter.logs.base import Refusals, Request
from hmrouter.logs.formats.workspace_bench import WorkspaceBenchReader
from hmrouter.logs.walk import Log
from hmrouter.types import Outcome, Route, Status

HEADER = "id,run_name,passed,total\n"
GOOD = HEADER + "3,Codex--GLM-5.1,13,20\n7,Codex--GLM-5.1,0,10\n3,OpenClaw--Kimi-2.5,8,8\n"


def read(path: Path, request: Request | None = None) -> list[Outcome]:
    return list(Log(path, WorkspaceBenchReader()).read(request or Request()))


def write(folder: Path, text: str, name: str = "rates.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_become_soft_scores(tmp_path: Path) -> None:
    outcomes = read(write(tmp_path, GOOD))
    assert [(o.task.id, o.route, o.score) for o in outcomes] == [
        ("3", Route("glm-5-1", "codex"), 0.65),
        ("7", Route("glm-5-1", "codex"), 0.0),
        ("3", Route("kimi-2-5", "openclaw"), 1.0),
    ]
    first = outcomes[0]
    assert (first.task.suite, first.source, first.status) == ("workspace-bench", "workspace-bench", Status.OK)
    assert (first.cost, first.model_version) == (None, "GLM-5.1")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (GOOD, True),
        (GOOD.replace("\n", "\r\n"), True),
        ("\ufefftotal,passed,run_name,id,note\n", True),
        ("id,run_name,passed\n1,a--b,2\n", False),
        ("task,route,score\nt,codex:gpt-5,1\n", False),
        ('{"id": 1, "run_name": "a--b", "passed": 1, "total": 2}\n', False),
        ('"id","run_name","passed","total"\n', True),
        ('a\rb,"c\n', False),
        ("\0id,run_name,passed,total", False),
    ],
)
def test_sniffing_is_by_the_columns(tmp_path: Path, text: str, known: bool) -> None:
    assert WorkspaceBenchReader().sniff(write(tmp_path, text, "anything.txt")) is known
    assert not WorkspaceBenchReader().sniff(tmp_path)


def test_keys_do_not_depend_on_the_place_or_on_compression(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    plain = read(write(tmp_path, GOOD))
    moved = read(write(tmp_path / "elsewhere", GOOD, "other.csv"))
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(GOOD.encode()))
    assert [o.key for o in plain] == [o.key for o in moved] == [o.key for o in read(packed)]
    assert len({o.key for o in plain}) == 3


def test_the_same_cell_twice_is_two_trials(tmp_path: Path) -> None:
    outcomes = read(write(tmp_path, HEADER + "3,Codex--GLM-5.1,1,2\n3,Codex--GLM-5.1,2,2\n"))
    assert [(o.trial, o.score) for o in outcomes] == [("0", 0.5), ("1", 1.0)]


def test_a_row_without_a_verdict_is_unknown(tmp_path: Path) -> None:
    (outcome,) = read(write(tmp_path, HEADER + "3,Codex--GLM-5.1,,20\n"))
    assert (outcome.status, outcome.score) == (Status.UNKNOWN, None)


def test_the_caller_names_the_suite(tmp_path: Path) -> None:
    assert {o.task.suite for o in read(write(tmp_path, GOOD), Request(suite="office"))} == {"office"}


def test_another_table_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="header: no column run_name, total; expected id, run_name, passed, total"):
        read(write(tmp_path, "id,passed\n3,1\n"))


def test_a_run_name_of_another_form_asks_for_the_route(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "3,nightly,13,20\n")
    with pytest.raises(LogError, match="line 2: the log does not say the model and harness of 'nightly'"):
        read(path)
    (outcome,) = read(path, Request(model="gpt-5", harness="codex"))
    assert outcome.route == Route("gpt-5", "codex")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("3,Codex--GLM-5.1,21,20", "passed 21 of total 20 is not a share"),
        ("3,Codex--GLM-5.1,-1,20", "passed -1 of total 20 is not a share"),
        ("3,Codex--GLM-5.1,0,0", "passed 0 of total 0 is not a share"),
        ("3,Codex--GLM-5.1,1,", "passed 1 of total None is not a share"),
        ("3,Codex--GLM-5.1,nan,20", "passed 'nan' is not a whole number"),
        ("3,Codex--GLM-5.1,many,20", "passed 'many' is not a number"),
        (",Codex--GLM-5.1,1,20", "task id is empty"),
        ("3,Codex--GLM-5.1,1", "3 cells where the header has 4"),
        ("3,,1,20", "does not say the model and harness"),
    ],
)
def test_a_bad_row_is_refused_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    path = write(tmp_path, GOOD + row + "\n")
    with pytest.raises(LogError, match=f"rates.csv line 5: .*{message}"):
        read(path)
    refusals = Refusals(skip=True)
    assert len(read(path, Request(refusals=refusals))) == 3
    assert refusals.count == 1
