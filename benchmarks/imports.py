"""What `import hmrouter` and the start of the command cost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from benchmarks.ratio import Ratio

PROGRAM = "from time import process_time as t; start = t(); {statement}; print(t() - start)"
ROUNDS = 11


def against_numpy() -> Iterator[Ratio]:
    """The package itself, which loads its names when they are used, and with the name that needs most."""
    package, router = "import hmrouter", "from hmrouter import Router"
    yield Ratio("import_vs_numpy", _to_numpy(package), f"{package} / import numpy")
    yield Ratio("import_router_vs_numpy", _to_numpy(router), f"{router} / import numpy")


def against_python() -> Iterator[Ratio]:
    """The command itself, where it has nothing to compute."""
    version, bare = [str(Path(sys.executable).with_name("hmrouter")), "--version"], [sys.executable, "-c", "pass"]
    pairs = [(_of_child(version), _of_child(bare)) for _ in range(ROUNDS + 1)][1:]
    ratio = median(ours for ours, _ in pairs) / median(python for _, python in pairs)
    yield Ratio("version_vs_python", ratio, "hmrouter --version / python -c pass", at_most=8.0)


def _to_numpy(statement: str) -> float:
    """Fresh processes, one after the other; the first pair compiles what is not compiled yet."""
    pairs = [(_seconds(statement), _seconds("import numpy")) for _ in range(ROUNDS + 1)][1:]
    return median(ours for ours, _ in pairs) / median(numpy for _, numpy in pairs)


def _seconds(statement: str) -> float:
    command = [sys.executable, "-c", PROGRAM.format(statement=statement)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _of_child(command: list[str]) -> float:
    """Seconds of a whole process on the processor."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
