"""Run a command and show what it does in one line that changes; if it fails, show everything it said.

    python tools/one_line.py "Setting up .venv" pip install numpy

Where standard error is no terminal, the line is written once.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run the command after the label; return its exit code."""
    label, *command = arguments
    live = sys.stderr.isatty()
    if not live:
        sys.stderr.write(f"{label} ...\n")
    said = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            said.append(line)
            if live and line.strip():
                room = max(20, shutil.get_terminal_size().columns) - 1
                sys.stderr.write(f"\r\033[K{f'{label}: {line.strip()}'[:room]}")
                sys.stderr.flush()
    if live:
        sys.stderr.write(f"\r\033[K{label}: {'done' if process.returncode == 0 else 'failed'}\n")
    if process.returncode:
        sys.stderr.write("".join(said))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
