"""`hmrouter bench run all`: every experiment on planted data, killed in the middle and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.bench.experiments import every_experiment

COMMAND = Path(sys.executable).with_name("hmrouter")
ROUTES = [(m, h) for m in ("atlas", "birch", "cedar") for h in ("codex", "claude-code", "hermes")]
METHODS = "random,fixed,stuck,description,oracle"
"""`description` is a method of `representations` alone, which would have nothing to do without it."""
STUCK = {"fit": "import os, time; time.sleep(float(os.environ.get('SLEEP', '0')))"}
RUN = ("bench", "run", "all", "--data", "data", "--methods", METHODS, "--jobs", "2", "--quick", "--json")
TIMES = ("fit_seconds", "encode_ms", "score_ms", "embedder_fit_seconds")


@pytest.fixture
def folder(plant: Callable[..., Path], plug_in: Callable[..., Path], tmp_path: Path) -> Path:
    # Texts of their own: benchmarks that share tasks are not other benchmarks for each other.
    for name, what in (("alpha", "repair part"), ("beta", "plan journey")):
        plant(tmp_path / "data" / name, 30, routes=ROUTES, text=lambda i, what=what: f"{what} {i}", trials=2)
    plug_in(tmp_path / "plug", stuck=STUCK)
    return tmp_path


def finished(folder: Path) -> int:
    return len(list((folder / "out" / ".cache").rglob("units/*/*.json")))


def results(folder: Path, out: str = "out") -> list[dict[str, Any]]:
    rows = json.loads((folder / out / "results.json").read_text())
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


def summary(folder: Path, *more: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(folder / "plug"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([COMMAND, *RUN, *more], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def kill_in_the_middle(folder: Path) -> int:
    """Start the run, wait until both workers are in a fit that takes hours, kill it; how many units were finished."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "plug"), "OMP_NUM_THREADS": "1", "SLEEP": "9999"}
    process = subprocess.Popen(
        [COMMAND, *RUN], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    # Each worker stays on a split of one benchmark and begins with `transfer`, which has no plug-ins; then `routing`.
    wanted, deadline = 2 * (1 + 3) + 2 * 2, time.monotonic() + 600
    while finished(folder) < wanted:
        assert process.poll() is None
        assert time.monotonic() < deadline, finished(folder)
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (folder / "out" / "results.json").exists()
    return finished(folder)


@pytest.mark.heavy
def test_everything_killed_and_resumed(folder: Path) -> None:
    before = kill_in_the_middle(folder)
    resumed = summary(folder)
    assert resumed["cached"] == before
    whole = summary(folder, "--out", "other")
    assert (whole["computed"], whole["cached"]) == (resumed["computed"] + before, 0)
    assert results(folder) == results(folder, "other")
    # one file of results, one report, one index, in the order of the paper
    assert list(dict.fromkeys(r["experiment"] for r in results(folder))) == every_experiment()
    index, report = ((folder / "out" / name).read_text() for name in ("index.html", "report.html"))
    for i in range(len(every_experiment())):
        assert f'href="report.html#section-{i}"' in index
        assert f'id="section-{i}"' in report
    # what --quick did less of stands in both, and in the summary
    for reason in ("routing: quick: 2 of 5 splits", "heldout: quick: 1 of 5 splits"):
        assert reason in resumed["left_out"]
        assert reason in index
        assert reason in report
    assert [r for r in resumed["left_out"] if ": quick: " not in r] == []
