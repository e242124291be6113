"""The report on a benchmark directory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.benchmarks.validate import EXAMPLES, Finding, Severity, Validation, validate
from hmrouter.errors import LogError
from hmrouter.logs import read_benchmark

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
CORPUS = SHARED / "corpus"

HEADER = "query_id,model,harness,score,n_trials,cost_usd,cost_is_route_mean"
GRID = (
    "q1,gpt-5,codex,1,1,0.5,true",
    "q1,gpt-5,openhands,0.25,4,0.1,false",
    "q1,o3,codex,0,1,,",
    "q1,o3,openhands,1,1,,",
    "q2,gpt-5,codex,0,0,0.5,true",
    "q2,o3,aider,1,1,,",
)
TASKS = ('{"query_id": "q1", "text": "Fix it", "meta": {}}', '{"query_id": "q2", "text": "Break it"}')


def make(path: Path, rows: tuple[str, ...] = GRID, tasks: tuple[str, ...] = TASKS, header: str = HEADER) -> Path:
    path.mkdir(exist_ok=True)
    (path / "outcomes.csv").write_text("\n".join((header, *rows)) + "\n")
    (path / "queries.jsonl").write_text("\n".join(tasks) + "\n")
    return path


def finding(report: Validation, kind: str) -> Finding:
    return next(finding for finding in report.findings if finding.kind == kind)


def kinds(report: Validation) -> list[str]:
    return [finding.kind for finding in report.findings]


def test_a_clean_directory(tmp_path: Path) -> None:
    report = validate(make(tmp_path / "mine"))
    assert report == Validation(
        path=tmp_path / "mine", tasks=2, routes=5, models=2, harnesses=3, cells=6, rectangles=1,
        cells_with_cost=3, cells_with_route_mean=2, tasks_without_text=0, findings=(),
    )  # fmt: skip
    assert report.ok
    assert (report.density, report.pair_density, report.cost_share, report.route_mean_share) == (0.6, 5 / 6, 0.5, 1 / 3)


def test_scores_that_are_no_scores(tmp_path: Path) -> None:
    bad = (
        "q1,o3,codex,1.7,1,,",
        "q1,o3,codex,-0.1,1,,",
        "q1,o3,codex,good,1,,",
        "q1,o3,codex,,1,,",
        "q1,o3,codex,nan,1,,",
    )
    report = validate(make(tmp_path / "mine", (*bad, GRID[0])))
    assert kinds(report) == ["score", "unused_task", "one_harness"]
    assert not report.ok
    assert (report.cells, report.tasks) == (1, 1)
    scores = finding(report, "score")
    assert (scores.severity, scores.count) == (Severity.ERROR, 5)
    assert scores.examples[0] == "outcomes.csv line 2: score 1.7 is outside 0 to 1"
    assert scores.examples[2] == "outcomes.csv line 4: score 'good' is not a number from 0 to 1"
    assert scores.examples[3].startswith("outcomes.csv line 5: score is missing")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (",o3,codex,1,1,,", "task id is empty"),
        ("q1,,codex,1,1,,", "model is missing"),
        ("q1,o3,,1,1,,", "harness is missing"),
        ("q1,o3,codex,1,many,,", "n_trials 'many' is not a number"),
        ("q1,o3,codex,1,-1,,", "n_trials -1 is negative"),
        ("q1,o3,codex,1,1,-2,", "cost -2.0 is not a finite number"),
        ("q1,o3", "2 cells where the header has 7 columns"),
        ("q1,o3,codex,1,1,,,", "8 cells where the header has 7 columns"),
        ("q1,o3,codex,1,1,1,maybe", "cost_is_route_mean 'maybe' is neither true nor false"),
    ],
)
def test_rows_that_are_no_outcomes(tmp_path: Path, row: str, says: str) -> None:
    report = validate(make(tmp_path / "mine", (row, *GRID, row)))
    assert kinds(report) == ["row"]
    assert finding(report, "row").count == 2
    assert f"outcomes.csv line 2: {says}" in finding(report, "row").examples[0]
    assert finding(report, "row").examples[1].startswith("outcomes.csv line 9: ")
    assert report.cells == 6


def test_duplicates(tmp_path: Path) -> None:
    report = validate(make(tmp_path / "mine", (*GRID, GRID[0], "q1,GPT-5,Codex,0,1,0.5,true")))
    assert report.ok
    duplicates = finding(report, "duplicate")
    assert (duplicates.severity, duplicates.count) == (Severity.WARNING, 2)
    assert duplicates.examples == ("'q1' on 'codex:gpt-5'",) * 2
    assert report.cells == 6


def test_tasks_that_only_one_of_the_files_knows(tmp_path: Path) -> None:
    report = validate(
        make(tmp_path / "mine", (*GRID, "q3,o3,codex,1,1,,"), (*TASKS, '{"query_id": "q9", "text": "?"}'))
    )
    assert report.ok
    assert finding(report, "unknown_task").examples == ("'q3'",)
    assert finding(report, "unused_task").examples == ("'q9'",)
    assert finding(report, "no_text").examples == ("'q3'",)
    assert (report.tasks, report.tasks_without_text) == (3, 1)


def test_missing_texts(tmp_path: Path) -> None:
    report = validate(make(tmp_path / "mine", tasks=('{"query_id": "q1", "text": " "}', '{"query_id": "q2"}')))
    assert report.ok
    assert report.tasks_without_text == finding(report, "no_text").count == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"text": "no id"}', "query_id is missing"),
        ('{"query_id": "q1", "text": "again"}', "query_id 'q1' appears twice"),
        ('{"query_id": "q3", "text": 7}', "text 7 is not text"),
        ('{"query_id": "q3", "meta": []}', "meta [] is not a JSON object"),
        ('{"query_id": ["q3"]}', "query_id ['q3'] is not text"),
        ("[]", "the line is a JSON array, and an object {...} is expected"),
        ("{}}", "the line is not valid JSON: Extra data at character 3"),
    ],
)
def test_lines_that_are_no_tasks(tmp_path: Path, line: str, says: str) -> None:
    report = validate(make(tmp_path / "mine", tasks=(*TASKS, line, line)))
    assert kinds(report) == ["task"]
    assert finding(report, "task").examples == tuple(f"queries.jsonl line {number}: {says}" for number in (3, 4))


def test_one_harness(tmp_path: Path) -> None:
    report = validate(make(tmp_path / "mine", ("q1,gpt-5,codex,1,1,,", "q2,o3,codex,1,1,,")))
    assert report.ok
    assert kinds(report) == ["one_harness"]
    assert finding(report, "one_harness").examples == ("'codex'",)


def test_names(tmp_path: Path) -> None:
    rows = ("q1,GPT-5.4,Codex,1,1,,", "q2,gpt-5-4,Codex,1,1,,", "q1,o3,openhands,1,1,,", "q1,O3,openhands,1,1,,")
    report = validate(make(tmp_path / "mine", rows))
    assert report.ok
    assert kinds(report) == ["duplicate", "same_name", "spelling"]
    assert finding(report, "same_name").examples == (
        "model 'GPT-5.4', 'gpt-5-4' -> 'gpt-5-4'", "model 'O3', 'o3' -> 'o3'",
    )  # fmt: skip
    assert finding(report, "spelling").severity is Severity.NOTE
    assert finding(report, "spelling").examples == (
        "harness 'Codex' -> 'codex'", "model 'GPT-5.4' -> 'gpt-5-4'", "model 'O3' -> 'o3'",
    )  # fmt: skip
    assert (report.models, report.harnesses, report.routes) == (2, 2, 2)


@pytest.mark.parametrize(
    ("content", "says", "cells"),
    [
        ("", "outcomes.csv: is empty", 0),
        (HEADER, "outcomes.csv: holds no outcomes, not a single row", 0),
        (f'{HEADER}\n{GRID[0]}\nq1,"o3', "outcomes.csv line 3: not valid CSV", 1),
        (f"{HEADER}\n{GRID[0]}\nq1,o\x003", "outcomes.csv line 3: NUL byte", 1),
        ("query_id,model,score\nq1,o3,1\nq2,o3,1", "outcomes.csv header: no column for harness", 0),
    ],
)
def test_a_table_that_breaks_off(tmp_path: Path, content: str, says: str, cells: int) -> None:
    (make(tmp_path / "mine") / "outcomes.csv").write_text(content)
    report = validate(tmp_path / "mine")
    assert not report.ok
    assert "unused_task" not in kinds(report)  # q2 may well be in the part that was not read
    assert finding(report, "file").count == 1
    assert finding(report, "file").examples[0].startswith(says)
    assert report.cells == cells


def test_tasks_that_break_off(tmp_path: Path) -> None:
    report = validate(make(tmp_path / "mine", tasks=(TASKS[0], "\0", TASKS[1])))
    assert kinds(report) == ["file", "no_text"]
    assert finding(report, "file").examples[0].startswith("queries.jsonl line 2: NUL byte")


@pytest.mark.parametrize("name", ["outcomes.csv", "queries.jsonl"])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    (make(tmp_path / "mine") / name).unlink()
    report = validate(tmp_path / "mine")
    assert finding(report, "file").examples == (f"{name}: does not exist",)


def test_only_a_path_that_is_no_directory_raises(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="nowhere: is not a directory; a benchmark is one with"):
        validate(tmp_path / "nowhere")


def test_outcomes_that_do_not_count_are_not_counted(tmp_path: Path) -> None:
    header = "query_id,model,harness,score,status"
    rows = ("q1,gpt-5,codex,1,ok", "q1,gpt-5,aider,0,infra_error", "q2,o3,codex,,unknown")
    report = validate(make(tmp_path / "mine", rows, header=header))
    assert (report.tasks, report.routes, report.models, report.harnesses, report.cells) == (1, 1, 1, 1, 1)


def test_the_report_for_people_and_for_machines(tmp_path: Path) -> None:
    report = validate(make(tmp_path / "mine", GRID + GRID))
    assert report.lines() == [
        "mine: 2 tasks, 5 routes of 2 models and 3 harnesses (83.3% of their pairs), 1 2x2 rectangles",
        "6 cells, 60.0% of tasks x routes; cost on 50.0% of the cells (33.3% only as route mean), "
        "text for 2 of 2 tasks",
        "warning: rows with the task, model and harness of an earlier one; they count as trials (6): "
        "'q1' on 'codex:gpt-5'; 'q1' on 'openhands:gpt-5'; 'q1' on 'codex:o3'; 'q1' on 'openhands:o3'; "
        "'q2' on 'codex:gpt-5'; and 1 more",
    ]
    again = json.loads(json.dumps(report.to_dict()))
    assert again["ok"] is True
    assert (again["path"], again["cells"], again["density"]) == (str(tmp_path / "mine"), 6, 0.6)
    assert again["findings"][0]["severity"] == "warning"
    assert (again["findings"][0]["count"], len(again["findings"][0]["examples"])) == (6, EXAMPLES)


CELLS = ("q1", "q2", "", "1", "0.5", "2", "nan", "-1", "true", "codex", "a:b", '"', "x,y", "gpt-5")
row = st.lists(st.sampled_from(CELLS), min_size=7, max_size=7).map(",".join)
fine = st.sampled_from(GRID)
line = st.sampled_from(
    (*TASKS, '{"query_id": ""}', '{"query_id": 3, "meta": "{}"}', '{"query_id": 4, "meta": 1}', "[]")
)


@given(st.lists(fine | row, max_size=4), st.lists(line, max_size=3))
def test_an_error_is_what_the_reader_refuses(rows: list[str], lines: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = make(Path(folder, "mine"), tuple(rows), tuple(lines))
        report = validate(path)
        if report.ok:
            read = list(read_benchmark(path))
            assert report.cells == len({(outcome.task.id, outcome.route) for outcome in read})
        else:
            with pytest.raises(LogError):
                list(read_benchmark(path))


# Tasks, routes, models, harnesses, rectangles, and the percentage of cells with a cost of the named kind, cut to whole.
TABLE = {
    "workspacebench_lite": (100, 27, 7, 4, 108, "none", 0),
    "taubench_airline": (50, 25, 16, 2, 36, "route mean", 100),
    "corebench_hard": (45, 39, 23, 3, 92, "route mean", 92),
    "gaia_hal": (165, 33, 19, 3, 68, "route mean", 96),
    "online_mind2web": (300, 17, 10, 2, 21, "route mean", 100),
    "scicode": (65, 25, 12, 3, 51, "route mean", 100),
    "swebench_verified": (500, 85, 62, 15, 23, "per task", 76),
    "terminalbench_2": (89, 41, 24, 3, 73, "route mean", 73),
    "terminalbench_core": (80, 13, 6, 8, 1, "none", 0),
    "openhands_swebench": (500, 43, 34, 5, 7, "per task", 94),
    "openhands_gaia": (165, 42, 33, 5, 7, "per task", 88),
    "openhands_commit0": (16, 43, 34, 5, 7, "per task", 77),
    "appworld": (585, 14, 4, 4, 21, "route mean", 100),
}
WITHOUT_TEXT = {"gaia_hal", "openhands_gaia", "appworld"}


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no shared data; set HMROUTER_SHARED_DATA to its folder")
@pytest.mark.parametrize("name", TABLE)
def test_the_shared_corpus(name: str) -> None:
    *counts, kind, percent = TABLE[name]
    report = validate(CORPUS / name)
    assert [report.tasks, report.routes, report.models, report.harnesses, report.rectangles] == counts
    share = {
        "none": report.cost_share,
        "route mean": report.route_mean_share,
        "per task": report.cost_share - report.route_mean_share,
    }
    assert int(100 * share[kind]) == percent
    assert report.tasks_without_text == (report.tasks if name in WITHOUT_TEXT else 0)
    assert set(kinds(report)) <= {"no_text", "spelling"}
