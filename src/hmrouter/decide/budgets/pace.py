"""Pace a day's spending: the cost weight rises when runs cost more than what is left allows.

The weight is `price / target`: `target` is what is left of the money over the tasks that are still expected, `price`
the success that so much money must buy. Each started run moves the price by its cost relative to the target (dual
ascent on the logarithm), so the weight needs no scale and follows prices and evidence that drift.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

STEP = 0.05
"""How far one run that costs twice the target moves the logarithm of the price."""
LOWEST, HIGHEST = 1e-4, 1e4
START = 0.05
FAR = 3.0
"""A single run counts as at most so many targets."""
MEMORY = 0.02
"""Weight of the newest run in how far real costs are from expected ones."""


class Pace:
    """Sets the cost weight of the next task from what is left of the day's money.

    >>> pace = Pace(tasks_per_day=100)
    >>> pace.target(left=50.0, started=50, passed=0.5)
    1.0
    """

    def __init__(self, tasks_per_day: float | None = None) -> None:
        self._given = tasks_per_day
        self._before: float | None = None
        self._price = START
        self._drift = 1.0

    def weight(self, left: float, started: int, passed: float) -> float:
        """Give the cost weight for the next task; 0 where the money is no constraint."""
        return 0.0 if self._price <= LOWEST else self._price / self.target(left, started, passed)

    def target(self, left: float, started: int, passed: float) -> float:
        """Compute the dollars that the next task may cost, from what is left and the share of the day that passed."""
        return max(left, 1e-6) / self._to_come(started, passed)

    def follow(self, expected: float, target: float) -> None:
        """Move the price after a run has started that is expected to cost so much."""
        excess = min(expected * self._drift / target, FAR) - 1.0
        self._price = min(max(self._price * math.exp(STEP * excess), LOWEST), HIGHEST)

    def learn(self, paid: float, expected: float) -> None:
        """Correct expected costs by a common factor, after a run has ended and its cost is known."""
        if expected > 0.0:
            self._drift += MEMORY * (min(paid / expected, FAR) - self._drift)

    def close(self, tasks: int) -> None:
        """End a day with so many tasks; as many are expected of the next one."""
        self._before = float(tasks) or self._before

    def state(self) -> dict[str, Any]:
        """Give settings and learned values as JSON values."""
        return {"tasks_per_day": self._given, "before": self._before, "price": self._price, "drift": self._drift}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Restore the pace that gave this state."""
        self = cls(state["tasks_per_day"])
        self._before, self._price, self._drift = state["before"], float(state["price"]), float(state["drift"])
        return self

    def _to_come(self, started: int, passed: float) -> float:
        """Estimate how many tasks are still to come today, this one included."""
        whole = self._given or self._before
        by_rate = (started + 1) * (1.0 - passed) / max(passed, 1e-3)
        # More came than were expected: then the rate of the day is all there is to go by.
        return max(by_rate if whole is None or started >= whole else whole - started, 1.0)
