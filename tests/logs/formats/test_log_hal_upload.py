"""HAL upload files."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import LogError
from hmrouter.logs.base import Refusals, Request
from hmrouter.logs.formats import hal_upload
from hmrouter.logs.formats.hal_upload import HalUploadReader
from hmrouter.logs.walk import Log
from hmrouter.types import Outcome, Route, Status

CONFIG = {
    "agent_name": "Water Agent (o4-mini high)",
    "benchmark_name": "waterbench",
    "date": "2025-08-05",
    "run_id": "waterbench_1754431985",
    "agent_args": {"model_name": "openai/o4-mini-2025-04-16", "reasoning_effort": "high", "budget": 5},
    "agent_version": "1.2",
}
RESULTS = {
    "accuracy": 0.5,
    "successful_tasks": ["t1"],
    "failed_tasks": ["t2", "t3"],
    "total_cost": 6.0,
    "latencies": {
        "t1": {
            "first_call_timestamp": "2025-08-05T10:00:00+00:00",
            "last_call_timestamp": "2025-08-05T10:00:30+00:00",
            "total_time": 30.0,
        },
        "t2": {"total_time": 4},
    },
}
UPLOAD = {
    "config": CONFIG,
    "results": RESULTS,
    "raw_eval_results": {"t1": {"reward": 1.0}, "t2": {"reward": 0.0}, "t3": "ERROR: the container could not start"},
    "raw_logging_results": [{"inputs": {"messages": [{"content": "x" * 100}]}}],
    "task_prompts": {"t1": "Carry the water."},
    "total_usage": {"o4-mini": {"prompt_tokens": 1000, "completion_tokens": 50}},
    "total_cost": 6.0,
    "wall_clock_times": {"t2": 12.5},
}


def written(folder: Path, upload: object = UPLOAD, name: str = "run_UPLOAD.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(upload))
    return path


def changed(folder: Path, section: str, **values: Any) -> Path:
    whole: dict[str, Any] = {**UPLOAD}
    return written(folder, whole | {section: whole[section] | values})


def read(path: Path, **options: Any) -> list[Outcome]:
    return list(Log(path, HalUploadReader()).read(Request(**options)))


def test_a_run(tmp_path: Path) -> None:
    first, second, third = read(written(tmp_path))
    assert first.route == Route("o4-mini-high", "water-agent")
    assert (first.task.id, first.task.suite, first.task.text) == ("t1", "waterbench", "Carry the water.")
    assert (first.score, first.status, first.seconds) == (1.0, Status.OK, 30.0)
    assert first.when == datetime(2025, 8, 5, 10, tzinfo=UTC)
    assert (first.cost, first.cost_is_route_mean) == (2.0, True)
    assert (first.source, first.run, first.harness_version) == ("hal", "waterbench_1754431985", "1.2")
    assert first.model_version == "openai/o4-mini-2025-04-16 high"
    assert (second.score, second.seconds, second.when) == (0.0, 12.5, datetime(2025, 8, 5, tzinfo=UTC))
    assert (third.score, third.status) == (None, Status.UNKNOWN)


@pytest.mark.parametrize(
    ("agent", "arguments", "expected"),
    [
        ("Water Agent (GPT-5)", {}, "water-agent:gpt-5"),
        ("Water Agent (o3 Low (April 2025))", {"reasoning_effort": "Low"}, "water-agent:o3-low"),
        ("Water Agent (v2)", {"model_name": "gpt-5", "reasoning_effort": "medium"}, "water-agent:gpt-5"),
        ("Water Agent", {"model_name": "o3"}, "water-agent:o3"),
    ],
)
def test_routes(tmp_path: Path, agent: str, arguments: dict[str, str], expected: str) -> None:
    path = changed(tmp_path, "config", agent_name=agent, agent_args=arguments)
    assert {str(outcome.route) for outcome in read(path)} == {expected}


def test_a_missing_model_is_asked_for(tmp_path: Path) -> None:
    path = changed(tmp_path, "config", agent_name="Water Agent", agent_args={})
    with pytest.raises(LogError, match=r"run_UPLOAD\.json: the log does not say the model of 'Water Agent'"):
        read(path)
    assert {outcome.route.model for outcome in read(path, model="gpt-5")} == {"gpt-5"}


@pytest.mark.parametrize("cost", [0.0, None, 1e-9])
def test_a_cost_that_was_not_measured_is_unknown(tmp_path: Path, cost: float | None) -> None:
    upload = UPLOAD | {"results": RESULTS | {"total_cost": cost}, "total_cost": cost}
    assert {outcome.cost for outcome in read(written(tmp_path, upload))} == {None}


@pytest.mark.parametrize("key", ["score", "reward", "success"])
def test_without_lists_a_tasks_own_score_counts(tmp_path: Path, key: str) -> None:
    results = {"successful_tasks": None, "failed_tasks": None, "average_score": 0.5}
    raw = {"t1": {key: True, "explanation": "fine"}, "t2": {key: 0}, "t3": "ERROR: no answer"}
    outcomes = read(written(tmp_path, UPLOAD | {"results": results, "raw_eval_results": raw}))
    assert [(outcome.task.id, outcome.score) for outcome in outcomes] == [("t1", 1.0), ("t2", 0.0), ("t3", None)]


def test_without_any_known_score_the_keys_found_are_named(tmp_path: Path) -> None:
    raw = {"t1": {"grade": 1.0, "answer": "x"}}
    path = written(tmp_path, UPLOAD | {"results": {"average_score": 0.5}, "raw_eval_results": raw})
    with pytest.raises(
        LogError, match=r"no task in raw_eval_results has a score, reward, success; found answer, grade"
    ):
        read(path)


def test_keys_do_not_depend_on_the_place_or_the_compression(tmp_path: Path) -> None:
    packed = tmp_path / "other.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(UPLOAD).encode()))
    keys = [outcome.key for outcome in read(written(tmp_path))]
    assert keys == [outcome.key for outcome in read(packed)]
    assert len(set(keys)) == 3


def test_sniffed_by_its_config(tmp_path: Path) -> None:
    sniff = HalUploadReader().sniff
    assert sniff(written(tmp_path))
    assert not sniff(tmp_path)
    for other in ({"config": {"agent_name": "x"}}, {"config": [1]}, {"agent_name": "x", "benchmark_name": "y"}):
        assert not sniff(written(tmp_path, other)), other


def test_memory_does_not_grow_with_the_transcripts(tmp_path: Path) -> None:
    call = json.dumps({"inputs": {"messages": [{"role": "user", "content": "x" * 2000}] * 50}})
    path = tmp_path / "large_UPLOAD.json"
    with path.open("w") as file:
        file.write(json.dumps(UPLOAD)[:-1] + ', "raw_logging_results": [')
        file.writelines(call + "," for _ in range(700))
        file.write(call + "]}")
    assert path.stat().st_size > 70_000_000
    tracemalloc.start()
    try:
        outcomes = read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(outcomes) == 3
    assert peak < 10_000_000


def test_too_much_to_keep_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hal_upload, "KEPT_LIMIT", 2**20)
    with pytest.raises(LogError, match="holds more than 1 MiB beside its transcripts"):
        read(changed(tmp_path, "task_prompts", t1="x" * 2**20))


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        ("results", {"failed_tasks": ["t1"]}, "task 't1' is both successful and failed"),
        ("results", {"failed_tasks": [True]}, "task id True is not text"),
        ("results", {"total_cost": "free"}, "total_cost 'free' is not a number"),
        ("results", {"total_cost": float("nan")}, "cost nan is not a finite number"),
        ("results", {"total_cost": -1}, "is not a finite number of at least 0"),
        ("config", {"date": "soon"}, "date 'soon' is not an ISO 8601 time"),
        ("config", {"run_id": 1.5}, "run_id 1.5 is not text"),
        ("wall_clock_times", {"t1": "long"}, "task 't1': wall_clock_times 'long' is not a number"),
        ("task_prompts", {"t1": "a\0b"}, "task 't1': task_prompts contains a NUL character"),
        ("total_usage", {"o3": {"prompt_tokens": "many"}}, "total_usage: prompt_tokens 'many' is not a number"),
    ],
)
def test_hostile_values_are_refused_in_one_line(
    tmp_path: Path, section: str, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(LogError, match=message):
        read(changed(tmp_path, section, **values))


def test_one_bad_task_leaves_the_others(tmp_path: Path) -> None:
    path = changed(tmp_path, "wall_clock_times", t1="long")
    outcomes = read(path, refusals=Refusals(skip=True))
    assert [outcome.task.id for outcome in outcomes] == ["t2", "t3"]


@pytest.mark.parametrize("text", ['{"config": {"agent_name"', '{"config": "\\ud800', "[" * 100])
def test_broken_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(LogError, match=r"broken\.json: is not valid JSON"):
        read(path)
