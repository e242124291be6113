"""The files for whoever runs a batch."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from hmrouter.errors import InputError
from hmrouter.probe import Suggestion
from hmrouter.probe.handover import task_folders, write_csv, write_harbor_jobs, write_jsonl
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
    write_csv(tmp_path / "a.csv", suggestions)
    write_jsonl(tmp_path / "a.jsonl", suggestions)
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
    written, homeless = write_harbor_jobs(tmp_path / "jobs", suggestions, folders)
    assert [f.name for f in written] == ["claude-code--claude-opus-4-5.json", "codex--qwen-3-8b.json"]
    assert homeless == []
    job = json.loads(written[0].read_text())
    assert job["agents"] == [{"name": "claude-code", "model_name": "anthropic/claude-opus-4-5"}]
    assert job["tasks"] == [{"path": str(tasks / name), "source": "our repo"} for name in ("fix, it", "t2")]


def test_tasks_without_a_folder_are_left_out_and_named(
    tmp_path: Path, tasks: Path, suggestions: list[Suggestion]
) -> None:
    folders = {"t2": tasks / "t2"}
    written, homeless = write_harbor_jobs(tmp_path / "jobs", suggestions, folders)
    assert [t.id for t in homeless] == ["fix, it"]
    assert [len(json.loads(f.read_text())["tasks"]) for f in written] == [1, 1]


@pytest.mark.parametrize(("folders", "words"), [(None, "no folder with tasks was given"), ({}, "none of them has")])
def test_no_task_with_a_folder_is_one_clear_line(
    tmp_path: Path, suggestions: list[Suggestion], folders: dict[str, Path] | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        write_harbor_jobs(tmp_path / "jobs", suggestions, folders)
    assert not (tmp_path / "jobs").exists()


def test_a_data_set_needs_no_folders(tmp_path: Path, suggestions: list[Suggestion]) -> None:
    written, homeless = write_harbor_jobs(tmp_path / "jobs", suggestions, None, "terminal-bench@2.0")
    job = json.loads(written[1].read_text())
    assert (homeless, "tasks" in job) == ([], False)
    assert job["datasets"] == [{"name": "terminal-bench", "version": "2.0", "task_names": ["t2"]}]
