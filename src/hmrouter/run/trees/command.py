"""Commands that the user gave, run by a shell in a checkout, without any key of a harness."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path

from hmrouter.run.drivers.base import Needs
from hmrouter.run.process import How, Limits, Listener, supervise
from hmrouter.run.secrets import environment_for, masker

NOT_FOUND = (126, 127)
"""Exit codes of a shell for a command that is not there or cannot be executed."""
LONGEST_LINE = 200
"""Characters that are kept of the last line that a failed command printed."""


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended."""

    succeeded: bool
    seconds: float
    note: str = ""
    """What went wrong, in a line; empty where it succeeded."""
    missing: bool = False
    """Whether there is no such command."""
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Shell:
    """How commands are run: for how long, and with what around them."""

    max_seconds: float = 3600.0
    sandbox: tuple[str, ...] = ()
    """A command that theirs is appended to; `{tree}` and `{output}` stand for the folders that they may write to."""
    grace: float = 5.0
    """Seconds between SIGTERM and SIGKILL."""

    def around(self, tree: Path, output: Path) -> tuple[str, ...]:
        """Return the sandbox for commands in a tree."""
        return tuple(word.replace("{tree}", str(tree)).replace("{output}", str(output)) for word in self.sandbox)

    def run(self, command: str, tree: Path, output: Path, stop: threading.Event | None = None) -> CommandEnd:
        """Run a command in a tree to its end; what it prints is kept in the folder `output`."""
        last = [""]

        def hear(line: str) -> None:
            last[0] = line.strip() or last[0]

        end = supervise(
            [*self.around(tree, output), "sh", "-c", command],
            cwd=tree, env=environment_for(Needs(()), os.environ, {}), output=output,
            limits=Limits(self.max_seconds, grace=self.grace), listener=Listener(hear, hear), mask=masker(os.environ),
            stop=stop,
        )  # fmt: skip
        if end.how is How.STOPPED:
            return CommandEnd(False, end.seconds, "cancelled", cancelled=True)
        if end.how is How.TIMEOUT:
            return CommandEnd(False, end.seconds, f"no end after {end.seconds:.0f} seconds")
        said = f": {last[0][:LONGEST_LINE]}" if last[0] else ""
        note = "" if end.code == 0 else f"exit code {end.code}{said}"
        return CommandEnd(end.code == 0, end.seconds, note, end.code in NOT_FOUND)
