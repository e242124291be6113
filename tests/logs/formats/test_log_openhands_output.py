"""OpenHands outputs that the tests write themselves, in the older and the later form."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import LogError
from hmrouter.logs.base import Notes, Refusals, Request
from hmrouter.logs.formats import openhands_lines
from hmrouter.logs.formats.openhands_output import OpenHandsOutputReader
from hmrouter.logs.formats.swebench_report import SweBenchReportReader
from hmrouter.logs.walk import Log, logs_at
from hmrouter.types import Outcome, Route, Status

KEY = "sk-never-to-be-seen"
OLDER = {
    "agent_class": "CodeActAgent",
    "llm_config": {"model": "anthropic/claude-sonnet-4-5-20250929", "api_key": KEY},
    "start_time": "2026-01-02 03:04:05",
    "git_commit": "0123abc",
    "dataset": "princeton-nlp/SWE-bench_Verified",
    "data_split": "test",
    "eval_output_dir": "/home/somebody/runs/1",
}
LATER = {
    "llm": {"model": "litellm_proxy/openai/gpt-5.4", "api_key": KEY, "base_url": "https://example.org"},
    "dataset": "gaia",
    "dataset_split": "validation",
    "agent_type": "default",
    "openhands_sdk_version": "1.16.1",
}
REPORT = {
    "total_instances": 9,
    "submitted_instances": 5,
    "completed_ids": ["a", "b"],
    "empty_patch_ids": ["c"],
    "submitted_ids": ["a", "b", "c", "d", "e"],
    "resolved_ids": ["a"],
    "unresolved_ids": ["b"],
    "error_ids": ["d"],
    "infra_failure_ids": ["e"],
}


def execution(task: str, **more: Any) -> dict[str, Any]:
    return {"instance_id": task, "test_result": {"git_patch": "diff --git"}, "metadata": OLDER, **more}


def plant(folder: Path, *lines: dict[str, Any], **beside: Any) -> Path:
    """A run's folder: `output.jsonl` and documents beside it, `report={...}` as report.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "output.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name, document in beside.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


def read(path: Path, request: Request | None = None) -> list[Outcome]:
    return list(Log(path, OpenHandsOutputReader()).read(request or Request()))


def verdicts(path: Path) -> dict[str, tuple[str, float | None]]:
    return {o.task.id: (str(o.status), o.score) for o in read(path)}


def test_a_line_of_the_older_form(tmp_path: Path) -> None:
    metrics = {
        "accumulated_cost": 0.25,
        "accumulated_token_usage": {
            "prompt_tokens": 9000,
            "completion_tokens": 300,
            "cache_read_tokens": 7000,
            "cache_write_tokens": 500,
        },
    }
    history = [{"timestamp": "2026-01-02T04:00:00"}, {"id": 2}, {"timestamp": "2026-01-02T04:01:30"}]
    line = execution("a", instruction="Please fix it.", metrics=metrics, history=history, error=None)
    (outcome,) = read(plant(tmp_path / "run", line, report=REPORT))
    assert outcome.route == Route("claude-sonnet-4-5", "openhands")
    assert (outcome.task.suite, outcome.task.id, outcome.task.text) == ("SWE-bench_Verified", "a", "Please fix it.")
    assert (outcome.score, outcome.status, outcome.cost) == (1.0, Status.OK, 0.25)
    assert (outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens) == (9000, 7000, 300)
    assert (outcome.when, outcome.seconds) == (datetime(2026, 1, 2, 4, tzinfo=UTC), 90.0)
    assert (outcome.source, outcome.harness_version, outcome.dataset_version) == ("openhands-output", "0123abc", "test")
    assert outcome.model_version == "anthropic/claude-sonnet-4-5-20250929"
    assert outcome.token_cost is None


def test_a_line_of_the_later_form_has_its_metadata_beside_it(tmp_path: Path) -> None:
    line = {
        "instance_id": "q1",
        "attempt": 1,
        "test_result": {"score": True, "model_answer": "42"},
        "instruction": "a template around the question",
        "instance": {"problem_statement": "What is the question?"},
        "metrics": {"accumulated_cost": 0.0, "accumulated_token_usage": None},
    }
    (outcome,) = read(plant(tmp_path / "run", line, metadata=LATER))
    assert outcome.route == Route("gpt-5-4", "openhands")
    assert (outcome.task.suite, outcome.task.text) == ("gaia", "What is the question?")
    assert (outcome.score, outcome.dataset_version, outcome.harness_version) == (1.0, "validation", "1.16.1")
    assert (outcome.cost, outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens) == (None,) * 4
    assert (outcome.when, outcome.seconds) == (None, None)


@pytest.mark.parametrize(
    ("settings", "harness", "version"),
    [
        ({"agent_type": "acp-claude", "acp_agent_version": "0.25.0"}, "claude-code", "0.25.0"),
        ({"agent_type": "acp-codex"}, "codex", ""),
        ({"enable_delegation": True}, "openhands-sub-agents", "1.16.1"),
        ({"enable_delegation": False}, "openhands", "1.16.1"),
    ],
)
def test_the_harness_that_openhands_drives(
    tmp_path: Path, settings: dict[str, Any], harness: str, version: str
) -> None:
    line = execution("a", metadata={**LATER, **settings})
    (outcome,) = read(plant(tmp_path / "run", line))
    assert (outcome.route.harness, outcome.harness_version) == (harness, version)


EXPECTED = {
    "a": ("ok", 1.0),
    "b": ("ok", 0.0),
    "c": ("ok", 0.0),
    "d": ("unknown", None),
    "e": ("infra_error", None),
    "f": ("unknown", None),
}


@pytest.mark.parametrize("name", ["report", "output.report"])
def test_verdicts_come_from_the_report_beside(tmp_path: Path, name: str) -> None:
    folder = plant(tmp_path / "run", *(execution(task) for task in "abcdef"), **{name: REPORT})
    assert verdicts(folder) == verdicts(folder / "output.jsonl") == EXPECTED


def test_verdicts_come_from_the_evaluated_lines_beside(tmp_path: Path) -> None:
    folder = plant(tmp_path / "run", *(execution(task) for task in "abcd"))
    reports = {
        "a": {"resolved": True},
        "b": {"resolved": False, "failed_apply_patch": True},
        "c": {"resolved": False, "error_eval": True},
    }
    lines = ({"instance_id": task, "test_result": {"report": report}} for task, report in reports.items())
    (folder / "output.swebench_eval.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert verdicts(folder) == {"a": ("ok", 1.0), "b": ("ok", 0.0), "c": ("unknown", None), "d": ("unknown", None)}
    with pytest.raises(LogError, match="line 1: the log does not say the model of 'run'"):
        read(folder / "output.swebench_eval.jsonl")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"test_result": {"resolved": True}}, ("ok", 1.0)),
        ({"test_result": {"score": 0.5}}, ("ok", 0.5)),
        ({"test_result": {"report": {"resolved": False}}}, ("ok", 0.0)),
        ({"report": {"resolved": True}}, ("ok", 1.0)),
        ({"test_result": {}}, ("unknown", None)),
        ({"test_result": {"git_patch": "diff"}}, ("unknown", None)),
    ],
)
def test_verdicts_of_the_line_itself(tmp_path: Path, more: dict[str, Any], expected: tuple[str, float | None]) -> None:
    assert verdicts(plant(tmp_path / "run", execution("a", **more))) == {"a": expected}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("AgentRuntimeDisconnectedError: gone", ("infra_error", None)),
        ("litellm.RateLimitError: slow down", ("infra_error", None)),
        ("Instance failed after 3 retries. Last error: no disk", ("infra_error", None)),
        ("RuntimeError: Agent reached maximum iteration in headless mode", ("ok", 0.0)),
        ("AgentStuckInLoopError: Agent got stuck in a loop", ("ok", 0.0)),
        ("litellm.ContextWindowExceededError: too long", ("ok", 0.0)),
    ],
)
def test_broken_machinery_is_not_a_failure(tmp_path: Path, error: str, expected: tuple[str, float | None]) -> None:
    folder = plant(tmp_path / "run", execution("c", error=error), execution("a", error=error), report=REPORT)
    assert verdicts(folder) == {"c": expected, "a": ("ok", 1.0)}, "what was solved in spite of an error is solved"


def test_reports_of_others_are_not_taken(tmp_path: Path) -> None:
    folder = plant(tmp_path / "run", execution("a"), report={"title": "a report about something else"})
    assert verdicts(folder) == {"a": ("unknown", None)}
    folder = plant(tmp_path / "flat", execution("a"), report=REPORT)
    (folder / "output.jsonl").rename(folder / "mine.jsonl")
    assert verdicts(folder / "mine.jsonl") == {"a": ("unknown", None)}


def test_cached_tokens_beside_the_prompt_are_counted_in(tmp_path: Path) -> None:
    tokens = {"prompt_tokens": 100, "completion_tokens": 7, "cache_read_tokens": 900, "cache_write_tokens": 50}
    (outcome,) = read(plant(tmp_path / "run", execution("a", metrics={"accumulated_token_usage": tokens})))
    assert (outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens) == (1050, 900, 7)


def test_keys_do_not_depend_on_the_place_or_on_compression(tmp_path: Path) -> None:
    plain = plant(tmp_path / "run", execution("a"), execution("a"), execution("b"), report=REPORT)
    packed = plant(tmp_path / "elsewhere" / "packed", report=REPORT)
    (packed / "output.jsonl").unlink()
    (packed / "output.jsonl.gz").write_bytes(gzip.compress((plain / "output.jsonl").read_bytes()))
    keys = [o.key for o in read(plain)]
    assert len(set(keys)) == 3
    assert keys == [o.key for o in read(plain / "output.jsonl")] == [o.key for o in read(packed)]
    assert "somebody" not in repr(keys)
    unjudged = plant(tmp_path / "unjudged", execution("a"), execution("a"), execution("b"))
    assert not set(keys) & {o.key for o in read(unjudged)}, "a verdict that comes later is news"


@pytest.mark.parametrize("dataset", ["/home/somebody/data/tasks", "/home/somebody/data/tasks/", "tasks"])
def test_a_path_of_the_machine_is_not_kept(tmp_path: Path, dataset: str) -> None:
    (outcome,) = read(plant(tmp_path / "run", execution("a", metadata={**OLDER, "dataset": dataset})))
    assert outcome.task.suite == "tasks"


def test_without_a_data_set_the_caller_names_the_suite(tmp_path: Path) -> None:
    folder = plant(tmp_path / "run", execution("a", metadata={"llm": {"model": "gpt-5"}}))
    assert read(folder)[0].task.suite == "default"
    assert read(folder, Request(suite="ours"))[0].task.suite == "ours"


def test_sniffing(tmp_path: Path) -> None:
    reader = OpenHandsOutputReader()
    folder = plant(tmp_path / "run", execution("a"), report=REPORT)
    assert reader.sniff(folder)
    assert reader.sniff(folder / "output.jsonl")
    assert not reader.sniff(tmp_path)
    assert not reader.sniff(folder / "report.json")
    others: list[dict[str, Any]] = [
        {"instance_id": "a", "model_patch": "diff"},
        {"instance_id": "a", "score": 1},
        {"test_result": {}},
    ]
    for other in others:
        plant(folder, other)
        assert not reader.sniff(folder)
        assert not reader.sniff(folder / "output.jsonl")
    plant(folder, execution("a", test_result={"git_patch": "x" * 200_000}))
    assert reader.sniff(folder), "a patch longer than what sniffing looks at"


def test_the_walk_takes_the_folder_as_one_log(tmp_path: Path) -> None:
    folder = plant(tmp_path / "runs" / "one", execution("a"), metadata=LATER, report=REPORT)
    (folder / "output.critic_attempt_1.jsonl").write_bytes((folder / "output.jsonl").read_bytes())
    plant(tmp_path / "runs" / "two", execution("b"))
    found = logs_at(tmp_path, [OpenHandsOutputReader(), SweBenchReportReader()], Notes())
    assert [part.path.name for part in found] == ["one", "two"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"instance_id": None}, "task id is empty"),
        ({"instance_id": 1.5}, "instance_id 1.5 is not text"),
        ({"test_result": "fine"}, "test_result is not an object"),
        ({"metadata": [KEY]}, "metadata is not an object"),
        ({"metadata": {**LATER, "llm": KEY}}, "llm is not an object"),
        ({"metadata": {}}, "does not say the model"),
        ({"metrics": {"accumulated_cost": -1}}, "cost -1.0 is not a finite number"),
        ({"metrics": {"accumulated_cost": float("nan")}}, "cost nan is not a finite number"),
        ({"metrics": {"accumulated_token_usage": {"prompt_tokens": 1.5}}}, "prompt_tokens 1.5 is not a whole number"),
        ({"metrics": {"accumulated_token_usage": {"completion_tokens": -3}}}, "output_tokens -3 is negative"),
        ({"test_result": {"resolved": 3}}, "score 3.0 is outside 0 to 1"),
        ({"error": {"code": 3}}, "error .* is not text"),
        ({"history": [{"timestamp": "yesterday"}]}, "timestamp 'yesterday' is not an ISO 8601 time"),
        ({"instruction": 5}, "instruction 5 is not text"),
    ],
)
def test_a_bad_line_is_refused_with_its_number_and_no_key(tmp_path: Path, line: dict[str, Any], message: str) -> None:
    folder = plant(tmp_path / "run", execution("good"), {**execution("bad"), **line})
    with pytest.raises(LogError, match=f"output.jsonl line 2: .*{message}"):
        read(folder)
    kept: list[dict[str, Any]] = []
    refusals = Refusals(skip=True, keep=kept.append)
    assert [o.task.id for o in read(folder, Request(refusals=refusals))] == ["good"]
    assert len(kept) == 1
    assert KEY not in repr(kept)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"instance_id": "cut o', "not valid JSON"),
        (b"[1, 2]", "is a JSON array"),
        (b'{"instance_id": "\xff"}', "not valid UTF-8"),
        (b'{"instance_id": "a\0b"}', "not valid JSON"),
    ],
)
def test_a_broken_line_does_not_hide_the_others(tmp_path: Path, line: bytes, message: str) -> None:
    folder = plant(tmp_path / "run", execution("a"))
    good = (folder / "output.jsonl").read_bytes()
    (folder / "output.jsonl").write_bytes(good + line + b"\n\n" + good.replace(b'"a"', b'"z"'))
    with pytest.raises(LogError, match=f"line 2: .*{message}"):
        read(folder)
    assert [o.task.id for o in read(folder, Request(refusals=Refusals(skip=True)))] == ["a", "z"]


def test_a_line_longer_than_the_limit_ends_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openhands_lines, "ITEM_LIMIT", 2**20)
    folder = plant(tmp_path / "run", execution("a"), execution("b", history=[{"content": "x" * 2**20}]))
    with pytest.raises(LogError, match="line 2: is longer than 1 MiB, the limit for one execution"):
        read(folder)


def test_a_transcript_longer_than_a_cell_of_a_table_is_fine(tmp_path: Path) -> None:
    (outcome,) = read(plant(tmp_path / "run", execution("a", history=[{"content": "x" * 5 * 2**20}])))
    assert outcome.task.id == "a"


def test_no_outcome_repeats_the_key(tmp_path: Path) -> None:
    assert KEY not in repr(read(plant(tmp_path / "run", execution("a"), execution("b", metadata=LATER))))
