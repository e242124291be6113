"""Finding and ending every process that belongs to an attempt, also those that left its process group.

Harnesses start shells in process groups of their own. They inherit the environment, though, so each attempt carries a
mark there: the name of its output folder. Where there is no /proc, the process group alone is looked at.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

MARK = "HMROUTER_ATTEMPT"
"""The variable that marks the processes of an attempt."""
STEP = 0.02
"""Seconds between two looks at what is left."""
AFTER_KILL = 10.0
"""Seconds to wait for the kernel to remove what was killed."""

_PROC = Path("/proc")


def mark_of(output: Path) -> str:
    """The value of `MARK` for the attempt with this output folder."""
    return str(output.resolve())


def alive(mark: str, group: int | None = None) -> list[int]:
    """List the processes of an attempt: in its process group, with its mark, and their children."""
    if not _PROC.is_dir():
        return _group_alone(group)
    processes = list(_processes())
    wanted = f"{MARK}={mark}".encode()
    found = {p.pid for p in processes if p.group == group or wanted in _environ(p.pid)}
    grew = bool(found)
    while grew:
        children = {p.pid for p in processes if p.parent in found} - found
        found |= children
        grew = bool(children)
    return sorted(found - {os.getpid()})


def end_all(mark: str, group: int | None = None, grace: float = 5.0) -> bool:
    """End every process of an attempt: SIGTERM, then SIGKILL after `grace` seconds. Says whether none is left."""
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, AFTER_KILL)):
        deadline = time.monotonic() + patience
        told: set[int] = set()
        while left := alive(mark, group):
            for pid in left:
                if pid not in told or number == signal.SIGKILL:  # what was started meanwhile is told, too
                    told.add(pid)
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)
            if time.monotonic() >= deadline:
                break
            time.sleep(STEP)
        else:
            return True
    return False


class _Process(NamedTuple):
    pid: int
    parent: int
    group: int


def _processes() -> Iterator[_Process]:
    """Every process that is not yet dead."""
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:  # it ended between the listing and the look
            continue
        state, parent, group = stat.rpartition(")")[2].split()[:3]  # a program's name may hold spaces and brackets
        if state not in "ZX":
            yield _Process(int(entry.name), int(parent), int(group))


def _environ(pid: int) -> list[bytes]:
    try:
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # another user's, or gone
        return []


def _group_alone(group: int | None) -> list[int]:
    if group is None:
        return []
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return []
    return [-group]  # os.kill of a negative number reaches the group
