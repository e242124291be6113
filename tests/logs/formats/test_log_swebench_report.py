"""SWE-bench evaluation reports."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import LogError
from hmrouter.logs.base import Refusals, Request
from hmrouter.logs.formats.swebench_report import SweBenchReportReader
from hmrouter.logs.walk import Log
from hmrouter.types import Outcome, Route, Status

REPORT = {
    "total_instances": 9,
    "submitted_instances": 7,
    "completed_instances": 3,
    "resolved_instances": 1,
    "completed_ids": ["a__a-1", "a__a-2", "a__a-5"],
    "incomplete_ids": ["a__a-8", "a__a-9"],
    "empty_patch_ids": ["a__a-3"],
    "submitted_ids": [f"a__a-{number}" for number in range(1, 8)],
    "resolved_ids": ["a__a-1"],
    "unresolved_ids": ["a__a-2", "a__a-5"],
    "error_ids": ["a__a-4"],
    "infra_failure_ids": ["a__a-5", "a__a-6"],
    "schema_version": 2,
}
GIVEN: dict[str, Any] = {"model": "GPT-5", "harness": "Codex CLI"}


def written(folder: Path, report: object = REPORT, name: str = "gpt-5.run1.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(report))
    return path


def read(path: Path, **options: Any) -> list[Outcome]:
    return list(Log(path, SweBenchReportReader()).read(Request(**(GIVEN | options))))


def test_each_list_gets_its_status_and_score(tmp_path: Path) -> None:
    outcomes = read(written(tmp_path))
    assert {outcome.task.id: (outcome.status, outcome.score) for outcome in outcomes} == {
        "a__a-1": (Status.OK, 1.0),
        "a__a-2": (Status.OK, 0.0),
        "a__a-3": (Status.OK, 0.0),
        "a__a-4": (Status.UNKNOWN, None),
        "a__a-5": (Status.INFRA_ERROR, None),
        "a__a-6": (Status.INFRA_ERROR, None),
        "a__a-7": (Status.UNKNOWN, None),
    }
    assert len(outcomes) == 7
    assert {outcome.route for outcome in outcomes} == {Route("gpt-5", "codex")}
    assert {(outcome.source, outcome.task.suite) for outcome in outcomes} == {("swebench-report", "swe-bench")}


def test_the_suite_is_the_users(tmp_path: Path) -> None:
    assert {outcome.task.suite for outcome in read(written(tmp_path), suite="swe-bench-lite")} == {"swe-bench-lite"}


def test_the_pair_is_asked_for_with_the_name_that_was_found(tmp_path: Path) -> None:
    path = written(tmp_path, name="mini__gpt-5.run1.json")
    with pytest.raises(
        LogError, match=r"mini__gpt-5\.run1\.json: .*does not say the model and harness of 'mini__gpt-5"
    ):
        read(path, model=None, harness=None)
    pattern = re.compile(r"(?P<harness>.+)__(?P<model>.+)\.run")
    outcomes = read(path, model=None, harness=None, pattern=pattern)
    assert {outcome.route for outcome in outcomes} == {Route("gpt-5", "mini")}


def test_keys_do_not_depend_on_the_place_or_the_compression(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    packed = tmp_path / "renamed.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(REPORT).encode()))
    keys = [[outcome.key for outcome in read(path)] for path in (written(tmp_path), written(elsewhere), packed)]
    assert keys[0] == keys[1] == keys[2]
    other = read(written(tmp_path, REPORT | {"resolved_ids": []}, "other.json"))
    assert {outcome.run for outcome in other}.isdisjoint({key[2] for key in keys[0]})


def test_sniffed_by_its_lists_or_its_counts(tmp_path: Path) -> None:
    sniff = SweBenchReportReader().sniff
    assert sniff(written(tmp_path))
    many = {"completed_ids": [f"a__a-{number}" for number in range(20_000)], "submitted_ids": [], "resolved_ids": []}
    assert sniff(written(tmp_path, many))
    assert not sniff(tmp_path)
    assert not sniff(written(tmp_path, {"results": [], "resolved_ids": ["a"], "unresolved_ids": [], "n_resolved": 1}))
    assert not sniff(written(tmp_path, {"resolved": 3}))


def test_an_instance_that_is_resolved_and_failed_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, REPORT | {"resolved_ids": ["a__a-1", "a__a-2"]})
    with pytest.raises(LogError, match="instance a__a-2: is in resolved_ids and also among the failures"):
        read(path)
    assert len(read(path, refusals=Refusals(skip=True))) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resolved_ids": "a__a-1"}, "resolved_ids is not a list of instance ids"),
        ({"resolved_ids": [["a__a-1"]]}, "resolved_ids item 1: instance id .* is not text"),
        ({"error_ids": ["a__a-4", ""]}, "error_ids item 2: instance id is empty"),
        ({"error_ids": ["x" * 1001]}, "has 1001 bytes; the limit is 1000"),
        ({"error_ids": ["a\0b"]}, "contains a NUL character"),
    ],
)
def test_hostile_lists_are_refused_in_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(LogError, match=message):
        read(written(tmp_path, REPORT | change))


def test_a_report_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="holds no outcomes"):
        read(written(tmp_path, {"submitted_instances": 0, "resolved_ids": [], "unresolved_ids": None}))
