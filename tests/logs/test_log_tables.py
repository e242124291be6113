"""CSV and JSONL: which columns are read, and what holds for those that are absent."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hmrouter.errors import LogError, UnknownName
from hmrouter.logs import Notes, read_logs
from hmrouter.names import Names
from hmrouter.types import Outcome, Route, Status

HEADER = "task,model,harness,score"


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_four_required_columns_are_enough(tmp_path: Path) -> None:
    log = write(tmp_path / "runs.csv", HEADER, "t1,gpt-5,codex,0.5")
    (outcome,) = read_logs(log)
    assert (outcome.task.id, outcome.task.suite, outcome.task.text) == ("t1", "default", "")
    assert outcome.route == Route("gpt-5", "codex")
    assert (outcome.score, outcome.n_trials, outcome.status, outcome.cost) == (0.5, 1, Status.OK, None)
    assert (outcome.source, outcome.source_is_file, outcome.trial) == ("runs", True, f"{outcome.content}.0")
    assert outcome.run.startswith("content:")


def test_every_field_of_an_outcome_has_a_column(tmp_path: Path) -> None:
    row = {
        "instance_id": 7, "route": "codex:gpt-5", "score": True, "suite": "ours", "text": "Fix\nit", "meta": {"a": [1]},
        "trials": 3, "status": "unknown", "cost_usd": 0.25, "cost_is_route_mean": True, "input_tokens": 10,
        "cached_tokens": 5.0, "output_tokens": "20", "seconds": 1.5, "when": "2026-01-31T12:00:00+01:00",
        "source": "s", "run": "r", "trial": "x", "token_cost": 0.5, "model_version": "2026-01",
        "harness_version": "1.2", "dataset_version": "v2",
    }  # fmt: skip
    (outcome,) = read_logs(write(tmp_path / "runs.jsonl", json.dumps(row)))
    assert outcome == Outcome(
        outcome.task, Route("gpt-5", "codex"), 1.0, n_trials=3, status=Status.UNKNOWN, cost=0.25,
        cost_is_route_mean=True, token_cost=0.5, input_tokens=10, cached_tokens=5, output_tokens=20, seconds=1.5,
        when=datetime(2026, 1, 31, 11, tzinfo=UTC), source="s", run="r", trial="x", model_version="2026-01",
        harness_version="1.2", dataset_version="v2",
    )  # fmt: skip
    assert (outcome.task.key, outcome.task.text, outcome.task.meta) == (("ours", "7"), "Fix\nit", {"a": [1]})


@pytest.mark.parametrize(
    ("header", "row", "route"),
    [
        ("task,score", "t,1", "codex:gpt-5"),
        ("task,score,model", "t,1,o3", "codex:o3"),
        ("task,score,model,harness", "t,1,,aider", "aider:gpt-5"),
        ("task,score,route", "t,1,aider:o3", "aider:o3"),
        ("task,score,Model", "t,1,o3", "codex:o3"),
    ],
)
def test_what_the_table_says_comes_before_what_the_caller_gives(
    tmp_path: Path, header: str, row: str, route: str
) -> None:
    log = write(tmp_path / "a.csv", header, row)
    assert [str(outcome.route) for outcome in read_logs(log, model="GPT-5", harness="Codex")] == [route]


def test_a_mapped_column_comes_before_what_the_caller_gives(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", "task,score,llm", "t,1,o3")
    (outcome,) = read_logs(log, model="gpt-5", harness="codex", mapping={"model": "llm"})
    assert str(outcome.route) == "codex:o3"


def test_names_become_canonical_and_unknown_ones_are_counted_per_row(tmp_path: Path) -> None:
    names = Names()
    log = write(tmp_path / "a.csv", HEADER, "t1,GPT-5,Our Own Agent,1", "t2,openai/gpt-5,our-own-agent,0")
    assert {outcome.route for outcome in read_logs(log, names=names)} == {Route("gpt-5", "our-own-agent")}
    assert names.unknown_harnesses == {"our-own-agent": 2}


@pytest.mark.parametrize(("cell", "score"), [("true", 1.0), ("False", 0.0), ("1", 1.0), (" 0.25 ", 0.25)])
def test_scores_may_be_numbers_or_true_and_false(tmp_path: Path, cell: str, score: float) -> None:
    (outcome,) = read_logs(write(tmp_path / "a.csv", HEADER, f"t,m,h,{cell}"))
    assert outcome.score == score


def test_no_score_is_fine_where_the_machinery_failed(tmp_path: Path) -> None:
    (outcome,) = read_logs(write(tmp_path / "a.csv", HEADER + ",status", "t,m,h,,infra_error"))
    assert (outcome.score, outcome.status) == (None, Status.INFRA_ERROR)


def test_a_text_may_be_known_by_its_hash_alone(tmp_path: Path) -> None:
    found = read_logs(write(tmp_path / "a.csv", HEADER + ",text_hash", "t,m,h,1,abc", "u,m,h,1,"))
    assert [(outcome.task.text, outcome.task.text_hash) for outcome in found] == [("", "abc"), ("", "")]


def test_only_a_row_of_an_export_means_its_empty_cells(tmp_path: Path) -> None:
    header = "task,model,harness,score,suite,source,run,trial,hmrouter_export"
    notes = Notes()
    log = write(tmp_path / "a.csv", header, "t,GPT-5,h,1,,,,,1", "t,GPT-5,h,1,,,,,")
    exported, plain = read_logs(log, notes=notes)
    assert exported.key == ("", "", "", "t", "GPT-5", "h", "")
    assert plain.key == ("default", "a", plain.run, "t", "GPT-5", "h", f"{plain.content}.0")
    assert str(plain.route) == "h:gpt-5"
    assert plain.run.startswith("content:")
    assert notes.ignored_columns == {}
    # Somebody took a column out: it is a table like any other.
    (cut,) = read_logs(write(tmp_path / "a.csv", "task,route,score,hmrouter_export", "t,h:GPT-5,1,1"), notes=notes)
    assert (str(cut.route), cut.source, cut.trial) == ("h:gpt-5", "a", f"{cut.content}.0")
    assert notes.ignored_columns == {str(tmp_path / "a.csv"): {"hmrouter_export"}}


def test_repeated_trials_stay_apart(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", HEADER, "t,m,h,1", "t,m,h,0", "u,m,h,0", "t,m,h,1")
    found = list(read_logs(log))
    assert [outcome.trial.partition(".")[2] for outcome in found] == ["0", "0", "0", "1"]  # among identical rows
    assert len({outcome.key for outcome in found}) == 4


def test_trials_are_counted_within_a_run(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", HEADER + ",run", "t,m,h,1,r1", "t,m,h,0,r2", "t,m,h,0,r1")
    assert [(outcome.run, outcome.trial) for outcome in read_logs(log)] == [("r1", "0"), ("r2", "0"), ("r1", "1")]


def test_the_run_is_the_content_and_not_the_packing(tmp_path: Path) -> None:
    plain = write(tmp_path / "runs.csv", HEADER, "t,m,h,1")
    packed = tmp_path / "runs.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    other = write(tmp_path / "x.csv", HEADER, "u,m,h,1")
    assert [o.key for o in read_logs(plain)] == [o.key for o in read_logs(packed)]
    assert next(read_logs(plain)).run != next(read_logs(other)).run


def test_the_suite_of_a_row_comes_before_the_argument(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", HEADER + ",suite", "t,m,h,1,mine", "t,m,h,1,")
    assert [outcome.task.suite for outcome in read_logs(log, suite="given")] == ["mine", "given"]


def test_a_mapping_names_the_columns(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", "Name,LLM,Agent,Passed,task", "n1,m,h,1,ignored")
    mapping = {"task": "name", "model": "LLM", "harness": "Agent", "score": "passed"}
    (outcome,) = read_logs(log, mapping=mapping)
    assert (outcome.task.id, str(outcome.route), outcome.score) == ("n1", "h:m", 1.0)


def test_a_mapping_of_an_unknown_field_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="field 'taks' is not known; did you mean 'task'"):
        read_logs(tmp_path / "a.csv", mapping={"taks": "a"})


def test_a_mapping_to_an_absent_column_says_what_there_is(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", HEADER, "t,m,h,1")
    with pytest.raises(LogError, match=r"header: no column 'passed' for score.*found task, model, harness, score"):
        list(read_logs(log, mapping={"score": "passed"}))


def test_two_columns_for_one_field_are_not_guessed_between(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", HEADER + ",query_id", "t,m,h,1,q")
    with pytest.raises(LogError, match="columns task and query_id both name the task"):
        list(read_logs(log))
    assert next(read_logs(log, mapping={"task": "query_id"})).task.id == "q"


def test_other_columns_are_ignored_and_noted(tmp_path: Path) -> None:
    notes = Notes()
    log = write(tmp_path / "a.csv", HEADER + ",colour,route", "t,m,h,1,red,x:y")
    assert [str(outcome.route) for outcome in read_logs(log, notes=notes)] == ["h:m"]
    assert notes.ignored_columns == {str(log): {"colour", "route"}}


def test_a_mapped_route_comes_before_model_and_harness(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", HEADER + ",pair", "t,m,h,1,x:y")
    assert [str(outcome.route) for outcome in read_logs(log, mapping={"route": "pair"})] == ["x:y"]


def test_what_is_noted_stays_small(tmp_path: Path) -> None:
    notes = Notes()
    rows = [json.dumps({"task": "t", "route": "h:m", "score": 1, f"key-{i}": 1}) for i in range(2000)]
    assert len(list(read_logs(write(tmp_path / "a.jsonl", *rows), notes=notes))) == 2000
    assert len(notes.ignored_columns[str(tmp_path / "a.jsonl")]) == 100


def test_json_lines_may_differ_in_shape(tmp_path: Path) -> None:
    notes = Notes()
    log = write(
        tmp_path / "a.jsonl",
        '{"task": "t", "model": "m", "harness": "h", "score": 1, "colour": 1}',
        "",
        '{"score": 0, "route": "h:m", "task_id": "u", "shape": 2}',
    )
    assert [(o.task.id, o.score) for o in read_logs(log, notes=notes)] == [("t", 1.0), ("u", 0.0)]
    assert notes.ignored_columns == {str(log): {"colour", "shape"}}


def test_byte_order_mark_windows_line_ends_blank_lines_and_capitals(tmp_path: Path) -> None:
    log = tmp_path / "a.csv"
    log.write_bytes('\ufeffTask, Model,HARNESS,Score,text\r\nt,m,h,1,"ä\r\nb"\r\n\r\nu,m,h,0,c'.encode())
    assert [(o.task.id, o.task.text) for o in read_logs(log)] == [("t", "ä\r\nb"), ("u", "c")]


def test_reading_streams(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", HEADER, "t,m,h,1", "t,m,h,1.7")
    outcomes = read_logs(log)
    assert next(outcomes).score == 1.0
    with pytest.raises(LogError, match=r"a\.csv line 3: score 1\.7 is outside 0 to 1"):
        next(outcomes)
