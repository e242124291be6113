"""Benchmark directories, one and many."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from hmrouter.errors import LogError, UsageError
from hmrouter.logs import Log, Notes, Refusals, Request, benchmark_directories, read_benchmark, read_logs
from hmrouter.logs.formats.benchmark import BenchmarkReader
from hmrouter.types import Outcome, Route, Task

HEADER = "query_id,model,harness,score,n_trials,cost_usd,cost_is_route_mean"
ROWS = ("q1,gpt-5,Codex,0.5,2,0.25,true", "q1,gpt-5,OpenHands,1,1,,", "q2,gpt-5,Codex,0,0,0.25,true")
QUERIES = ({"query_id": "q1", "text": "Fix it", "meta": {"kind": "full"}}, {"query_id": "q2"}, {"query_id": "unused"})


def benchmark(path: Path, rows: tuple[str, ...] = ROWS, queries: tuple[object, ...] = QUERIES) -> Path:
    path.mkdir(parents=True)
    (path / "outcomes.csv").write_text("\n".join((HEADER, *rows)) + "\n")
    (path / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    return path


def test_a_directory_becomes_outcomes(tmp_path: Path) -> None:
    first, second, third = read_logs(benchmark(tmp_path / "mine"))
    assert first == Outcome(
        Task("q1", "mine", "Fix it"), Route("gpt-5", "codex"), 0.5, n_trials=2, cost=0.25, cost_is_route_mean=True,
        source="mine", run=first.run, trial=f"{first.content}.0",
    )  # fmt: skip
    assert first.task.meta == {"kind": "full"}
    assert (second.route.harness, second.cost, second.cost_is_route_mean) == ("openhands", None, False)
    assert (third.task, third.n_trials) == (Task("q2", "mine"), 0)


def test_the_run_is_the_content_of_both_files(tmp_path: Path) -> None:
    one = benchmark(tmp_path / "a" / "x")
    same = benchmark(tmp_path / "b" / "x")
    other = benchmark(tmp_path / "c" / "x", queries=QUERIES[:2])
    assert [o.key for o in read_benchmark(one)] == [o.key for o in read_benchmark(same)]
    assert next(read_benchmark(one)).run != next(read_benchmark(other)).run


def test_the_name_comes_from_the_directory_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(benchmark(tmp_path / "mine"))
    assert next(read_logs(".")).task.suite == "mine"


def test_a_suite_replaces_the_name_for_tasks_only(tmp_path: Path) -> None:
    outcome = next(read_benchmark(benchmark(tmp_path / "mine"), suite="ours"))
    assert (outcome.task.suite, outcome.source) == ("ours", "mine")


def test_an_unlisted_task_has_no_text_and_is_counted(tmp_path: Path) -> None:
    notes = Notes()
    outcomes = list(read_benchmark(benchmark(tmp_path / "mine", queries=QUERIES[1:]), notes=notes))
    assert [outcome.task.text for outcome in outcomes] == ["", "", ""]
    assert notes.without_query == 2


def test_two_spellings_of_a_route_are_two_trials(tmp_path: Path) -> None:
    rows = ("q1,gpt-5,Codex,1,1,,", "q1,GPT-5,codex,0,1,,")
    outcomes = list(read_benchmark(benchmark(tmp_path / "mine", rows)))
    assert [str(outcome.route) for outcome in outcomes] == ["codex:gpt-5", "codex:gpt-5"]
    assert [outcome.route.spelled for outcome in outcomes] == [("gpt-5", "Codex"), ("GPT-5", "codex")]
    assert len({outcome.key for outcome in outcomes}) == 2


def test_identity_never_comes_from_a_column(tmp_path: Path) -> None:
    path = benchmark(tmp_path / "mine")
    (path / "outcomes.csv").write_text("query_id,route,score,suite,source,run,text\nq1,codex:gpt-5,1,a,b,c,d\n")
    notes = Notes()
    (outcome,) = read_benchmark(path, notes=notes)
    assert (outcome.task.suite, outcome.source, outcome.task.text) == ("mine", "mine", "Fix it")
    assert notes.ignored_columns == {str(path / "outcomes.csv"): {"suite", "source", "run", "text"}}


def test_identity_cannot_be_mapped_either(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="header: text is not read from a column here"):
        list(read_logs(benchmark(tmp_path / "mine"), mapping={"text": "model"}))


def test_a_folder_of_benchmarks_yields_all_by_name(tmp_path: Path) -> None:
    for name in ("b", "a", "half"):
        benchmark(tmp_path / name)
    for name in ("notes", ".cache"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "todo.txt").write_text("nothing of interest")
    notes = Notes()
    outcomes = list(read_logs(tmp_path, notes=notes))
    assert [outcome.source for outcome in outcomes] == ["a"] * 3 + ["b"] * 3 + ["half"] * 3
    assert notes.skipped == [str(tmp_path / "notes" / "todo.txt")]
    assert benchmark_directories(tmp_path) == [tmp_path / "a", tmp_path / "b", tmp_path / "half"]


def test_one_suite_for_several_benchmarks_is_refused(tmp_path: Path) -> None:
    benchmark(tmp_path / "a")
    benchmark(tmp_path / "b")
    with pytest.raises(UsageError, match="one suite 'x' for 2 benchmarks would mix their tasks"):
        list(read_benchmark(tmp_path, suite="x"))
    with pytest.raises(UsageError, match="one suite 'x' for 2 benchmarks would mix their tasks"):
        read_logs(tmp_path, suite="x")
    assert {o.task.suite for o in read_logs(tmp_path / "a", suite="x")} == {"x"}


def test_one_suite_for_an_archive_of_several_benchmarks_is_refused(tmp_path: Path) -> None:
    for name in ("deep/a", "deep/er/b"):
        benchmark(tmp_path / "bench" / name)
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "bench")
    with pytest.raises(UsageError, match="one suite 'x' for 2 benchmarks would mix their tasks"):
        read_logs(tmp_path / "packed.zip", suite="x")
    assert {o.task.suite for o in read_logs(tmp_path / "packed.zip")} == {"a", "b"}


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        ('{"query_id": "q1"}\n{"query_id": "q1"}\n', "line 2: query_id 'q1' appears twice"),
        ('{"query_id": "q1"}\n{"query_id": "q2"\n', "line 2: the line is not valid JSON"),
        ('{"text": "x"}\n', "line 1: query_id is missing"),
        ('{"query_id": "q1", "text": 1}\n', "line 1: text 1 is not text"),
        ('{"query_id": "q1", "meta": []}\n', r"line 1: meta \[\] is not a JSON object"),
        ('"q1"\n', "line 1: the line is a JSON string, and an object"),
        ("", "is empty"),
    ],
)
def test_broken_queries(tmp_path: Path, queries: str, expected: str) -> None:
    path = benchmark(tmp_path / "mine")
    (path / "queries.jsonl").write_text(queries)
    with pytest.raises(LogError, match=rf"mine/queries\.jsonl:? {expected}"):
        list(read_logs(path))


def test_broken_outcomes(tmp_path: Path) -> None:
    path = benchmark(tmp_path / "mine", (*ROWS, "q2,gpt-5,Codex,1.7,1,,"))
    with pytest.raises(LogError, match=r"mine/outcomes\.csv line 5: score 1\.7 is outside 0 to 1"):
        list(read_logs(path))


def test_all_bad_lines_of_both_files_are_told_at_once(tmp_path: Path) -> None:
    path = benchmark(tmp_path / "mine", (*ROWS, "q2,gpt-5,Codex,1.7,1,,"), (*QUERIES, {"query_id": "q1"}, []))
    with pytest.raises(LogError) as caught:
        list(read_logs(path))
    for place in ("queries.jsonl line 4: query_id 'q1' appears twice", "queries.jsonl line 5", "outcomes.csv line 5"):
        assert str(path / place) in str(caught.value)
    request = Request(refusals=Refusals(skip=True))
    assert len(list(Log(path, BenchmarkReader()).read(request))) == 3
    assert request.refusals.count == 3


def test_a_name_that_is_not_unicode_can_still_be_stored(tmp_path: Path) -> None:
    path = benchmark(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")))
    assert {outcome.task.suite for outcome in read_logs(path)} == {"caf\ufffd"}


@pytest.mark.parametrize(
    ("file", "how"),
    [
        ("outcomes.csv", "write a row per execution under the header query_id,model,harness,score"),
        ("queries.jsonl", 'write a line per task, {"query_id": "T-101", "text": "Fix the parser"}'),
    ],
)
def test_half_a_benchmark(tmp_path: Path, file: str, how: str) -> None:
    path = benchmark(tmp_path / "mine")
    (path / file).unlink()
    with pytest.raises(LogError, match=f"mine: no {file} in it; a benchmark directory holds outcomes.csv and") as error:
        list(read_logs(path))
    assert how in str(error.value)


def test_not_a_benchmark(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"neither holds outcomes\.csv and queries\.jsonl nor directories that do"):
        list(read_benchmark(tmp_path))
    with pytest.raises(LogError, match="no known log format recognised; known are benchmark; it holds nothing"):
        list(read_logs(tmp_path, "benchmark"))
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(LogError, match=r"is not a directory; a benchmark is one with outcomes\.csv"):
        list(read_benchmark(tmp_path / "a.csv"))
