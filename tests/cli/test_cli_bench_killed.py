"""A benchmark run that is killed, interrupted, or whose code or data changes: what is finished is kept, and true."""

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

COMMAND = Path(sys.executable).with_name("hmrouter")
Cli = Callable[..., Any]
Plant = Callable[..., Path]
PlugIn = Callable[..., Path]

METHODS = "random,fixed,knn,component_average,slow,oracle"
SLOW = {"fit": "import os, time; time.sleep(float(os.environ.get('SLEEP', '0')))"}
RUN = ("bench", "run", "routing", "cost", "--data", "data", "--methods", METHODS, "--jobs", "2", "--splits", "2")
UNITS = 2 * 2 * 2 * 6


@pytest.fixture
def folder(plant: Plant, plug_in: PlugIn, tmp_path: Path) -> Path:
    for name, n in (("alpha", 12), ("beta", 16)):
        plant(tmp_path / "data" / name, n)
    plug_in(tmp_path / "plug", slow=SLOW)
    return tmp_path


def begin(folder: Path) -> subprocess.Popen[str]:
    """Start a run in a process group of its own and wait until both workers are in a fit that takes hours."""
    process = subprocess.Popen(
        [COMMAND, *RUN], cwd=folder, text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(folder / "plug"), "OMP_NUM_THREADS": "1", "SLEEP": "9999"},
        # Tests that run in the background of a shell inherit deafness to Ctrl-C, and would hand it on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 600
    while len(finished(folder)) < 8:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def finished(folder: Path) -> list[Path]:
    return list((folder / "out" / ".cache").rglob("units/*/*.json"))


def group_is_gone(group: int) -> bool:
    """Whether no process of the group is left, at the latest after ten minutes."""
    for _ in range(12_000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    return False


def results(folder: Path, out: str = "out") -> list[dict[str, Any]]:
    rows = json.loads((folder / out / "results.json").read_text())
    return [{k: v for k, v in row.items() if k != "fit_seconds"} for row in rows]


def summary(cli: Cli, folder: Path, *more: str) -> dict[str, Any]:
    done = cli(*RUN, "--json", *more, env={"PYTHONPATH": str(folder / "plug")})
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["left_out"] == []
    return document


def test_kill_9_in_the_middle(folder: Path, cli: Cli) -> None:
    process = begin(folder)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert group_is_gone(process.pid)  # the workers saw it
    process.communicate()
    assert not (folder / "out" / "results.json").exists()
    resumed = summary(cli, folder)
    assert (resumed["computed"], resumed["cached"]) == (UNITS - 8, 8)
    whole = summary(cli, folder, "--out", "other")
    assert (whole["computed"], whole["cached"]) == (UNITS, 0)
    assert results(folder) == results(folder, "other")
    assert summary(cli, folder)["computed"] == 0


@pytest.mark.parametrize("to", [pytest.param("the command", marks=pytest.mark.heavy), "its whole group"])
def test_ctrl_c_in_the_middle(folder: Path, cli: Cli, to: str) -> None:
    process = begin(folder)
    # at a terminal, Ctrl-C goes to the workers too
    (os.kill if to == "the command" else os.killpg)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode not in (0, None)
    assert out == ""
    assert "Traceback" not in err
    assert "are kept, the same command goes on from there" in err
    assert group_is_gone(process.pid)
    assert len(finished(folder)) == 8
    assert summary(cli, folder)["cached"] == 8


@pytest.mark.heavy
def test_a_changed_method_reruns_itself_alone(folder: Path, cli: Cli, plug_in: PlugIn) -> None:
    assert summary(cli, folder)["computed"] == UNITS
    before = results(folder)
    plug_in(folder / "plug", slow=SLOW | {"score": "score = -score"})
    changed = summary(cli, folder)
    assert (changed["computed"], changed["cached"]) == (8, UNITS - 8)
    after = results(folder)
    assert [r for r in after if r["method"] != "slow"] == [r for r in before if r["method"] != "slow"]
    assert [r for r in after if r["method"] == "slow"] != [r for r in before if r["method"] == "slow"]
    plug_in(folder / "plug", slow=SLOW)
    assert summary(cli, folder)["cached"] == UNITS  # and back again
    assert results(folder) == before
    source = folder / "plug" / "planted_slow.py"
    source.write_text(source.read_text() + "\n# a comment changes nothing\n")
    assert summary(cli, folder)["cached"] == UNITS
