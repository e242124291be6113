"""The answer of a probe: the executions to buy next, and what they are for."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from hmrouter.probe.standing import Rate, Worth
from hmrouter.types import Route, Task


class ProbeGoal(StrEnum):
    """The question that the executions shall answer."""

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
    """By how much it lowers the standard deviation of what is asked: the lead, or the pair's success rate."""
    cost: float | None
    """Expected dollars, None if nothing is known."""
    cost_basis: str


@dataclass(frozen=True, slots=True)
class Batch:
    """The executions to buy next, and their worth."""

    goal: ProbeGoal
    suggestions: tuple[Suggestion, ...]
    worth: Worth | None
    """Worth of the whole batch; None for the goal `pair`, where there is nothing to choose."""
    rates: tuple[Rate, ...] = ()
    """For the goal `pair`: the success rate of each pair, as it is known before the batch."""
    rates_after: tuple[Rate, ...] = ()
    """The same rates, as well as they will be known after the batch."""
    notes: tuple[str, ...] = ()
    excluded: dict[str, int] = field(default_factory=dict)

    @property
    def cost(self) -> float | None:
        """Expected dollars of the whole batch, None where the cost of a run is not known."""
        known = [s.cost for s in self.suggestions if s.cost is not None]
        return sum(known) if len(known) == len(self.suggestions) else None
