"""The command line in a process that may use 1 GB of memory and a few seconds of a processor, whatever it is given."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

MEMORY = 2**30
"""Bytes of address space: Python, NumPy and pyarrow are in them, too."""
CPU = 30
"""Seconds of the processor; each input here takes one or two, so a slow machine has room. It is no measure of speed:
what this catches grows with the square of its input, and takes minutes."""

_LIMITED = """
import os, resource, sys
memory, cpu, *command = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
resource.setrlimit(resource.RLIMIT_CPU, (int(cpu), int(cpu)))
os.execv(command[0], command)
"""
COMMAND = str(Path(sys.executable).with_name("hmrouter"))


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a command."""

    code: int
    """Negative: the signal that ended it. SIGXCPU (-24) or SIGKILL (-9) by the limit of the processor."""
    out: str
    err: str

    def refused(self) -> str:
        """The one line with which it refused; anything else fails the test."""
        assert self.code == 1, (self.code, self.err[-2000:])
        assert self.err.startswith("error: "), self.err[-2000:]
        assert "Traceback" not in self.err
        assert "please report" not in self.err
        return self.err


Limited = Callable[..., Ended]


@pytest.fixture
def limited(tmp_path: Path) -> Limited:
    """Run `hmrouter` in the test's folder under the limits: `limited("import", "runs.csv")`."""

    def start(*arguments: object, memory: int = MEMORY, cpu: int = CPU, **settings: str) -> Ended:
        command = [sys.executable, "-c", _LIMITED, str(memory), str(cpu), COMMAND, *map(str, arguments)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(tmp_path, **settings), capture_output=True, timeout=600
        )
        return Ended(
            done.returncode, *(stream.decode(errors="backslashreplace") for stream in (done.stdout, done.stderr))
        )

    return start


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """The variables of such a process: one thread, and temporary files in a folder that the test can look into."""
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HMROUTER_")}
    ours = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "200", "TMPDIR": str(scratch)}
    return {**kept, **ours, **settings}
