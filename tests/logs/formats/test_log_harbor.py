"""Harbor jobs: what each ending of a trial means, names with gaps, and texts that lie beside the job."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.errors import LogError
from hmrouter.logs.base import Notes, Refusals, Request
from hmrouter.logs.formats.harbor import THE_AGENTS_OWN, HarborReader, _get
from hmrouter.logs.walk import Log
from hmrouter.types import Outcome, Status


def trial(name: str = "sort-list__aB3", **changes: Any) -> dict[str, Any]:
    """The result of a trial that went well, with the keys that are read and some that are not."""
    return {
        "id": "0b0e3a52-5a54-4a8e-9f0a-000000000001",
        "task_name": name.partition("__")[0],
        "trial_name": name,
        "trial_uri": "file:///somewhere/else",
        "task_id": {"path": f"tasks/{name.partition('__')[0]}"},
        "source": None,
        "config": {"agent": {"name": "codex"}, "trials_dir": "jobs/nightly", "job_id": "job-1"},
        "agent_info": {"name": "codex", "version": "0.9.1", "model_info": {"name": "gpt-5", "provider": "openai"}},
        "agent_result": {"n_input_tokens": 900, "n_cache_tokens": 300, "n_output_tokens": 40, "cost_usd": 0.02},
        "verifier_result": {"rewards": {"reward": 1.0}},
        "exception_info": None,
        "started_at": "2026-03-01T10:00:00Z",
        "agent_execution": {"started_at": "2026-03-01T10:00:05Z", "finished_at": "2026-03-01T10:01:35.5Z"},
        "step_results": None,
    } | changes


def raised(kind: str) -> dict[str, str]:
    return {"exception_type": kind, "exception_message": "m", "exception_traceback": "t"}


def write_job(folder: Path, *trials: dict[str, Any], **config: Any) -> Path:
    for result in trials:
        place = folder / str(result["trial_name"])
        place.mkdir(parents=True)
        (place / "result.json").write_text(json.dumps(result))
        (place / "config.json").write_text("{}")
    (folder / "result.json").write_text(json.dumps({"id": "job-1", "n_total_trials": len(trials), "stats": {}}))
    (folder / "config.json").write_text(json.dumps({"job_name": "nightly", **config}))
    return folder


def read(path: Path, **request: Any) -> list[Outcome]:
    return list(Log(path, HarborReader()).read(Request(**request)))


def read_one(tmp_path: Path, request: dict[str, Any] | None = None, **changes: Any) -> Outcome:
    (outcome,) = read(write_job(tmp_path / "jobs" / "nightly", trial(**changes)), **(request or {}))
    return outcome


def test_a_trial(tmp_path: Path) -> None:
    (tmp_path / "tasks" / "sort-list").mkdir(parents=True)
    (tmp_path / "tasks" / "sort-list" / "instruction.md").write_text("Sort the list.\n")
    outcome = read_one(tmp_path)
    assert (outcome.task.id, outcome.task.suite, outcome.task.text) == ("sort-list", "default", "Sort the list.\n")
    assert (str(outcome.route), outcome.score, outcome.status, outcome.cost) == ("codex:gpt-5", 1.0, Status.OK, 0.02)
    assert (outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens) == (900, 300, 40)
    assert outcome.seconds == 90.5
    assert outcome.when is not None
    assert outcome.when.isoformat() == "2026-03-01T10:00:00+00:00"
    assert (outcome.source, outcome.run, outcome.trial) == ("harbor", "job-1", "sort-list__aB3")
    assert (outcome.harness_version, outcome.model_version, outcome.dataset_version) == ("0.9.1", "", "")


def test_sniff(tmp_path: Path) -> None:
    job = write_job(tmp_path / "jobs" / "nightly", trial(), trial("b__1"))
    reader = HarborReader()
    assert reader.sniff(job)
    assert reader.sniff(job / "b__1")
    assert reader.sniff(job / "b__1" / "result.json")
    for other in (tmp_path, tmp_path / "jobs", job / "result.json", job / "config.json"):
        assert not reader.sniff(other), other


def test_sniff_looks_past_an_unreadable_trial(tmp_path: Path) -> None:
    job = write_job(tmp_path / "job", trial("a__1"), trial("b__1"))
    (job / "a__1" / "result.json").write_bytes(b"\x1f\x8b broken gzip")
    assert HarborReader().sniff(job)
    with pytest.raises(LogError, match="trial a__1: the gzip data is"):
        read(job)
    assert [outcome.trial for outcome in read(job, refusals=Refusals(skip=True))] == ["b__1"]


def test_keys_do_not_depend_on_the_place(tmp_path: Path) -> None:
    job = write_job(tmp_path / "jobs" / "nightly", trial(), trial("b__1"))
    keys = [outcome.key for outcome in read(job)]
    assert [outcome.key for outcome in read(shutil.copytree(job, tmp_path / "copied"))] == keys
    assert [outcome.key for name in ("b__1", "sort-list__aB3") for outcome in read(job / name)] == keys


def test_a_job_without_an_id_is_known_by_its_name(tmp_path: Path) -> None:
    assert read_one(tmp_path, config={"trials_dir": "/machine/jobs/nightly", "job_id": None}).run == "nightly"


@pytest.mark.parametrize(
    ("changes", "status", "score"),
    [
        ({"verifier_result": {"rewards": {"reward": 0.0}}}, Status.OK, 0.0),
        ({"verifier_result": {"rewards": {"reward": 0.25}}}, Status.OK, 0.25),
        ({"verifier_result": {"rewards": {"accuracy": 1}}}, Status.OK, 1.0),
        ({"verifier_result": None}, Status.UNKNOWN, None),
        ({"verifier_result": {"rewards": None}}, Status.UNKNOWN, None),
        ({"exception_info": raised("RuntimeError"), "verifier_result": None}, Status.INFRA_ERROR, None),
        ({"exception_info": raised("UnknownApiError")}, Status.INFRA_ERROR, None),
        ({"exception_info": raised("VerifierTimeoutError"), "verifier_result": None}, Status.INFRA_ERROR, None),
        ({"exception_info": raised("AgentTimeoutError"), "verifier_result": None}, Status.UNKNOWN, None),
        ({"agent_result": {"metadata": {"api_request_times_msec": []}}}, Status.INFRA_ERROR, None),
        ({"agent_result": {"metadata": {"api_request_times_msec": [3.0]}}}, Status.OK, 1.0),
    ],
)
def test_endings(tmp_path: Path, changes: dict[str, Any], status: Status, score: float | None) -> None:
    outcome = read_one(tmp_path, **changes)
    assert (outcome.status, outcome.score) == (status, score)


@pytest.mark.parametrize("kind", THE_AGENTS_OWN)
def test_a_route_that_ends_by_itself_failed(tmp_path: Path, kind: str) -> None:
    rewards = {"rewards": {"reward": 0}}
    outcome = read_one(tmp_path, exception_info=raised(kind), verifier_result=rewards)
    assert (outcome.status, outcome.score) == (Status.OK, 0.0)


def test_keys_with_a_blanked_out_secret(tmp_path: Path) -> None:
    whole = trial(exception_info=raised("UnknownApiError"), verifier_result={"rewards": {"reward": 0.0}})
    whole["agent_info"]["name"] = "claude-code"
    job = write_job(tmp_path / "job", whole)
    file = job / "sort-list__aB3" / "result.json"
    file.write_text(file.read_text().replace("x", "[REDACTED]"))
    assert "e[REDACTED]ception_info" in file.read_text()
    assert HarborReader().sniff(job)
    (outcome,) = read(job)
    assert (outcome.status, outcome.score, str(outcome.route)) == (Status.INFRA_ERROR, None, "claude-code:gpt-5")


@given(st.sampled_from(sorted(trial())), st.data())
def test_any_secret_leaves_its_key_readable(key: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(key) - 1))
    secret = key[start : data.draw(st.integers(start + 1, len(key)))]
    assert _get({key.replace(secret, "[REDACTED]"): 1}, key) == 1
    assert _get({key.replace(secret, "[REDACTED]") + "s": 1}, f"{key}t") is None


def test_an_exception_with_a_gap_is_still_the_agents_own(tmp_path: Path) -> None:
    outcome = read_one(tmp_path, exception_info=raised("Conte[REDACTED]tWindowE[REDACTED]ceededError"))
    assert outcome.status is Status.OK


def test_a_name_with_a_gap_is_asked_for(tmp_path: Path) -> None:
    gap: dict[str, Any] = {
        "agent_info": {"name": "code[REDACTED]", "model_info": {"name": "gpt-5"}},
        "config": {"job_id": "j"},
    }
    with pytest.raises(LogError, match="does not say the harness of 'sort-list__aB3'; give a model and a harness"):
        read_one(tmp_path, **gap)
    (outcome,) = read(tmp_path / "jobs" / "nightly", harness="Codex")
    assert str(outcome.route) == "codex:gpt-5"


def test_agents_without_a_model_are_no_routes(tmp_path: Path) -> None:
    notes = Notes()
    agents = [trial(f"t__{name}", agent_info={"name": name, "model_info": None}) for name in ("oracle", "nop")]
    assert [o.trial for o in read(write_job(tmp_path / "job", *agents, trial()), notes=notes)] == ["sort-list__aB3"]
    assert notes.remarks["Harbor trials of oracle and nop, which run no model, left out"] == 2


def test_an_agent_of_ones_own_is_known_by_its_class(tmp_path: Path) -> None:
    outcome = read_one(
        tmp_path,
        agent_info={"name": None, "model_info": {"name": "gpt-5"}},
        config={"agent": {"name": None, "import_path": "my_agents:Careful"}, "job_id": "j"},
    )
    assert outcome.route.harness == "careful"


def test_a_router_says_which_route_it_chose(tmp_path: Path) -> None:
    chosen = {"harness": "claude-code", "harness_version": "2.1", "model": "anthropic/claude-opus-4-5"}
    outcome = read_one(
        tmp_path,
        agent_info={"name": "hm-router", "version": "0.1", "model_info": None},
        agent_result={"cost_usd": 0.1, "metadata": {"hm_router": chosen}},
    )
    assert str(outcome.route) == "claude-code:claude-opus-4-5"
    assert (outcome.harness_version, outcome.model_version) == ("2.1", "anthropic/claude-opus-4-5")


def test_the_only_model_that_was_used_is_the_model(tmp_path: Path) -> None:
    info = {"name": "codex", "version": "unknown", "model_info": None}
    outcome = read_one(tmp_path, agent_info=info, agent_result={"model_usage": {"openai/gpt-5": {}, "<synthetic>": {}}})
    assert (str(outcome.route), outcome.harness_version) == ("codex:gpt-5", "")


def test_two_models_are_asked_about(tmp_path: Path) -> None:
    info = {"name": "codex", "version": "1", "model_info": None}
    with pytest.raises(LogError, match="does not say the model"):
        read_one(tmp_path, agent_info=info, agent_result={"model_usage": {"gpt-5": {}, "gpt-5-mini": {}}})


def test_zero_means_not_counted(tmp_path: Path) -> None:
    result = {"n_input_tokens": 0, "n_cache_tokens": 0, "n_output_tokens": 0, "cost_usd": 0.0}
    outcome = read_one(tmp_path, agent_result=result)
    assert (outcome.cost, outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens) == (None,) * 4


def test_a_cost_of_zero_with_tokens_is_unknown(tmp_path: Path) -> None:
    outcome = read_one(tmp_path, agent_result={"n_input_tokens": 5, "n_output_tokens": 0, "cost_usd": 0.0})
    assert (outcome.cost, outcome.input_tokens, outcome.output_tokens) == (None, 5, 0)


def test_steps_are_added_up(tmp_path: Path) -> None:
    def step(second: int, cost: float | None) -> dict[str, Any]:
        span = {"started_at": "2026-03-01T10:00:00Z", "finished_at": f"2026-03-01T10:00:{second:02}Z"}
        return {"agent_result": {"n_input_tokens": 10, "cost_usd": cost}, "agent_execution": span}

    steps = [step(20, 0.5), step(10, None)]
    outcome = read_one(tmp_path, agent_result=None, agent_execution=None, step_results=steps)
    assert (outcome.cost, outcome.input_tokens, outcome.seconds) == (0.5, 20, 30.0)


def test_a_step_that_the_machinery_broke(tmp_path: Path) -> None:
    outcome = read_one(tmp_path, step_results=[{"exception_info": raised("ApiOverloadedError")}])
    assert outcome.status is Status.INFRA_ERROR


def test_several_rewards(tmp_path: Path) -> None:
    rewards = {"rewards": {"style": 0.5, "tests": 1.0}}
    with pytest.raises(LogError, match="no reward 'reward'; found style, tests; choose with the mapping score=NAME"):
        read_one(tmp_path, verifier_result=rewards)
    (outcome,) = read(tmp_path / "jobs" / "nightly", mapping={"score": "style"})
    assert outcome.score == 0.5


def test_the_data_set_and_its_version(tmp_path: Path) -> None:
    job = write_job(tmp_path / "job", trial(source="bench"), datasets=[{"name": "bench", "version": "2.0"}])
    (outcome,) = read(job, suite="ignored, because the log names one")
    assert (outcome.task.suite, outcome.dataset_version) == ("bench", "2.0")


def test_a_task_from_a_repository_has_its_commit(tmp_path: Path) -> None:
    outcome = read_one(tmp_path, task_id={"git_url": "https://x.test/r", "git_commit_id": "abc123", "path": "t"})
    assert outcome.dataset_version == "abc123"


def test_the_users_suite_where_the_log_names_none(tmp_path: Path) -> None:
    assert read_one(tmp_path, {"suite": "ours"}).task.suite == "ours"


@pytest.mark.parametrize("where", ["../../../outside", "{tmp}/outside", "link"])
def test_a_path_out_of_the_surroundings_is_not_followed(tmp_path: Path, where: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "instruction.md").write_text("secret")
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "link").symlink_to(tmp_path / "outside")
    notes = Notes()
    outcome = read_one(tmp_path / "in" / "deep", {"notes": notes}, task_id={"path": where.format(tmp=tmp_path)})
    assert outcome.task.text == ""
    assert sum(notes.remarks.values()) == 1


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\0b", b"x" * (2**20 + 1)], ids=["not UTF-8", "NUL", "too long"])
def test_an_instruction_that_is_no_text(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tasks" / "sort-list").mkdir(parents=True)
    (tmp_path / "tasks" / "sort-list" / "instruction.md").write_bytes(content)
    assert read_one(tmp_path).task.text == ""


def test_a_trial_that_is_not_finished(tmp_path: Path) -> None:
    job = write_job(tmp_path / "job", trial(), trial("running__1"))
    (job / "running__1" / "result.json").unlink()
    notes = Notes()
    assert len(read(job, notes=notes)) == 1
    assert notes.remarks["Harbor trials without result.json, still running or killed, left out"] == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task_name": None}, "task_name is missing"),
        ({"agent_info": 7}, "agent_info 7 is not a JSON object"),
        ({"agent_result": {"cost_usd": -1}}, "cost -1.0 is not a finite number"),
        ({"agent_result": {"cost_usd": float("nan")}}, "cost nan is not a finite number"),
        ({"agent_result": {"n_input_tokens": 10**30}}, "n_input_tokens 1000.* is larger than"),
        ({"agent_result": {"n_input_tokens": 1.5}}, "n_input_tokens 1.5 is not a whole number"),
        ({"verifier_result": {"rewards": {"reward": 7}}}, "score 7.0 is outside 0 to 1"),
        ({"verifier_result": {"rewards": {"reward": "good"}}}, "reward 'good' is not a number"),
        ({"started_at": "yesterday"}, "started_at 'yesterday' is not an ISO 8601 time"),
        ({"step_results": 3}, "step_results 3 is not a JSON array"),
        ({"task_id": {"path": "a\0b"}}, "path contains a NUL"),
    ],
)
def test_hostile_values(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(LogError, match=rf"nightly trial sort-list__aB3: {reason}"):
        read_one(tmp_path, **changes)


def test_all_bad_trials_are_told_and_the_rest_can_be_read(tmp_path: Path) -> None:
    job = write_job(tmp_path / "job", trial("a__1", task_name=None), trial("b__1"), trial("c__1", agent_info=[]))
    refusals = Refusals(skip=True)
    assert [outcome.trial for outcome in read(job, refusals=refusals)] == ["b__1"]
    assert refusals.count == 2


def test_a_folder_that_is_no_job(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="holds no trial"):
        read(tmp_path)
