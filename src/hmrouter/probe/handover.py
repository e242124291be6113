"""A batch as files for whoever runs it: CSV, JSON Lines, and Harbor job files."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, OutputError
from hmrouter.files import atomic_write
from hmrouter.names.models import describe_model
from hmrouter.probe.batch import Suggestion
from hmrouter.types import Route, Task

COLUMNS = ("rank", "suite", "task", "model", "harness", "gain", "cost_usd", "cost_basis")
TASK_FILES = ("task.toml", "instruction.md")
"""What a Harbor task's folder holds."""


def as_rows(suggestions: Sequence[Suggestion]) -> list[dict[str, Any]]:
    """One dictionary per suggested run, best first."""
    return [
        {
            "rank": rank, "suite": s.task.suite, "task": s.task.id, "model": s.route.model, "harness": s.route.harness,
            "gain": s.gain, "cost_usd": s.cost, "cost_basis": s.cost_basis,
        }
        for rank, s in enumerate(suggestions, 1)
    ]  # fmt: skip


def write_csv(path: Path, suggestions: Sequence[Suggestion]) -> None:
    """A CSV file with a header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_rows(suggestions))
    atomic_write(path, out.getvalue().encode())


def write_jsonl(path: Path, suggestions: Sequence[Suggestion]) -> None:
    """One JSON object per line."""
    lines = (json.dumps(row, ensure_ascii=False) for row in as_rows(suggestions))
    atomic_write(path, "".join(f"{line}\n" for line in lines).encode())


def task_folders(folder: Path) -> dict[str, Path]:
    """The Harbor tasks in a folder, by name.

    >>> task_folders(Path("no-such-folder"))
    Traceback (most recent call last):
    hmrouter.errors.InputError: cannot read the tasks in no-such-folder: No such file or directory
    """
    try:
        found = sorted(child for child in folder.iterdir() if any((child / name).is_file() for name in TASK_FILES))
    except OSError as e:
        raise InputError(f"cannot read the tasks in {folder}: {e.strerror or e}") from e
    return {child.name: child for child in found}


def write_harbor_jobs(
    folder: Path, suggestions: Sequence[Suggestion], tasks: Mapping[str, Path] | None, dataset: str = ""
) -> tuple[list[Path], list[Task]]:
    """One job file per route, as a Harbor job is a product of tasks and agents; and the tasks that are in none.

    A task is given by its folder in `tasks`, or by its name in a `dataset` (`name` or `name@version`). Tasks without a
    folder are left out. The suite is written into each job, so that `hmrouter import jobs` finds its way back.
    """
    known = [s for s in suggestions if dataset or s.task.id in (tasks or {})]
    unknown = list(dict.fromkeys(s.task for s in suggestions if s not in known))
    if suggestions and not known:
        where = "no folder with tasks was given" if tasks is None else "none of them has a folder among those given"
        raise InputError(
            f"there is no Harbor job to write: of {len(suggestions)} suggested runs {where}; name the folder that "
            "holds the tasks with --tasks, or the data set with --dataset NAME@VERSION"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise OutputError(f"cannot make the folder {folder}: {e.strerror or e}; choose another") from e
    written = []
    for route in dict.fromkeys(s.route for s in known):
        own = [s.task for s in known if s.route == route]
        path = folder / f"{_file_name(route)}.json"
        atomic_write(path, f"{json.dumps(_job(route, own, tasks, dataset), indent=2)}\n".encode())
        written.append(path)
    return written, unknown


def _job(route: Route, own: Sequence[Task], tasks: Mapping[str, Path] | None, dataset: str) -> dict[str, Any]:
    vendor = describe_model(route.model).vendor
    name, _, version = dataset.partition("@")
    job: dict[str, Any] = {
        "job_name": f"probe-{_file_name(route)}",
        "n_attempts": 1,
        "agents": [{"name": route.harness, "model_name": f"{vendor}/{route.model}"}],
    }
    if dataset:
        of = {"name": name, "task_names": [t.id for t in own]} | ({"version": version} if version else {})
        return job | {"datasets": [of]}
    return job | {"tasks": [{"path": str((tasks or {})[t.id]), "source": t.suite} for t in own]}


def _file_name(route: Route) -> str:
    """A route as a file's name.

    >>> _file_name(Route("qwen-3:8b", "codex"))
    'codex--qwen-3-8b'
    """
    return "--".join(re.sub(r"[^\w.]+", "-", part).strip("-") for part in (route.harness, route.model))
