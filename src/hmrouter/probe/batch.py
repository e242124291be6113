"""What comes out of a probe: the executions to buy next, and what they are for."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from hmrouter.probe.standing import Rate, Worth
from hmrouter.types import Route, Task


class ProbeGoal(StrEnum):
    """What the executions are for."""

    BEST = "best"
    """Which pair is the best."""
    FRONTIER = "frontier"
    """Which pairs are the best at their price."""
    PAIR = "pair"
    """How good certain pairs are, such as those of a new model."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One execution to buy."""

    task: Task
    route: Route
    gain: float
    """What it takes from the standard deviation of what is asked: the lead, or the pair's success rate."""
    cost: float | None
    """Expected dollars, None if nothing is known."""
    cost_basis: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What to run next."""

    goal: ProbeGoal
    suggestions: tuple[Suggestion, ...]
    worth: Worth | None
    """Of the whole batch; None for the goal `pair`, where there is nothing to choose."""
    rates: tuple[Rate, ...] = ()
    """For the goal `pair`: what is known of each pair before the batch."""
    rates_after: tuple[Rate, ...] = ()
    """And how well it will be known after it."""
    notes: tuple[str, ...] = ()
    excluded: dict[str, int] = field(default_factory=dict)

    @property
    def cost(self) -> float | None:
        """Dollars of the whole batch, None where one is not known."""
        known = [s.cost for s in self.suggestions if s.cost is not None]
        return sum(known) if len(known) == len(self.suggestions) else None
