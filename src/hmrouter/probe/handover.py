"""Write a batch as files for whoever runs it: CSV, JSON Lines, and Harbor job files."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, OutputError, UsageError
from hmrouter.evidence.dataset import hash_rank
from hmrouter.files import atomic_write, require_writable
from hmrouter.names.models import describe_model
from hmrouter.probe.batch import Suggestion
from hmrouter.types import Route, Task

COLUMNS = ("rank", "suite", "task", "model", "harness", "gain", "cost_usd", "cost_basis")
TASK_FILES = ("task.toml", "instruction.md")
"""Files that mark a folder as a Harbor task; one of them is enough."""


def as_rows(suggestions: Sequence[Suggestion]) -> list[dict[str, Any]]:
    """Return one dictionary per suggested run, best first."""
    return [
        {
            "rank": rank, "suite": s.task.suite, "task": s.task.id, "model": s.route.model, "harness": s.route.harness,
            "gain": s.gain, "cost_usd": s.cost, "cost_basis": s.cost_basis,
        }
        for rank, s in enumerate(suggestions, 1)
    ]  # fmt: skip


def as_csv(suggestions: Sequence[Suggestion]) -> bytes:
    """Return the suggested runs as a CSV file with a header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_rows(suggestions))
    return out.getvalue().encode()


def as_jsonl(suggestions: Sequence[Suggestion]) -> bytes:
    """Return the suggested runs as JSON Lines, one object per run."""
    lines = (json.dumps(row, ensure_ascii=False) for row in as_rows(suggestions))
    return "".join(f"{line}\n" for line in lines).encode()


def task_folders(folder: Path) -> dict[str, Path]:
    """Find the Harbor tasks in a folder; return their folders by name.

    >>> task_folders(Path("no-such-folder"))
    Traceback (most recent call last):
    hmrouter.errors.InputError: cannot read the tasks in no-such-folder: No such file or directory
    """
    try:
        found = sorted(child for child in folder.iterdir() if any((child / name).is_file() for name in TASK_FILES))
    except OSError as e:
        raise InputError(f"cannot read the tasks in {folder}: {e.strerror or e}") from e
    if not found:
        raise InputError(
            f"there is no Harbor task in {folder}: a task is a folder in it with {' or '.join(TASK_FILES)}; name the "
            "folder that holds the tasks, or a file with one id per line"
        )
    return {child.name: child.resolve() for child in found}


def harbor_jobs(
    folder: Path, suggestions: Sequence[Suggestion], tasks: Mapping[str, Path] | None, dataset: str = ""
) -> tuple[dict[Path, bytes], list[Task]]:
    """Make one Harbor job file per route; return them by path, and the tasks that are in none.

    A job cannot hold several routes with tasks of their own: it runs all its tasks on all its agents.

    A task is given by its folder in `tasks`, or by its name in a `dataset` (`name` or `name@version`). Tasks without a
    folder are left out. With folders the suite is written into each job, so that an import finds its way
    back; of a data set's tasks Harbor calls the suite by the data set's name.
    """
    if dataset and not dataset.partition("@")[0].strip():
        raise UsageError("is not a data set; write NAME or NAME@VERSION", argument="dataset", value=dataset)
    known = [s for s in suggestions if dataset or s.task.id in (tasks or {})]
    unknown = list(dict.fromkeys(s.task for s in suggestions if s not in known))
    if suggestions and not known:
        where = "no folder with tasks was given" if tasks is None else "none of them has a folder among those given"
        raise InputError(
            f"there is no Harbor job to write: of {len(suggestions)} suggested runs {where}", hint="harbor_tasks"
        )
    jobs = {}
    for route in dict.fromkeys(s.route for s in known):
        own = [s.task for s in known if s.route == route]
        # Harbor refuses to go on with a job of the same name and other tasks.
        name = f"{_file_name(route)}-{_mark(*(t.id for t in own))}"
        jobs[folder / f"{name}.json"] = f"{json.dumps(_job(name, route, own, tasks, dataset), indent=2)}\n".encode()
    return jobs, unknown


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write these files, each in one step, and none of them if one cannot be written."""
    for folder in dict.fromkeys(path.parent for path in files):
        if folder.parent.is_dir() and not folder.exists():
            try:
                folder.mkdir()
            except OSError as e:
                raise OutputError(f"cannot make the folder {folder}: {e.strerror or e}; choose another") from e
    require_writable(*files)
    for path, content in files.items():
        atomic_write(path, content)


def _job(
    name: str, route: Route, own: Sequence[Task], tasks: Mapping[str, Path] | None, dataset: str
) -> dict[str, Any]:
    vendor = describe_model(route.model).vendor
    job: dict[str, Any] = {
        "job_name": f"probe-{name}",
        "n_attempts": 1,
        "agents": [{"name": route.harness, "model_name": f"{vendor}/{route.model}"}],
    }
    if dataset:
        of, _, version = dataset.partition("@")
        ids = [escape(t.id) for t in own]  # Harbor takes them for patterns
        return job | {"datasets": [{"name": of, "task_names": ids} | ({"version": version} if version else {})]}
    return job | {"tasks": [{"path": str((tasks or {})[t.id]), "source": t.suite} for t in own]}


def _file_name(route: Route) -> str:
    """Turn a route into a file name; where a character had to go, a hash keeps it apart from similar routes.

    >>> _file_name(Route("gpt-5", "codex")), _file_name(Route("qwen-3:8b", "codex"))
    ('codex--gpt-5', 'codex--qwen-3-8b-8139ca')
    """
    plain = [re.sub(r"[^\w.]+", "-", part).strip("-") for part in (route.harness, route.model)]
    mark = "" if plain == [route.harness, route.model] else f"-{_mark(str(route))}"
    return "--".join(plain) + mark


def _mark(*parts: str) -> str:
    return hash_rank(*parts).hex()[:6]
