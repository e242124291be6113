"""A budget that several attempts share while they run."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

NOTHING = 1e-9
"""Dollars that are none."""
LOOK = 0.2
"""Seconds between two looks at whether the run was stopped."""


@dataclass
class Spending:
    """Counts what attempts spend, and says how much the next one may.

    The limit means "stop after": no attempt starts once it is reached, and a running one is stopped when its harness
    tells that its share is used up. The call that goes over it is paid for.

    >>> spending = Spending(1.0, slots=2)
    >>> spending.start(0.6), spending.start(None)
    (0.6, 0.4)
    >>> spending.end(0.6, 0.1), spending.end(0.4, 0.0), spending.start(None), spending.spent
    (None, None, 0.45, 0.1)
    """

    limit: float | None = None
    spent: float = 0.0
    slots: int = 1
    """How many attempts run at a time: without a cap of its own, each gets its part of what is left."""
    stop: threading.Event = field(default_factory=threading.Event, repr=False)
    _held: list[float] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition, repr=False)

    def start(self, cap: float | None) -> float | None:
        """Hold room for an attempt, which may have a cap; return how much it may spend, None if nothing is left.

        Where all that is left is held by attempts that run, this waits for one of them. Without a limit it is the cap,
        or infinity.
        """
        with self._changed:
            while True:
                if self.limit is None:
                    return float("inf") if cap is None else cap
                left = self.limit - self.spent - sum(self._held)
                if left > NOTHING:
                    share = left / max(1, self.slots - len(self._held)) if cap is None else min(cap, left)
                    self._held.append(share)
                    return share
                if not self._held or self.stop.is_set():
                    return None
                self._changed.wait(LOOK)

    def end(self, held: float, spent: float) -> None:
        """Give back the room that was held and count what was spent."""
        with self._changed:
            if self.limit is not None:
                self._held.remove(held)
            self.spent += spent
            self._changed.notify_all()
