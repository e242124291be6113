"""Harbor itself reads the job files, in the environment of its own that it has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hmrouter.probe import Suggestion
from hmrouter.probe.handover import harbor_jobs, write_all
from hmrouter.types import Route, Task

PROGRAM = """
import sys
from pathlib import Path
from harbor.models.job.config import JobConfig
for path in sys.argv[1:]:
    job = JobConfig.model_validate_json(Path(path).read_text())
    tasks = [(str(t.path), t.source) for t in job.tasks] or [d.task_names for d in job.datasets]
    print(job.agents[0].name, job.agents[0].model_name, tasks)
"""


@pytest.mark.heavy
def test_harbor_accepts_the_job_files(tmp_path: Path, harbor: Path) -> None:
    suggestions = [Suggestion(Task("t1", "our-repo"), Route("gpt-5", "codex"), 0.01, 0.5, "route")]
    with_folders, _ = harbor_jobs(tmp_path / "a", suggestions, {"t1": tmp_path / "tasks" / "t1"})
    by_name, _ = harbor_jobs(tmp_path / "b", suggestions, None, "terminal-bench@2.0")
    write_all(with_folders | by_name)
    done = subprocess.run(
        [str(harbor.with_name("python")), "-c", PROGRAM, *map(str, with_folders | by_name)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [
        f"codex openai/gpt-5 [('{tmp_path}/tasks/t1', 'our-repo')]",
        "codex openai/gpt-5 [['t1']]",
    ]
