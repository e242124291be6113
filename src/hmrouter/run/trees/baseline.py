"""Verify the base once before any money is spent: whether the command is there, and whether it passes already."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from hmrouter.run.trees.checkout import Cancelled
from hmrouter.run.trees.verify import Verdict, Verifier
from hmrouter.run.work_folder import WorkFolder
from hmrouter.types.ids import new_id


@dataclass
class Baselines:
    """Remembers what verifications say of the base, so that tasks with the same command ask once."""

    wanted: bool = True
    passes: Callable[[str], None] = lambda command: None
    """Told a command that passes on the base: an attempt proves nothing by passing it again."""
    _known: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def check(self, verifier: Verifier, base: str, work: WorkFolder, stop: threading.Event) -> None:
        """Verify a base unless that was done; a command that cannot be run is refused."""
        if not self.wanted:
            return
        key = (verifier.command, base)
        with self._lock:  # the others wait for the answer instead of finding it again
            if key in self._known or stop.is_set():
                return
            place = new_id()
            try:
                verdict = verifier.check(base, work.trees / f"{place}-base", work.root / "runs" / place, stop)
            except Cancelled:
                return
            self._known[key] = verdict
        if verdict.passed:
            self.passes(verifier.command)
