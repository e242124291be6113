"""Setting up shows one line of progress, and everything where it fails."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]


def one_line(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "one_line.py"), "Setting up", sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_a_command_that_works_is_one_line() -> None:
    done = one_line("for i in range(9): print('Collecting', i)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Setting up ...\n")


def test_a_command_that_fails_says_everything() -> None:
    done = one_line("import sys; print('Collecting a'); print('no such package', file=sys.stderr); sys.exit(3)")
    assert done.returncode == 3
    assert "Collecting a\n" in done.stderr
    assert "no such package\n" in done.stderr


def test_on_a_terminal_the_line_changes() -> None:
    ours, theirs = pty.openpty()
    program = "for i in range(3): print('Collecting', i, flush=True)"
    command = [sys.executable, str(ROOT / "tools" / "one_line.py"), "Setting up", sys.executable, "-c", program]
    with subprocess.Popen(command, stderr=theirs) as process:
        os.close(theirs)
        screen = b""
        with suppress(OSError):  # how a terminal ends
            while part := os.read(ours, 1024):
                screen += part
    os.close(ours)
    assert process.returncode == 0
    assert screen.count(b"\n") == 1
    assert [f"Setting up: {what}".encode() in screen for what in ("Collecting 0", "Collecting 2", "done")] == [True] * 3
