"""The goal of a plan: a cost weight, a budget or a target success; and the search for the attempts that serve it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from hmrouter.decide.policy import show_dollars
from hmrouter.errors import NoRoute, UsageError
from hmrouter.plan.search import LEAST_WEIGHT, WIDTH, BestSequence, Level, best, search
from hmrouter.plan.steps import Steps
from hmrouter.state import Floats

MOST_ATTEMPTS = 10
HALVINGS = 24


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a plan: a cost weight, a budget or a target; a target may have a budget beside it, as a condition."""

    cost_weight: float | None = None
    """Lambda: the success that a dollar must buy."""
    budget: float | None = None
    """The most that the whole plan may cost, in expected dollars."""
    target: float | None = None
    """The least success of the plan, which is the cheapest that reaches it."""

    def __post_init__(self) -> None:
        if self.cost_weight is not None and (self.budget is not None or self.target is not None):
            other = "budget" if self.budget is not None else "target"
            raise UsageError(
                f"and a {other} say two different things about cost; give one of them",
                argument="cost_weight",
                value=self.cost_weight,
            )
        for name in ("cost_weight", "budget"):
            value = getattr(self, name)
            if value is not None and not (value >= 0.0 and np.isfinite(value)):
                raise UsageError("is not a finite number of at least 0", argument=name, value=value)
        if self.target is not None and not 0.0 < self.target <= 1.0:
            raise UsageError("is not a success from 0 to 1, such as 0.9", argument="target", value=self.target)

    @property
    def needs_cost(self) -> bool:
        """Whether routes of unknown cost have to be left out."""
        return bool(self.cost_weight) or self.budget is not None or self.target is not None

    def serve(self, steps: Steps, attempts: int = 3, width: int | None = WIDTH) -> BestSequence:
        """Find the sequence of routes to try; raise `NoRoute` where there is none."""
        if not 1 <= attempts <= MOST_ATTEMPTS:
            raise UsageError(f"is not a number from 1 to {MOST_ATTEMPTS}", argument="attempts", value=attempts)
        if self.target is not None:
            return self._reach(steps, attempts, width, self.target)
        if self.budget is not None:
            return self._within(steps, attempts, width, self.budget)
        weight = max(self.cost_weight or 0.0, LEAST_WEIGHT)
        found = best(search(steps, weight, attempts, width), lambda success, cost: success - weight * cost)
        if found is None:
            raise NoRoute("the pool is empty; give at least one route")
        return found

    def _within(self, steps: Steps, attempts: int, width: int | None, budget: float) -> BestSequence:
        """Find the sequence with the most success within the budget."""

        def value(success: Floats, cost: Floats) -> Floats:
            return np.where(cost <= budget * (1.0 + 1e-12), success - LEAST_WEIGHT * cost, -np.inf)

        tried = _weights(steps, attempts, width, lambda f: f.cost <= budget)
        found = [f for levels in tried if (f := best(levels, value))]
        if not found:
            cheapest = float((steps.dollars @ steps.weights).min())
            raise NoRoute(
                f"no attempt costs at most {show_dollars(budget)}; the cheapest costs about {show_dollars(cheapest)}: "
                "raise the budget or widen the pool"
            )
        return max(found, key=lambda f: (round(f.success, 11), -f.cost))

    def _reach(self, steps: Steps, attempts: int, width: int | None, target: float) -> BestSequence:
        """Find the cheapest sequence that reaches the target."""

        def value(success: Floats, cost: Floats) -> Floats:
            return np.where(success >= target - 1e-12, -cost, -np.inf)

        tried = _weights(steps, attempts, width, lambda f: f.success < target)
        found = [f for levels in tried if (f := best(levels, value))]
        if not found:
            most = Goal().serve(steps, attempts, width).success
            raise NoRoute(
                f"no plan of at most {attempts} attempts reaches {_percent(target)}; the best reaches about "
                f"{_percent(most)}: lower the target, allow more attempts or widen the pool"
            )
        cheapest = min(found, key=lambda f: (f.cost, -f.success))
        if self.budget is not None and cheapest.cost > self.budget:
            raise NoRoute(
                f"no plan of at most {attempts} attempts reaches {_percent(target)} within "
                f"{show_dollars(self.budget)}; the cheapest that does costs about {show_dollars(cheapest.cost)}: "
                "change the budget or the target"
            )
        return cheapest


def _weights(
    steps: Steps, attempts: int, width: int | None, frugal: Callable[[BestSequence], bool]
) -> Iterator[list[Level]]:
    """Search at one cost weight after another, closing in on the weight at which the best sequence turns `frugal`.

    The best for a budget or a target need not be the best for any weight; it is looked for among all that were kept.
    """
    levels = search(steps, 0.0, attempts, width)
    yield levels
    if _best_at(0.0, levels, frugal):
        return
    dollars = steps.dollars @ steps.weights
    low, high = 1e-6 / max(float(dollars.max()), 1e-9), 1e3 / max(float(dollars.min()), 1e-9)
    for _ in range(HALVINGS):
        weight = float(np.sqrt(low * high))
        levels = search(steps, weight, attempts, width)
        yield levels
        low, high = (low, weight) if _best_at(weight, levels, frugal) else (weight, high)


def _best_at(weight: float, levels: list[Level], frugal: Callable[[BestSequence], bool]) -> bool:
    found = best(levels, lambda success, cost: success - max(weight, LEAST_WEIGHT) * cost)
    return found is None or frugal(found)


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
