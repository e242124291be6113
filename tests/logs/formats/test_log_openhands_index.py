"""OpenHands Index folders that the tests write themselves."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import LogError
from hmrouter.logs.base import Notes, Refusals, Request
from hmrouter.logs.formats.openhands_index import OpenHandsIndexReader
from hmrouter.logs.walk import Log, logs_at
from hmrouter.types import Outcome, Route, Status

METADATA = {"agent_name": "OpenHands", "agent_version": "v1.2.0", "model": "GPT-5.4", "input_price": 2.5}
BENCH = {"fix-a": {"cost": 0.5, "resolved": True}, "fix-b": {"cost": 0.0, "resolved": False}}


def plant(
    folder: Path,
    results: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    scores: list[Any] | None = None,
) -> Path:
    (folder / "instance_results").mkdir(parents=True)
    (folder / "metadata.json").write_text(json.dumps(METADATA if metadata is None else metadata))
    if scores is not None:
        (folder / "scores.json").write_text(json.dumps(scores))
    for name, result in ({"swe-bench": BENCH} if results is None else results).items():
        (folder / "instance_results" / f"{name}.json").write_text(json.dumps(result))
    return folder


def read(path: Path, request: Request | None = None) -> list[Outcome]:
    return list(Log(path, OpenHandsIndexReader()).read(request or Request()))


def test_instances_become_outcomes(tmp_path: Path) -> None:
    scores = [{"benchmark": "swe-bench", "cost_per_instance": 0.4, "submission_time": "2026-04-05T11:29:02+02:00"}]
    solved, failed = read(plant(tmp_path / "results" / "GPT-5.4", scores=scores))
    assert (solved.task.id, solved.task.suite) == ("fix-a", "swe-bench")
    assert solved.route == Route("gpt-5-4", "openhands")
    assert (solved.score, solved.status, solved.cost, solved.cost_is_route_mean) == (1.0, Status.OK, 0.5, False)
    assert (solved.source, solved.harness_version, solved.model_version) == ("openhands-index", "v1.2.0", "GPT-5.4")
    assert solved.when == datetime(2026, 4, 5, 9, 29, 2, tzinfo=UTC)
    assert (failed.score, failed.status) == (0.0, Status.OK)
    assert failed.cost is None, "the Index writes 0.0 where nothing was measured"


def test_each_benchmark_is_a_suite(tmp_path: Path) -> None:
    outcomes = read(plant(tmp_path / "m", {"gaia": {"x": {"resolved": True}}, "commit0": {"x": {"resolved": False}}}))
    assert [(o.task.key, o.score) for o in outcomes] == [(("commit0", "x"), 0.0), (("gaia", "x"), 1.0)]
    assert len({o.key for o in outcomes}) == 2


def test_a_harness_without_any_cost_has_the_published_mean(tmp_path: Path) -> None:
    unmeasured = {"fix-a": {"cost": 0.0, "resolved": True}, "fix-b": {"cost": None, "resolved": False}}
    metadata = {"agent_name": "Codex", "agent_version": "v1.0.0", "model": "GPT-5.4"}
    scores = [
        {
            "benchmark": "swe-bench",
            "cost_per_instance": 0.4,
            "agent_version": "v1.1.0",
            "acp_agent_name": "codex-acp",
            "acp_agent_version": "v0.11",
        },
        {"benchmark": "gaia", "cost_per_instance": 0.0},
    ]
    folder = plant(tmp_path / "m", {"swe-bench": unmeasured, "gaia": unmeasured}, metadata, scores)
    gaia, swe = (
        [o for o in read(folder) if o.task.suite == "gaia"],
        [o for o in read(folder) if o.task.suite != "gaia"],
    )
    assert [(o.cost, o.cost_is_route_mean) for o in swe] == [(0.4, True)] * 2
    assert [(o.cost, o.cost_is_route_mean) for o in gaia] == [(None, False)] * 2
    assert {o.route.harness for o in swe} == {"codex"}
    assert {o.harness_version for o in swe} == {"v1.1.0 (codex-acp v0.11)"}
    assert {o.harness_version for o in gaia} == {"v1.0.0"}


@pytest.mark.parametrize(
    ("place", "harness"),
    [
        ("results/GPT-5.4", "openhands"),
        ("alternative_agents/acp-claude/GPT-5.4", "claude-code"),
        ("alternative_agents/acp-gemini/GPT-5.4", "gemini-cli"),
    ],
)
def test_the_place_tells_the_harness_where_the_metadata_does_not(tmp_path: Path, place: str, harness: str) -> None:
    folder = plant(tmp_path / place, metadata={"agent_version": "v1", "model": "GPT-5.4"})
    assert {o.route.harness for o in read(folder)} == {harness}


def test_a_harness_that_nothing_tells_is_asked_for(tmp_path: Path) -> None:
    folder = plant(tmp_path / "downloads" / "GPT-5.4", metadata={"agent_version": "v1", "model": "GPT-5.4"})
    with pytest.raises(LogError, match=r"metadata.json: the log does not say the harness of 'GPT-5.4'; give a"):
        read(folder)
    assert {o.route.harness for o in read(folder, Request(harness="Codex"))} == {"codex"}


def test_a_missing_verdict_is_unknown(tmp_path: Path) -> None:
    (outcome,) = read(plant(tmp_path / "m", {"gaia": {"x": {"cost": 0.3, "resolved": None}}}))
    assert (outcome.status, outcome.score, outcome.cost) == (Status.UNKNOWN, None, 0.3)


def test_the_walk_finds_model_folders_and_nothing_above(tmp_path: Path) -> None:
    plant(tmp_path / "results" / "a")
    plant(tmp_path / "alternative_agents" / "acp-codex" / "b", metadata={**METADATA, "agent_name": "Codex"})
    (tmp_path / "results" / "readme.txt").write_text("about these results")
    reader = OpenHandsIndexReader()
    assert not reader.sniff(tmp_path)
    assert not reader.sniff(tmp_path / "results")
    assert not reader.sniff(tmp_path / "results" / "a" / "metadata.json")
    found = [part.path.name for part in logs_at(tmp_path, [reader], Notes())]
    assert found == ["b", "a"]


def test_a_folder_of_the_same_layout_without_a_model_is_not_one(tmp_path: Path) -> None:
    assert not OpenHandsIndexReader().sniff(plant(tmp_path / "m", metadata={"title": "photographs"}))
    (tmp_path / "m" / "metadata.json").write_bytes(b"\x89PNG\0")
    assert not OpenHandsIndexReader().sniff(tmp_path / "m")


def test_keys_stay_when_prices_and_places_change(tmp_path: Path) -> None:
    before = read(plant(tmp_path / "results" / "a", scores=[]))
    after = read(plant(tmp_path / "copy" / "b", metadata={**METADATA, "input_price": 1.0, "agent_version": "v2"}))
    assert [o.key for o in before] == [o.key for o in after]
    assert str(tmp_path) not in repr([o.key for o in before])


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("solved", "is not an object"),
        (None, "is not an object"),
        ({"resolved": "perhaps"}, "resolved 'perhaps' is not a number from 0 to 1"),
        ({"resolved": 7}, "score 7.0 is outside 0 to 1"),
        ({"resolved": [True]}, "is not a number from 0 to 1"),
        ({"resolved": True, "cost": -1}, "cost -1.0 is not a finite number"),
        ({"resolved": True, "cost": float("nan")}, "cost nan is not a finite number"),
        ({"resolved": True, "cost": 10**400}, "cost inf is not a finite number"),
        ({"resolved": True, "cost": {"usd": 1}}, "is not a number"),
    ],
)
def test_a_bad_instance_is_refused_with_its_name(tmp_path: Path, result: object, message: str) -> None:
    folder = plant(tmp_path / "m", {"gaia": {"good": {"resolved": True, "cost": 1.0}, "bad": result}})
    with pytest.raises(LogError, match=f"gaia.json instance bad: .*{message}"):
        read(folder)
    refusals = Refusals(skip=True)
    assert [o.task.id for o in read(folder, Request(refusals=refusals))] == ["good"]
    assert refusals.count == 1


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("metadata.json", b'{"model": 3.5, "agent_version": "v1"}', "model 3.5 is not text"),
        ("metadata.json", b"{", "not valid JSON"),
        ("scores.json", b'[{"benchmark": "swe-bench", "cost_per_instance": "dear"}]', "cost_per_instance 'dear'"),
        ("scores.json", b'[{"benchmark": "swe-bench", "submission_time": "soon"}]', "submission_time 'soon'"),
        ("scores.json", b"[nonsense", "not valid JSON"),
        ("instance_results/swe-bench.json", b"[1, 2]", "array"),
        ("instance_results/swe-bench.json", b'{"a": {}, "a": {}}', "'a' appears twice"),
    ],
)
def test_a_broken_file_refuses_the_folder(tmp_path: Path, file: str, content: bytes, message: str) -> None:
    folder = plant(tmp_path / "m", scores=[])
    (folder / file).write_bytes(content)
    with pytest.raises(LogError, match=message):
        read(folder)


def test_a_folder_without_results_says_so(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="holds no results"):
        read(plant(tmp_path / "m", {}))
    with pytest.raises(LogError, match="no instance_results in it"):
        read(tmp_path)
