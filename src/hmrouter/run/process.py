"""One child process, from its start to the moment when nothing of it is left.

The child reads /dev/null, has a process group and a wall clock of its own, and what it prints goes line by line to the
caller and, with keys masked, to files of limited size. However this ends, by an exception or Ctrl-C too, every process
of the attempt is ended: SIGTERM first, SIGKILL after a grace.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hmrouter.errors import HarnessError
from hmrouter.run.kept_output import KeptOutput
from hmrouter.run.leftovers import AFTER_KILL, MARK, end_all, mark_of
from hmrouter.run.pipes import Pipes

TICK = 0.2
"""Seconds between two looks at clock and caller while the child is silent."""
LAST_WORDS = 2.0
"""Seconds for reading on after the end, where something that cannot be killed still holds a pipe."""


class How(StrEnum):
    """What ended the child."""

    EXITED = "exited"
    SILENT = "silent"
    """It said that it was done, then nothing more, and did not exit."""
    TIMEOUT = "timeout"
    ENOUGH = "enough"
    """The caller had enough of it."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long, how much, and how patiently."""

    seconds: float
    bytes: int = 64 * 2**20
    """Most that is kept of the output; the child goes on."""
    grace: float = 5.0
    """Seconds between SIGTERM and SIGKILL."""
    silence: float = 10.0
    """Seconds without a line after which a child that said it was done is taken to be."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended."""

    how: How
    code: int | None
    """The exit code; negative: the signal that ended it."""
    seconds: float
    clean: bool
    """Whether no process of it is left."""


@dataclass(frozen=True, slots=True)
class Listener:
    """What the caller wants to hear, all of it called in the caller's own thread."""

    line: Callable[[str], None]
    error_line: Callable[[str], None] = lambda text: None
    done: Callable[[], bool] = lambda: False
    """Whether the child has said that it is done."""
    enough: Callable[[float], bool] = lambda seconds: False
    """Asked after every line and several times a second: whether to end the child now."""


def supervise(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    output: Path,
    limits: Limits,
    listener: Listener,
    mask: Callable[[str], str] = str,
    stop: threading.Event | None = None,
) -> Exit:
    """Run a command to its end; its output is kept in the folder `output`.

    >>> from tempfile import TemporaryDirectory
    >>> heard = []
    >>> with TemporaryDirectory() as folder:
    ...     here = Path(folder)
    ...     hear = Listener(heard.append)
    ...     end = supervise(["echo", "hi"], cwd=here, env={}, output=here / "out", limits=Limits(60), listener=hear)
    >>> end.how, end.code, end.clean, heard
    (<How.EXITED: 'exited'>, 0, True, ['hi'])
    """
    mark = mark_of(output)
    started = time.monotonic()
    with KeptOutput(output, limits.bytes, mask) as kept:

        def hear(stream: str, text: str) -> None:
            kept.add(stream, text)
            (listener.line if stream == "stdout" else listener.error_line)(text)

        child = _start(argv, cwd, {**env, MARK: mark})
        with Pipes(child) as pipes:
            try:
                how = _watch(child, pipes, hear, limits, listener, stop, started)
            finally:
                clean = end_all(mark, child.pid, limits.grace)
                code = _exit_code(child)
            last_words = time.monotonic() + LAST_WORDS
            while not pipes.closed and time.monotonic() < last_words:
                pipes.read(TICK, hear)
    return Exit(how, code, time.monotonic() - started, clean)


def _exit_code(child: subprocess.Popen[bytes]) -> int | None:
    """Collect the exit code. Of a dead process with many threads, some may still be on their way out."""
    try:
        return child.wait(AFTER_KILL)
    except subprocess.TimeoutExpired:
        return None


def _start(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument
        reason = getattr(error, "strerror", None) or error
        raise HarnessError(f"cannot start {argv[0]}: {reason}") from error


def _watch(
    child: subprocess.Popen[bytes],
    pipes: Pipes,
    hear: Callable[[str, str], None],
    limits: Limits,
    listener: Listener,
    stop: threading.Event | None,
    started: float,
) -> How:
    """Hear the child until there is a reason to end it."""
    last_heard = started
    while True:
        heard = pipes.read(TICK, hear)
        now = time.monotonic()
        last_heard = now if heard else last_heard
        if pipes.closed or (not heard and child.poll() is not None):  # a grandchild may hold the pipes open
            with suppress(subprocess.TimeoutExpired):  # it closed its output: time to exit by itself, with its own code
                child.wait(max(0.0, min(limits.silence, started + limits.seconds - now)))
            return How.EXITED
        if stop is not None and stop.is_set():
            return How.STOPPED
        if listener.done():
            if now - last_heard > limits.silence or now - started > limits.seconds:
                return How.SILENT
        elif now - started > limits.seconds:
            return How.TIMEOUT
        elif listener.enough(now - started):
            return How.ENOUGH
