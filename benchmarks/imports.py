"""What `import hmrouter` costs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks.ratio import Ratio

PROGRAM = "from time import process_time as t; start = t(); {statement}; print(t() - start)"
ROUNDS = 11


def against_numpy() -> Iterator[Ratio]:
    """The package itself, which loads its names when they are used, and with the name that needs most."""
    package, router = "import hmrouter", "from hmrouter import Router"
    yield Ratio("import_vs_numpy", _to_numpy(package), f"{package} / import numpy")
    yield Ratio("import_router_vs_numpy", _to_numpy(router), f"{router} / import numpy")


def _to_numpy(statement: str) -> float:
    """Fresh processes, one after the other; the first pair compiles what is not compiled yet."""
    pairs = [(_seconds(statement), _seconds("import numpy")) for _ in range(ROUNDS + 1)][1:]
    return median(ours for ours, _ in pairs) / median(numpy for _, numpy in pairs)


def _seconds(statement: str) -> float:
    command = [sys.executable, "-c", PROGRAM.format(statement=statement)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
