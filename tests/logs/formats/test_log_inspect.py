"""Inspect's logs in JSON: grades, scorers, endings, tokens, and what is refused. `.eval` needs the real package."""

from __future__ import annotations

import gzip
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import LogError, MissingExtra
from hmrouter.logs.base import Notes, Refusals, Request
from hmrouter.logs.formats.inspect_log import InspectReader
from hmrouter.logs.walk import Log
from hmrouter.types import Outcome, Status

MODEL = "openai/gpt-5-2025-08-07"


def sample(**changes: Any) -> dict[str, Any]:
    return {
        "id": "q1",
        "epoch": 1,
        "input": "What is 6 x 7?",
        "target": "42",
        "messages": [{"role": "user", "content": "What is 6 x 7?"}],
        "scores": {"match": {"value": "C", "answer": "42"}},
        "model_usage": {MODEL: {"input_tokens": 100, "output_tokens": 7}},
        "started_at": "2026-02-03T04:05:06+00:00",
        "total_time": 12.5,
        "uuid": "u1",
    } | changes


def write_log(path: Path, *samples: Any, plan: Any = None, **spec: Any) -> Path:
    header = {
        "eval_id": "e1",
        "run_id": "r1",
        "task_id": "k1",
        "created": "2026-02-03T04:00:00+00:00",
        "task": "arithmetic",
        "task_version": 0,
        "dataset": {"name": "sums"},
        "solver": "react",
        "model": MODEL,
        "packages": {"inspect_ai": "0.3.1"},
    } | spec
    log = {"version": 2, "status": "success", "eval": header, "plan": plan or {"steps": []}}
    # Inspect writes NaN for a mean of nothing, in front of the samples.
    path.write_text(json.dumps({**log, "results": {"mean": float("nan")}, "samples": samples}))
    return path


def read(path: Path, **request: Any) -> list[Outcome]:
    return list(Log(path, InspectReader()).read(Request(**request)))


def read_one(tmp_path: Path, request: dict[str, Any] | None = None, **changes: Any) -> Outcome:
    (outcome,) = read(write_log(tmp_path / "log.json", sample(**changes)), **(request or {}))
    return outcome


def test_a_sample(tmp_path: Path) -> None:
    outcome = read_one(tmp_path)
    assert (outcome.task.id, outcome.task.suite, outcome.task.text) == ("q1", "arithmetic", "What is 6 x 7?")
    assert (str(outcome.route), outcome.score, outcome.status) == ("react:gpt-5", 1.0, Status.OK)
    assert (outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens) == (100, None, 7)
    assert (outcome.cost, outcome.seconds) == (None, 12.5)
    assert outcome.when is not None
    assert outcome.when.isoformat() == "2026-02-03T04:05:06+00:00"
    assert (outcome.source, outcome.run, outcome.trial) == ("inspect", "k1", "u1")
    assert (outcome.model_version, outcome.harness_version) == (MODEL, "inspect_ai 0.3.1")
    assert outcome.dataset_version == "sums"


def test_sniff(tmp_path: Path) -> None:
    reader = InspectReader()
    log = write_log(tmp_path / "log.csv", sample())
    assert reader.sniff(log)
    (tmp_path / "log.gz").write_bytes(gzip.compress(log.read_bytes()))
    assert reader.sniff(tmp_path / "log.gz")
    (tmp_path / "other").write_text('{"eval": {"task": "a"}, "version": 2}')
    assert not reader.sniff(tmp_path / "other")
    assert not reader.sniff(tmp_path)


@pytest.mark.parametrize("member", ["header.json", "_journal/start.json"])
def test_sniff_an_archive(tmp_path: Path, member: str) -> None:
    for name, inside in (("log.eval", member), ("photos.zip", "header.png")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(inside, "{}")
    assert InspectReader().sniff(tmp_path / "log.eval")
    assert not InspectReader().sniff(tmp_path / "photos.zip")


def test_an_archive_needs_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("header.json", "{}")
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(MissingExtra, match=r"'\.\[inspect\]"):
        read(tmp_path / "log.eval")


def test_an_archive_with_a_huge_member_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b" " * (64 * 2**20 + 1))
    with pytest.raises(LogError, match=r"header\.json is larger than 64 MiB unpacked"):
        read(tmp_path / "log.eval")


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), (1, 1.0), (0.25, 0.25), (True, 1.0), (False, 0.0),
        ("0.75", 0.75), ("yes", 1.0), ("No", 0.0), ("true", 1.0),
    ],
)  # fmt: skip
def test_grades(tmp_path: Path, value: Any, score: float) -> None:
    outcome = read_one(tmp_path, scores={"match": {"value": value}})
    assert (outcome.score, outcome.status) == (score, Status.OK)


@pytest.mark.parametrize(
    ("changes", "status", "score"),
    [
        ({"error": {"message": "connection refused"}}, Status.INFRA_ERROR, None),
        ({"error": {"message": "m"}, "scores": None}, Status.INFRA_ERROR, None),
        ({"limit": {"type": "token", "limit": 9}, "scores": {"match": {"value": "I"}}}, Status.OK, 0.0),
        ({"limit": {"type": "operator", "limit": 1}}, Status.UNKNOWN, None),
        ({"invalidation": {"reason": "leaked"}}, Status.UNKNOWN, None),
        ({"scores": None}, Status.UNKNOWN, None),
        ({"scores": {}}, Status.UNKNOWN, None),
        ({"scores": {"match": {"value": float("nan")}}}, Status.UNKNOWN, None),
        ({"scores": {"match": {"value": None}}}, Status.UNKNOWN, None),
    ],
)
def test_endings(tmp_path: Path, changes: dict[str, Any], status: Status, score: float | None) -> None:
    outcome = read_one(tmp_path, **changes)
    assert (outcome.status, outcome.score) == (status, score)


def test_epochs_are_trials(tmp_path: Path) -> None:
    epochs = [sample(epoch=n, uuid=None, scores={"match": {"value": "CI"[n - 1]}}) for n in (1, 2)]
    outcomes = read(write_log(tmp_path / "log.json", *epochs))
    assert [(outcome.trial, outcome.score) for outcome in outcomes] == [("1", 1.0), ("2", 0.0)]
    assert len({outcome.key for outcome in outcomes}) == 2


def test_of_several_scorers_the_first_counts_and_it_is_said(tmp_path: Path) -> None:
    notes, scores = Notes(), {"match": {"value": "I"}, "judge": {"value": "C"}}
    assert read_one(tmp_path, {"notes": notes}, scores=scores).score == 0.0
    (remark,) = notes.remarks
    assert "scorers match, judge: match counts" in remark
    assert read_one(tmp_path, {"mapping": {"score": "judge"}}, scores=scores).score == 1.0


def test_the_headline_comes_before_the_first(tmp_path: Path) -> None:
    scores = {"match": {"value": "I"}, "judge": {"value": "C"}}
    notes = Notes()
    log = write_log(tmp_path / "log.json", sample(scores=scores), headline_metric={"scorer": "judge"})
    assert [outcome.score for outcome in read(log, notes=notes)] == [1.0]
    assert not notes.remarks


def test_a_score_of_several_values(tmp_path: Path) -> None:
    scores = {"judge": {"value": {"tone": "C", "facts": "I"}}}
    with pytest.raises(LogError, match=r"several values: tone, facts; choose one with the mapping score=judge\.KEY"):
        read_one(tmp_path, scores=scores)
    assert read_one(tmp_path, {"mapping": {"score": "judge.facts"}}, scores=scores).score == 0.0


def test_a_scorer_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no scorer 'judge'; found match; choose with the mapping score=NAME"):
        read_one(tmp_path, {"mapping": {"score": "judge"}})


@pytest.mark.parametrize(
    ("solver", "steps", "harness", "version"),
    [
        ("react", ["generate"], "react", "inspect_ai 0.3.1"),
        ("inspect_swe/claude_code", [], "claude-code", "inspect_swe 0.2"),
        (None, ["basic_agent"], "basic-agent", "inspect_ai 0.3.1"),
        (None, ["system_message", "generate"], "system-message-generate", "inspect_ai 0.3.1"),
    ],
)
def test_the_solver_is_the_harness(
    tmp_path: Path, solver: str | None, steps: list[str], harness: str, version: str
) -> None:
    packages = {"inspect_ai": "0.3.1", "inspect_swe": "0.2"}
    plan = {"steps": [{"solver": step} for step in steps]}
    (outcome,) = read(write_log(tmp_path / "log.json", sample(), plan=plan, solver=solver, packages=packages))
    assert (outcome.route.harness, outcome.harness_version) == (harness, version)


def test_tokens_of_the_evaluated_model_with_those_of_its_cache(tmp_path: Path) -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_cache_read": 60,
        "input_tokens_cache_write": 5,
        "output_tokens": 7,
        "total_cost": 0.03,
    }
    outcome = read_one(tmp_path, model_usage={MODEL: usage, "openai/grader": {"input_tokens": 9999}})
    assert (outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens) == (165, 60, 7)
    assert outcome.cost == 0.03


@pytest.mark.parametrize("usage", [{}, {"openai/grader": {"input_tokens": 5}}, {MODEL: {"total_cost": 0.0}}])
def test_a_cost_that_is_not_known(tmp_path: Path, usage: dict[str, Any]) -> None:
    outcome = read_one(tmp_path, model_usage=usage)
    assert (outcome.cost, outcome.input_tokens) == (None, None)


def test_a_conversation_as_input(tmp_path: Path) -> None:
    image = {"type": "image", "image": "data:"}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "6 x 7?"}, image]},
    ]
    assert read_one(tmp_path, input=messages).task.text == "Be brief.\n\n6 x 7?"


def test_a_retry_keeps_the_keys_of_what_it_took_over(tmp_path: Path) -> None:
    first = read(write_log(tmp_path / "a.json", sample(), run_id="r1", eval_id="e1"))
    again = read(write_log(tmp_path / "b.json", sample(), run_id="r2", eval_id="e2"))
    assert [outcome.key for outcome in first] == [outcome.key for outcome in again]


def test_a_log_without_ids_is_known_by_its_content(tmp_path: Path) -> None:
    none = {"run_id": None, "task_id": None, "eval_id": None}
    log = write_log(tmp_path / "a.json", sample(), **none)
    (tmp_path / "b.gz").write_bytes(gzip.compress(log.read_bytes()))
    keys = [[outcome.key for outcome in read(path)] for path in (log, tmp_path / "b.gz")]
    assert keys[0] == keys[1]
    assert keys[0][0][2]


def test_no_model_is_asked_for(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.json", sample(), model="none/none")
    with pytest.raises(LogError, match="header: the log does not say the model of 'arithmetic'; give a model"):
        read(log)
    assert [str(outcome.route) for outcome in read(log, model="GPT-5")] == ["react:gpt-5"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"scores": {"match": {"value": 7}}}, r"score 7\.0 is outside 0 to 1"),
        ({"scores": {"match": {"value": float("inf")}}}, "score inf is outside 0 to 1"),
        ({"scores": {"match": {"value": "rather good"}}}, "match 'rather good' is not a number"),
        ({"scores": {"match": {"value": [1, 2]}}}, r"match \[1, 2\] is not a number"),
        ({"scores": [1]}, r"scores \[1\] is not a JSON object"),
        ({"total_time": -1}, r"seconds -1\.0 is not a finite number"),
        ({"total_time": float("nan")}, "seconds nan is not a finite number"),
        ({"model_usage": {MODEL: {"input_tokens": "many"}}}, "input_tokens 'many' is not a number"),
        ({"model_usage": {MODEL: 3}}, "model_usage 3 is not a JSON object"),
        ({"started_at": "dawn"}, "started_at 'dawn' is not an ISO 8601 time"),
        ({"input": 5}, "input 5 is not text"),
        ({"input": "a\0b"}, "input contains a NUL"),
    ],
)
def test_hostile_values(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(LogError, match=rf"log\.json sample 'q1' epoch 1: {reason}"):
        read_one(tmp_path, **changes)


def test_bad_samples_are_all_told_and_the_rest_can_be_read(tmp_path: Path) -> None:
    refusals = Refusals(skip=True)
    log = write_log(tmp_path / "log.json", 5, sample(), sample(id=None, uuid="u2"))
    assert [outcome.task.id for outcome in read(log, refusals=refusals)] == ["q1"]
    assert "sample number 1: the sample 5 is not a JSON object" in refusals.first[0]
    assert "sample None epoch 1: task id is empty" in refusals.first[1]


@pytest.mark.parametrize("spec", [{"packages": 3}, {"dataset": []}, {"solver": {}}, {"task_id": [1]}])
def test_a_hostile_header(tmp_path: Path, spec: dict[str, Any]) -> None:
    with pytest.raises(LogError, match=r"log\.json header: "):
        read(write_log(tmp_path / "log.json", sample(), **spec))


def test_hostile_steps(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="header: steps 7 is not a JSON array"):
        read(write_log(tmp_path / "log.json", sample(), plan={"steps": 7}, solver=None))


def test_a_truncated_log(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.json", sample(), sample(uuid="u2"))
    log.write_text(log.read_text()[:-40])
    with pytest.raises(LogError, match=r"log\.json: is not valid JSON"):
        read(log)
