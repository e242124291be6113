"""Finding a program and asking it for its version."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

PATIENCE = 60.0
"""Seconds that a program may take to say its version; the first start of some unpacks files."""

_NUMBER = re.compile(r"\d+(?:\.\d+)+(?:[-+.]\w+)*")


def which(program: str, environ: Mapping[str, str]) -> Path | None:
    """Find a program on the path of an environment."""
    found = shutil.which(program, path=environ.get("PATH"))
    return Path(found) if found else None


def version_of(path: Path, environ: Mapping[str, str]) -> str | None:
    """Ask a program for its version: its first dotted number, "" where it says none, None where it does not start.

    An answer is remembered until the file changes: a run of a thousand tasks asks once.
    """
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    home = {name: environ[name] for name in ("PATH", "HOME") if name in environ}
    return _ask(path, changed, tuple(home.items()))


@lru_cache(maxsize=256)
def _ask(path: Path, changed: int, environ: tuple[tuple[str, str], ...]) -> str | None:
    try:
        done = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, env=dict(environ), timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")
    number = _NUMBER.search(said)
    if number:
        return number.group()
    return "" if done.returncode == 0 else None
