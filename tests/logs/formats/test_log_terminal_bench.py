"""terminal-bench runs: three layouts of the same trials, failure modes, and routes that only a folder's name tells."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import LogError
from hmrouter.logs.base import Notes, Refusals, Request
from hmrouter.logs.formats.terminal_bench import TerminalBenchReader
from hmrouter.logs.walk import Log, logs_at
from hmrouter.types import Outcome, Status

RUN = "2026-01-02__03-04-05"
METADATA = {
    "run_id": RUN,
    "dataset_name": "tiny-bench",
    "dataset_version": "0.2",
    "agent_name": "goose",
    "model_name": "anthropic/claude-sonnet-4-20250514",
}


def trial(task: str = "sort-list", attempt: int = 1, **changes: Any) -> dict[str, Any]:
    name = f"{task}.{attempt}-of-2.{RUN}"
    return {
        "id": f"id-{task}-{attempt}",
        "trial_name": name,
        "task_id": task,
        "instruction": f"Do {task}.",
        "is_resolved": True,
        "failure_mode": "unset",
        "parser_results": {"test_it": "passed"},
        "recording_path": f"{RUN}/{task}/{name}/sessions/agent.cast",
        "total_input_tokens": 500,
        "total_output_tokens": 20,
        "trial_started_at": "2026-01-02T03:04:05+00:00",
        "agent_started_at": "2026-01-02T03:04:10+00:00",
        "agent_ended_at": "2026-01-02T03:05:10.5+00:00",
    } | changes


def document(*trials: Any) -> str:
    resolved = sum(bool(isinstance(t, dict) and t.get("is_resolved")) for t in trials)
    run = {
        "id": "an id of this file",
        "results": trials,
        "n_resolved": resolved,
        "n_unresolved": len(trials) - resolved,
    }
    return json.dumps(run)


def write_run(folder: Path, *trials: Any, metadata: dict[str, Any] | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(document(*trials))
    if metadata is not None:
        (folder / "run_metadata.json").write_text(json.dumps(metadata))
    return folder


def write_trials(folder: Path, *trials: dict[str, Any]) -> Path:
    for result in trials:
        place = folder / result["task_id"] / result["trial_name"]
        place.mkdir(parents=True)
        (place / "results.json").write_text(json.dumps(result))
    return folder


def read(path: Path, **request: Any) -> list[Outcome]:
    return list(Log(path, TerminalBenchReader()).read(Request(**request)))


def read_one(tmp_path: Path, **changes: Any) -> Outcome:
    (outcome,) = read(write_run(tmp_path / "run", trial(**changes), metadata=METADATA))
    return outcome


def test_a_trial(tmp_path: Path) -> None:
    outcome = read_one(tmp_path)
    assert (outcome.task.id, outcome.task.suite, outcome.task.text) == ("sort-list", "tiny-bench", "Do sort-list.")
    assert (str(outcome.route), outcome.score, outcome.status) == ("goose:claude-sonnet-4", 1.0, Status.OK)
    assert (outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens, outcome.cost) == (500, None, 20, None)
    assert outcome.seconds == 60.5
    assert outcome.when is not None
    assert outcome.when.isoformat() == "2026-01-02T03:04:05+00:00"
    assert (outcome.source, outcome.run, outcome.trial) == ("terminal-bench", RUN, "id-sort-list-1")
    assert outcome.model_version == "anthropic/claude-sonnet-4-20250514"
    assert outcome.dataset_version == "0.2"


@pytest.mark.parametrize(
    ("mode", "resolved", "status", "score"),
    [
        ("unset", False, Status.OK, 0.0),
        ("none", True, Status.OK, 1.0),
        ("agent_timeout", False, Status.OK, 0.0),
        ("agent_timeout", True, Status.OK, 1.0),
        ("context_length_exceeded", False, Status.OK, 0.0),
        ("test_timeout", None, Status.OK, 0.0),
        ("parse_error", None, Status.OK, 0.0),
        ("unset", None, Status.UNKNOWN, None),
        ("agent_timeout", None, Status.UNKNOWN, None),
        ("unknown_agent_error", False, Status.INFRA_ERROR, None),
        ("unknown_agent_error", True, Status.INFRA_ERROR, None),
        ("agent_installation_failed", None, Status.INFRA_ERROR, None),
    ],
)
def test_failure_modes(tmp_path: Path, mode: str, resolved: bool | None, status: Status, score: float | None) -> None:
    outcome = read_one(tmp_path, failure_mode=mode, is_resolved=resolved)
    assert (outcome.status, outcome.score) == (status, score)


def test_sniff(tmp_path: Path) -> None:
    reader = TerminalBenchReader()
    run = write_run(tmp_path / "runs" / "a", trial(), metadata=METADATA)
    submission = write_trials(tmp_path / "20260102_goose_gpt-5", trial(), trial("b"))
    alone = tmp_path / "x_results.json"
    alone.write_text(document(trial()))
    ours = [run, run / "results.json", submission, submission / "b", alone, *submission.glob("*/*/results.json")]
    assert [path for path in ours if not reader.sniff(path)] == []
    (tmp_path / "other.json").write_text('{"results": [{"score": 1}], "id": 3}')
    others = [tmp_path, tmp_path / "runs", run / "run_metadata.json", tmp_path / "other.json"]
    assert [path for path in others if reader.sniff(path)] == []


def test_the_start_of_a_long_file_is_enough_to_sniff(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(document(*(trial(f"task-{i}", instruction="long " * 2000) for i in range(20))))
    assert file.stat().st_size > 2 * 2**16
    assert TerminalBenchReader().sniff(file)


def test_a_folder_of_flat_trials_is_walked(tmp_path: Path) -> None:
    for name in ("20260102_goose_gpt-5", "20260103_codex_gpt-5"):
        (tmp_path / name / "one").mkdir(parents=True)
        (tmp_path / name / "one" / "results.json").write_text(json.dumps(trial()))
    assert not TerminalBenchReader().sniff(tmp_path)
    found = list(logs_at(tmp_path, [TerminalBenchReader()], Notes()))
    assert [str(o.route) for part in found for o in part.read(Request())] == ["goose:gpt-5", "codex:gpt-5"]


def test_every_layout_gives_the_same_keys(tmp_path: Path) -> None:
    trials = [trial("a", 1), trial("a", 2, is_resolved=False), trial("b", 1)]
    keys = {outcome.key for outcome in read(write_run(tmp_path / "run", *trials, metadata=METADATA))}
    assert len(keys) == 3
    again = {outcome.key for outcome in read(write_run(tmp_path / "elsewhere" / "x", *trials, metadata=METADATA))}
    assert again == keys
    killed = write_trials(tmp_path / "killed", *trials)
    (killed / "run_metadata.json").write_text(json.dumps(METADATA))
    assert {outcome.key for outcome in read(killed)} == keys
    assert {o.key for file in killed.glob("*/*/results.json") for o in read(file)} == keys


def test_without_metadata_too(tmp_path: Path) -> None:
    trials = [trial("a"), trial("b")]
    options = {"model": "gpt-5", "harness": "goose"}
    (tmp_path / "x_results.json").write_text(document(*trials))
    (tmp_path / "x_results.json.gz").write_bytes(gzip.compress(document(*trials).encode()))
    keys = {outcome.key for outcome in read(tmp_path / "x_results.json", **options)}
    assert {run for _, _, run, *_ in keys} == {RUN}
    assert {outcome.key for outcome in read(tmp_path / "x_results.json.gz", **options)} == keys
    assert {outcome.key for outcome in read(write_trials(tmp_path / "submission", *trials), **options)} == keys


def test_without_any_id_the_content_names_the_run(tmp_path: Path) -> None:
    bare = trial(recording_path=None)
    (one,) = read(write_run(tmp_path / "20260102_goose_gpt-5", bare))
    (two,) = read(write_run(tmp_path / "x" / "20260102_goose_gpt-5", bare))
    assert one.run == two.run != ""


@pytest.mark.parametrize(
    "place", ["20260102_mini-swe-agent_qwen-3-coder", "20260102_mini-swe-agent_qwen-3-coder/run-7"]
)
def test_a_submissions_folder_names_the_route(tmp_path: Path, place: str) -> None:
    (outcome,) = read(write_run(tmp_path / place, trial(), metadata={"run_id": "r"}))
    assert str(outcome.route) == "mini-swe-agent:qwen-3-coder"


def test_what_the_log_says_comes_first_then_options_then_the_folder(tmp_path: Path) -> None:
    said = {"run_id": "r", "agent_name": "Goose", "model_name": None}
    run = write_run(tmp_path / "20260102_droid_gpt-5", trial(), metadata=said)
    assert [str(o.route) for o in read(run)] == ["goose:gpt-5"]
    assert [str(o.route) for o in read(run, model="gpt-5-mini", harness="codex")] == ["goose:gpt-5-mini"]
    pattern = re.compile(r"2026(?P<model>\d+)")
    assert [str(o.route) for o in read(run, pattern=pattern)] == ["goose:0102"]


def test_a_route_that_nobody_says_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="does not say the model and harness of 'ob1'; give a model and a harness"):
        read(write_run(tmp_path / "ob1", trial()))


def test_agents_without_a_model_are_no_routes(tmp_path: Path) -> None:
    notes = Notes()
    assert read(write_run(tmp_path / "run", trial(), metadata=METADATA | {"agent_name": "oracle"}), notes=notes) == []
    assert sum(notes.remarks.values()) == 1


def test_zero_tokens_are_not_counted_ones(tmp_path: Path) -> None:
    outcome = read_one(tmp_path, total_input_tokens=0, total_output_tokens=0)
    assert (outcome.input_tokens, outcome.output_tokens) == (None, None)


def test_times_may_be_missing(tmp_path: Path) -> None:
    outcome = read_one(tmp_path, trial_started_at=None, agent_started_at=None)
    assert (outcome.when, outcome.seconds) == (None, None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task_id": None}, "task id is empty"),
        ({"is_resolved": "perhaps"}, "is_resolved 'perhaps' is not a number"),
        ({"is_resolved": 3}, r"score 3\.0 is outside 0 to 1"),
        ({"instruction": {"a": 1}}, "instruction .* is not text"),
        ({"total_input_tokens": -4}, "input_tokens -4 is negative"),
        ({"total_input_tokens": float("nan")}, "input 'NaN' is not a whole number"),
        ({"agent_started_at": "noon"}, "agent_started_at 'noon' is not an ISO 8601 time"),
        ({"agent_ended_at": "2025-01-01T00:00:00Z"}, "seconds -.* is not a finite number of at least 0"),
    ],
)
def test_hostile_values(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(LogError, match=rf"results\.json result 2: {reason}"):
        read(write_run(tmp_path / "run", trial("a"), trial(**changes), metadata=METADATA))


def test_bad_records_are_all_told_and_the_rest_can_be_read(tmp_path: Path) -> None:
    refusals = Refusals(skip=True)
    run = write_run(tmp_path / "run", 7, trial("a"), {"task_id": "b"}, metadata=METADATA)
    assert [outcome.task.id for outcome in read(run, refusals=refusals)] == ["a"]
    assert "result 1: the trial 7 is not a JSON object" in refusals.first[0]
    assert "result 3: failure_mode, is_resolved, trial_name is missing" in refusals.first[1]


def test_one_broken_file_among_trials(tmp_path: Path) -> None:
    folder = write_trials(tmp_path / "20260102_goose_gpt-5", trial("a"), trial("b"))
    next(folder.glob("a/*/results.json")).write_text('{"task_id": "a", ')
    assert TerminalBenchReader().sniff(folder)
    with pytest.raises(LogError, match="the document is not valid JSON"):
        read(folder)
    assert [o.task.id for o in read(folder, refusals=Refusals(skip=True))] == ["b"]


def test_a_truncated_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", trial("a"), trial("b"), metadata=METADATA)
    text = (run / "results.json").read_text()
    (run / "results.json").write_text(text[: len(text) // 2])
    with pytest.raises(LogError, match=r"results\.json: is not valid JSON"):
        read(run)


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="holds no trial"):
        read(tmp_path)
