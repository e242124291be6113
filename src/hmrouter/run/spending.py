"""A budget that several attempts share while they run."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class Spending:
    """Counts what attempts spend, and says how much the next one may.

    The limit means "stop after": no attempt starts once it is reached, and a running one is stopped when its harness
    tells that its share is used up. The call that goes over it is paid for.

    >>> spending = Spending(1.0)
    >>> spending.start(0.6), spending.start(0.6), spending.start(0.1)
    (0.6, 0.4, None)
    >>> spending.end(0.6, 0.1)
    >>> spending.spent, round(spending.start(0.6), 2)
    (0.1, 0.5)
    """

    limit: float | None = None
    spent: float = 0.0
    _held: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def start(self, wanted: float | None) -> float | None:
        """Hold room for an attempt that may cost so much; return how much it may spend, None if nothing is left.

        Without a limit it is what was wanted, or infinity.
        """
        with self._lock:
            if self.limit is None:
                return float("inf") if wanted is None else wanted
            left = self.limit - self.spent - self._held
            if left <= 1e-9:
                return None
            held = left if wanted is None else min(wanted, left)
            self._held += held
            return held

    def end(self, held: float, spent: float) -> None:
        """Give back the room that was held and count what was spent."""
        with self._lock:
            if self.limit is not None:
                self._held -= held
            self.spent += spent
