"""Memory of a process of its own."""

from __future__ import annotations

import subprocess
import sys

# The peak of this process alone: `getrusage` of a new process can begin with the peak of the one that started it.
_PEAK = """
import resource, sys
from pathlib import Path
status = Path("/proc/self/status")
if status.exists():
    kilobytes = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
else:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "darwin" else 1)
print(kilobytes / 1024)
"""


def peak_mb(program: str) -> float:
    """The peak of a new Python process that runs this program, in MB."""
    done = subprocess.run([sys.executable, "-c", program + _PEAK], check=True, capture_output=True, text=True)
    return float(done.stdout)
