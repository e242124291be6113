"""The files for whoever runs a batch."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from hmrouter.errors import InputError, OutputError, UsageError
from hmrouter.probe import Suggestion
from hmrouter.probe.handover import as_csv, as_jsonl, harbor_jobs, task_folders, write_all
from hmrouter.types import Route, Task

OPUS, QWEN = Route("claude-opus-4-5", "claude-code"), Route("qwen-3:8b", "codex")


@pytest.fixture
def suggestions() -> list[Suggestion]:
    return [
        Suggestion(Task("fix, it", "our repo"), OPUS, 0.02, 1.5, "route"),
        Suggestion(Task("t2", "our repo"), QWEN, 0.01, None, "unknown"),
        Suggestion(Task("t2", "our repo"), OPUS, 0.01, 1.5, "route"),
    ]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    for name, file in (("fix, it", "task.toml"), ("t2", "instruction.md"), ("notes", "readme.txt")):
        (tmp_path / "tasks" / name).mkdir(parents=True)
        (tmp_path / "tasks" / name / file).write_text("x")
    return tmp_path / "tasks"


def test_csv_and_json_lines_hold_every_run(tmp_path: Path, suggestions: list[Suggestion]) -> None:
    write_all({tmp_path / "a.csv": as_csv(suggestions), tmp_path / "a.jsonl": as_jsonl(suggestions)})
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [r["task"] for r in rows] == ["fix, it", "t2", "t2"] == [line["task"] for line in lines]
    assert [r["cost_usd"] for r in rows] == ["1.5", "", "1.5"]
    assert lines[1] == {
        "rank": 2, "suite": "our repo", "task": "t2", "model": "qwen-3:8b", "harness": "codex", "gain": 0.01,
        "cost_usd": None, "cost_basis": "unknown",
    }  # fmt: skip


def test_one_harbor_job_per_route(tmp_path: Path, tasks: Path, suggestions: list[Suggestion]) -> None:
    folders = task_folders(tasks)
    assert sorted(folders) == ["fix, it", "t2"]
    jobs, homeless = harbor_jobs(tmp_path / "jobs", suggestions, folders)
    assert [re.sub(r"-\w{6}.json", "", f.name) for f in jobs] == [
        "claude-code--claude-opus-4-5", "codex--qwen-3-8b-8139ca",
    ]  # fmt: skip
    assert homeless == []
    write_all(jobs)
    job = json.loads(next(iter(jobs)).read_text())
    assert job["agents"] == [{"name": "claude-code", "model_name": "anthropic/claude-opus-4-5"}]
    assert job["tasks"] == [{"path": str(tasks / name), "source": "our repo"} for name in ("fix, it", "t2")]


def test_tasks_without_a_folder_are_left_out_and_named(
    tmp_path: Path, tasks: Path, suggestions: list[Suggestion]
) -> None:
    folders = {"t2": tasks / "t2"}
    jobs, homeless = harbor_jobs(tmp_path / "jobs", suggestions, folders)
    assert [t.id for t in homeless] == ["fix, it"]
    assert [len(json.loads(content)["tasks"]) for content in jobs.values()] == [1, 1]


@pytest.mark.parametrize(("folders", "words"), [(None, "no folder with tasks was given"), ({}, "none of them has")])
def test_no_task_with_a_folder_is_one_clear_line(
    tmp_path: Path, suggestions: list[Suggestion], folders: dict[str, Path] | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        harbor_jobs(tmp_path / "jobs", suggestions, folders)
    assert not (tmp_path / "jobs").exists()


def test_a_data_set_needs_no_folders(tmp_path: Path, suggestions: list[Suggestion]) -> None:
    jobs, homeless = harbor_jobs(tmp_path / "jobs", suggestions, None, "terminal-bench@2.0")
    job = json.loads(list(jobs.values())[1])
    assert (homeless, "tasks" in job) == ([], False)
    assert job["datasets"] == [{"name": "terminal-bench", "version": "2.0", "task_names": ["t2"]}]


def test_a_data_set_needs_a_name_and_its_tasks_are_no_patterns(suggestions: list[Suggestion]) -> None:
    with pytest.raises(UsageError, match="dataset '@1' is not a data set; write NAME or NAME@VERSION"):
        harbor_jobs(Path("jobs"), suggestions, None, "@1")
    odd = [Suggestion(Task("a[1]*", "s"), OPUS, 0.01, None, "unknown")]
    (content,) = harbor_jobs(Path("jobs"), odd, None, "ds")[0].values()
    assert json.loads(content)["datasets"] == [{"name": "ds", "task_names": ["a[[]1][*]"]}]


def test_pairs_with_names_alike_and_later_batches_have_jobs_of_their_own() -> None:
    def jobs(*cells: tuple[str, str]) -> dict[Path, bytes]:
        own = [Suggestion(Task(task, "s"), Route(model, "codex"), 0.01, None, "unknown") for task, model in cells]
        return harbor_jobs(Path("jobs"), own, None, "ds")[0]

    alike = jobs(("t1", "a:b"), ("t1", "a-b"))
    assert len(alike) == 2
    assert not set(jobs(("t1", "a-b"))) & set(jobs(("t2", "a-b")))
    names = [json.loads(content)["job_name"] for content in (*alike.values(), *jobs(("t2", "a-b")).values())]
    assert len(set(names)) == 3


def test_all_files_are_written_or_none(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nothing was changed"):
        write_all({tmp_path / "a.csv": b"a", tmp_path / "no" / "such" / "b.csv": b"b"})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_tasks_is_no_folder_of_tasks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no Harbor task in .*: a task is a folder in it with task.toml"):
        task_folders(tmp_path)
