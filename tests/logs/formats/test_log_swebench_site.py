"""The SWE-bench site's data file."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import LogError
from hmrouter.logs.base import Notes, Refusals, Request
from hmrouter.logs.formats.swebench_site import SweBenchSiteReader
from hmrouter.logs.walk import Log
from hmrouter.types import Outcome, Route, Status

DETAILS = {
    "a__a-1": {"resolved": True, "cost": 0.5, "api_calls": 9},
    "a__a-2": {"resolved": False, "cost": 0.0, "api_calls": 3},
}


def entry(name: str, folder: str, *models: str, **more: Any) -> dict[str, Any]:
    tags = [*(f"Model: {model}" for model in models), "Org: Acme", "Model_size: 70"]
    return {"name": name, "folder": folder, "date": "2025-11-24", "tags": tags, "resolved": 50.0,
            "per_instance_details": DETAILS} | more  # fmt: skip


def written(folder: Path, **boards: list[dict[str, Any]]) -> Path:
    path = folder / "leaderboards.json"
    listed = [{"name": name.replace("_", "-"), "results": results} for name, results in boards.items()]
    path.write_text(json.dumps({"leaderboards": listed}))
    return path


def read(path: Path, **options: Any) -> list[Outcome]:
    return list(Log(path, SweBenchSiteReader()).read(Request(**options)))


def routes(path: Path, **options: Any) -> set[str]:
    return {str(outcome.route) for outcome in read(path, **options)}


def test_a_bash_only_entry(tmp_path: Path) -> None:
    name = "Claude 4.5 Opus medium (20251101)"
    run = entry(name, "run-1", "claude-opus-4-5-20251101", **{"mini-swe-agent_version": "1.16.0"})
    first, second = read(written(tmp_path, bash_only=[run]))
    assert first.route == Route("claude-opus-4-5", "mini-swe-agent")
    assert (first.task.id, first.score, first.cost, first.status) == ("a__a-1", 1.0, 0.5, Status.OK)
    assert (second.task.id, second.score, second.cost) == ("a__a-2", 0.0, None)
    assert (first.task.suite, first.dataset_version) == ("swe-bench-verified", "Verified")
    assert (first.source, first.run, first.when) == ("swebench-site", "run-1", datetime(2025, 11, 24, tzinfo=UTC))
    assert (first.model_version, first.harness_version) == (name, "1.16.0")


def test_the_same_run_in_two_tracks_counts_once(tmp_path: Path) -> None:
    twice = {
        "bash_only": [entry("GPT-5", "run-1", "gpt-5")],
        "Verified": [entry("mini-SWE-agent + GPT-5", "run-1", "gpt-5")],
    }
    assert len(read(written(tmp_path, **twice))) == 2
    assert len(read(written(tmp_path, **twice, Lite=[entry("mini-SWE-agent + GPT-5", "run-1", "gpt-5")]))) == 4


def test_other_tracks_name_the_harness_before_the_plus(tmp_path: Path) -> None:
    path = written(tmp_path, Test=[entry("SWE-agent + GPT 4o (2024-08-06)", "run-1", "gpt-4o-2024-08-06")])
    assert routes(path) == {"swe-agent:gpt-4o"}
    assert {outcome.task.suite for outcome in read(path)} == {"swe-bench"}


def test_without_a_model_tag_the_name_tells(tmp_path: Path) -> None:
    assert routes(written(tmp_path, Lite=[entry("SWE-agent + GPT-4o", "run-1")])) == {"swe-agent:gpt-4o"}
    assert routes(written(tmp_path, bash_only=[entry("Kimi K2 Instruct", "run-1")])) == {
        "mini-swe-agent:kimi-k2-instruct"
    }


def test_what_neither_says_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, Verified=[entry("Acme Agent", "run-1", "gpt-5")])
    with pytest.raises(LogError, match="Verified entry 1: the log does not say the harness of 'Acme Agent'"):
        read(path)
    assert routes(path, harness="acme") == {"acme:gpt-5"}


@pytest.mark.parametrize(
    ("name", "model", "expected"),
    [
        ("Claude 4.5 Opus (high reasoning)", "claude-opus-4-5-20251101", "claude-opus-4-5-high"),
        ("o4-mini High (2025-04-16)", "o4-mini-high", "o4-mini-high"),
        ("GPT-5 (2025-08-07) (medium reasoning)", "gpt-5-2025-08-07", "gpt-5"),
        ("GLM-4.6 (T=1)", "glm-4.6", "glm-4-6"),
    ],
)
def test_an_effort_other_than_the_default_makes_another_model(
    tmp_path: Path, name: str, model: str, expected: str
) -> None:
    assert routes(written(tmp_path, bash_only=[entry(name, "run-1", model)])) == {f"mini-swe-agent:{expected}"}


def test_what_is_no_single_route_or_contradicts_itself_is_left_out_with_a_remark(tmp_path: Path) -> None:
    notes = Notes()
    path = written(
        tmp_path,
        Verified=[
            entry("A + GPT-5", "several", "gpt-5", "o3"),
            entry("A + GPT-5", "spelled-twice", "gpt-5-2025-08-07", "GPT-5"),
            entry("A + GPT-5", "contradiction", "gpt-5", resolved=90.0),
            entry("A + GPT-5", "no-details", "gpt-5", per_instance_details=None),
        ],
    )
    assert {outcome.run for outcome in read(path, notes=notes)} == {"spelled-twice"}
    assert sorted(notes.remarks) == [
        "contradiction: its instances say 50.0% resolved, its entry 90.0%; left out",
        "leaderboard entries without per-instance results; left out",
        "several: several models, which is no single route; left out",
    ]


def test_no_verdict_is_not_a_failure(tmp_path: Path) -> None:
    details = {"a__a-1": {"resolved": None, "cost": 0.1}, "a__a-2": {"cost": 0.1}}
    path = written(tmp_path, bash_only=[entry("GPT-5", "run-1", "gpt-5", per_instance_details=details, resolved=None)])
    assert [(outcome.score, outcome.status) for outcome in read(path)] == [(None, Status.UNKNOWN)] * 2


def test_keys_do_not_depend_on_the_place_or_the_compression(tmp_path: Path) -> None:
    path = written(tmp_path, bash_only=[entry("GPT-5", "run-1", "gpt-5")])
    packed = tmp_path / "other.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert [outcome.key for outcome in read(path)] == [outcome.key for outcome in read(packed)]


def test_sniffed_by_content(tmp_path: Path) -> None:
    sniff = SweBenchSiteReader().sniff
    assert sniff(written(tmp_path, bash_only=[entry("GPT-5", "run-1", "gpt-5")]))
    assert not sniff(tmp_path)
    for text in (
        '{"leaderboards": {"results": {"resolved": 1}}}',
        '{"leaderboards": []}',
        "leaderboards,results\n1,2\n",
    ):
        other = tmp_path / "other"
        other.write_text(text)
        assert not sniff(other), text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"folder": None}, "bash-only entry 1: 'GPT-5' has no folder"),
        ({"folder": ["x"]}, "bash-only entry 1: folder .* is not text"),
        ({"tags": "Model: gpt-5"}, "tags is not a list"),
        ({"date": "yesterday"}, "date 'yesterday' is not an ISO 8601 time"),
        ({"per_instance_details": [1]}, "per_instance_details is not an object"),
        ({"per_instance_details": {"a": 1}, "resolved": 0}, "run-1 instance 'a': the details are not an object"),
        ({"per_instance_details": {"a": {"resolved": True, "cost": -1}}, "resolved": 100}, "cost -1.0 is not a finite"),
        ({"per_instance_details": {"a": {"resolved": "maybe"}}, "resolved": 0}, "resolved 'maybe' is not a number"),
        ({"per_instance_details": {"": {"resolved": True}}, "resolved": 100}, "task id is empty"),
    ],
)
def test_hostile_values_are_refused_in_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    good = entry("o3", "run-2", "o3")
    path = written(tmp_path, bash_only=[entry("GPT-5", "run-1", "gpt-5") | change, good])
    with pytest.raises(LogError, match=message):
        read(path)
    assert {outcome.run for outcome in read(path, refusals=Refusals(skip=True))} == {"run-2"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"leaderboards": [{"results": []}]}', "a leaderboard has no name or no array of results"),
        ('{"leaderboards": [7]}', "a leaderboard has no name or no array of results"),
        ('{"leaderboards": [{"name": "Lite", "results": []}]}', "holds no outcomes"),
        ('{"leaderboards": [{"name": "Lite"', "is not valid JSON"),
    ],
)
def test_a_document_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "leaderboards.json"
    path.write_text(text)
    with pytest.raises(LogError, match=message):
        read(path)
