"""examples/closed_loop prints what it says: single pairs, then nights that get better as outcomes come in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "closed_loop" / "run.py"


@pytest.mark.heavy
def test_success_rises_above_the_best_single_pair_as_outcomes_come_in() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = {line[:24].strip(): line[24:].split() for line in done.stdout.splitlines()[1:]}
    first = {name: int(cells[1].partition("/")[0]) for name, cells in rows.items()}
    solved = {name: int(cells[0].partition("/")[0]) for name, cells in rows.items()}
    best = max(n for name, n in solved.items() if name.endswith("alone"))
    assert len(rows) == 6
    assert first["night 3"] > first["night 1"]
    assert first["night 3"] > best  # with one attempt each
    assert solved["night 3"] >= solved["night 1"] > best
