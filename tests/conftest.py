"""What several tests need: small benchmark directories whose right answers are known, plug-in scorers, and Harbor."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says something about the machine, nothing about the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

HARBOR = "0.24.0"
ROOT = Path(__file__).parents[1]
WORDS = ("parser", "invoice", "museum", "robot", "ticket", "weather", "library", "sensor")
ROUTES = (("atlas", "loop"), ("atlas", "pilot"), ("birch", "loop"), ("birch", "pilot"))
"""(model, harness): two models and two harnesses, all pairs."""

OfCell = Callable[[int, int], float | None]
"""(number of the task, number of the route) -> score or dollars; None: not run, not known."""


def planted_score(i: int, j: int) -> float:
    """Even tasks suit atlas with loop, odd ones birch with pilot; a seventh of all cells is the other way round."""
    return float((j == (0 if i % 2 == 0 else 3)) != ((3 * i + 5 * j) % 7 == 0))


def planted_cost(i: int, j: int) -> float:
    """Atlas is dear, pilot takes half as much again; no two tasks cost the same."""
    return round((1.0 if j < 2 else 0.25) * (1.5 if j % 2 else 1.0) * (1.0 + 0.01 * i), 6)


def planted_text(i: int) -> str:
    """Even tasks speak of repairs, odd ones of offers."""
    what = "repair the failing test of the" if i % 2 == 0 else "find three cheap offers on the page of the"
    return f"Task {i}: {what} {WORDS[i % len(WORDS)]} {'and report ' * (i % 5)}"


def plant_benchmark(
    folder: Path,
    n: int = 20,
    *,
    routes: Sequence[tuple[str, str]] = ROUTES,
    score: OfCell = planted_score,
    cost: OfCell = planted_cost,
    text: Callable[[int], str] = planted_text,
    route_means: bool = False,
    trials: int = 1,
) -> Path:
    """Write a benchmark directory of n tasks, q000 and so on; every cell has so many trials."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "outcomes.csv").open("w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["query_id", "model", "harness", "score", "n_trials", "cost_usd", "cost_is_route_mean"])
        for i in range(n):
            for j, (model, harness) in enumerate(routes):
                value, dollars = score(i, j), cost(i, j)
                if value is not None:
                    known = "" if dollars is None else dollars
                    out.writerow(
                        [f"q{i:03d}", model, harness, value, trials, known, route_means and dollars is not None]
                    )
    with (folder / "queries.jsonl").open("w") as f:
        for i in range(n):
            f.write(json.dumps({"query_id": f"q{i:03d}", "text": text(i), "meta": {}}) + "\n")
    return folder


PLUG_IN = '''"""A scorer for tests: the mean of each route, and what the test adds to it."""
import numpy as np
from hmrouter.scorers.fixed import Fixed

class {name}(Fixed):
    name = "{entry}"

    def fit(self, training):
        super().fit(training)
        {fit}
        return self

    def score(self, x, routes):
        score = super().score(x, routes)
        {score}
        return score
'''


def install_plug_ins(folder: Path, **bodies: Mapping[str, str]) -> Path:
    """Scorers in a folder for PYTHONPATH: `plug_in(folder, raising={"fit": "raise RuntimeError('no')"})`.

    `fit` runs at the end of the fit; `score` may change the variable `score`. Each scorer is a module of its own.
    """
    info = folder / "planted_plug_ins-0.1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted-plug-ins\nVersion: 0.1.0\n")
    entries = ["[hmrouter.scorers]"]
    for entry, body in bodies.items():
        name, module = entry.title().replace("_", ""), f"planted_{entry}"
        source = PLUG_IN.format(name=name, entry=entry, fit=body.get("fit", "pass"), score=body.get("score", "pass"))
        (folder / f"{module}.py").write_text(source)
        entries.append(f"{entry} = {module}:{name}")
    (info / "entry_points.txt").write_text("\n".join(entries) + "\n")
    return folder


@pytest.fixture(scope="session")
def plant() -> Callable[..., Path]:
    """`plant(folder, n, score=..., ...)` writes a benchmark directory."""
    return plant_benchmark


@pytest.fixture(scope="session")
def plug_in() -> Callable[..., Path]:
    """`plug_in(folder, name={...})` installs scorers in a folder."""
    return install_plug_ins


def python_312() -> str:
    """A Python that Harbor runs on: on the path, or one that pyenv keeps off it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    known = [found for name in ("python3.12", "python3.13") if (found := shutil.which(name))]
    for python in [*known, *map(str, sorted(pyenv.glob("3.1[23].*/bin/python")))]:
        # A shim may stand on the path without a Python behind it.
        if subprocess.run([python, "-c", "import ensurepip"], capture_output=True).returncode == 0:
            return python
    pytest.skip("Harbor needs Python 3.12 or 3.13, and there is none on the path or in pyenv")


@pytest.fixture(scope="session")
def harbor() -> Path:
    """Harbor's command line, installed once."""
    folder = ROOT / f".venv-harbor-{HARBOR}"
    command = folder / "bin" / "harbor"
    with Path(tempfile.gettempdir(), f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may want it at once
        if command.exists():
            return command
        subprocess.run([python_312(), "-m", "venv", "--clear", folder], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"harbor=={HARBOR}"], check=True)
    return command
