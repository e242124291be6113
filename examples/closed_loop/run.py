"""Run thirty tasks on three nights, and show that what was learned pays."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HMROUTER = Path(sys.executable).with_name("hmrouter")
KINDS = ("parsing", "dates", "money")
TASKS, NIGHTS = 30, 3


def main() -> None:
    """Print what each pair alone solves, and what each night solved."""
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder)
        make_world(world)
        print(f"{'':24} {'solved':>7} {'at first':>9} {'dollars':>8}")
        for kind in KINDS:
            alone = run(world, 1, "--k", "1", "--allow", f"model=good-at-{kind}", name=f"alone-{kind}")
            show(f"good-at-{kind} alone", alone)
        for night in range(1, NIGHTS + 1):
            show(f"night {night}", run(world, night, "--k", "2", name="nights"))


def make_world(world: Path) -> None:
    """Make a repository with thirty broken functions and a test for each, and the tasks of each night."""
    repo = world / "repo"
    rows = []
    for i in range(TASKS):
        kind = KINDS[i % len(KINDS)]
        for path, text in (
            (f"{kind}/f{i}.py", f"def f{i}(n):\n    return None\n"),
            (
                f"tests/test_f{i}.py",
                f"import sys\nsys.path.insert(0, '{kind}')\nfrom f{i} import f{i}\nassert f{i}(3) == 6\n",
            ),
        ):
            (repo / path).parent.mkdir(parents=True, exist_ok=True)
            (repo / path).write_text(text)
        text = f"Mend the function in {kind}/f{i}.py: it doubles its argument"
        rows.append({"id": f"t{i}", "text": text, "family": kind, "verify": f"{sys.executable} tests/test_f{i}.py"})
    random.Random(0).shuffle(rows)
    for night in range(1, NIGHTS + 1):
        (world / f"night-{night}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (world / "harness.toml").write_text(
        f'name = "scripted"\ncommand = [{json.dumps(str(world / "scripted"))}, "{{model}}", "{{prompt}}"]\n'
        '[read]\ndollars = "cost"\nfinished = {type = "result"}\n'
    )
    start = world / "scripted"
    start.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "harness.py"} "$@"\n')
    start.chmod(0o755)
    (world / "pool.toml").write_text(f"routes = {json.dumps([f'scripted:good-at-{kind}' for kind in KINDS])}\n")
    git = ["git", "-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "Thirty broken functions"]):
        subprocess.run([*git, *words], cwd=repo, check=True)


def run(world: Path, night: int, *options: str, name: str) -> dict[str, Any]:
    """Run the tasks of a night and return what `hmrouter run` says of them."""
    done = subprocess.run(
        [
            HMROUTER, "run", "--tasks", world / f"night-{night}.jsonl", "--concurrency", "2", "--no-baseline",
            "--harness", world / "harness.toml", "--pool", world / "pool.toml", "--store", f"sqlite:///{world}/{name}.db",
            "--work", world / "work", "--branch", f"{name}-{night}/", "--json", *options,
        ],
        cwd=world / "repo", env={**os.environ, "NIGHT": str(night)}, capture_output=True, text=True,
    )  # fmt: skip
    if not done.stdout:
        raise SystemExit(done.stderr)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def show(name: str, answer: dict[str, Any]) -> None:
    """Print a row of the table."""
    at_first = sum(task["attempts"][0]["score"] == 1.0 for task in answer["tasks"])
    solved, tasks = answer["solved"], len(answer["tasks"])
    print(f"{name:24} {solved:>3}/{tasks} {at_first:>6}/{tasks} {answer['dollars']:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
