"""Rank routes by success and cost (Eq. routing_rule, Eq. cost_routing)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from hmrouter.costs import Cost
from hmrouter.decide.ranking import Ranking, best_first, known_dollars, name_ranks
from hmrouter.errors import NoRoute, UsageError
from hmrouter.state import Floats, Ints
from hmrouter.types import Route


@dataclass(frozen=True, slots=True)
class Policy:
    """Ranks routes by success and cost, and says when the incumbent is left.

    >>> cheap, dear = Route("small", "codex"), Route("big", "codex")
    >>> costs = [Cost(0.1, "route"), Cost(2.0, "route")]
    >>> Policy(cost_weight=0.2).rank([cheap, dear], np.array([0.6, 0.8]), costs).order.tolist()
    [0, 1]
    """

    cost_weight: float = 0.0
    """Lambda: how much success one dollar must buy. 0 maximises success."""
    max_cost: float | None = None
    """Hard cap on a route's expected dollars per task."""
    incumbent: Route | None = None
    """The route that is used today; it is left only for a reason."""
    margin: float = 0.02
    """How much better (in value) another route must be for the incumbent to be left."""
    confidence: float = 0.8
    """How probable it must be that the other route is better at all, where the scorer can tell."""
    budget_per_task: float | None = None
    """Dollars that a task may cost on average: the cost weight is then solved on reference tasks."""

    def __post_init__(self) -> None:
        for name in ("cost_weight", "max_cost", "margin", "budget_per_task"):
            value = getattr(self, name)
            if value is None and name in ("max_cost", "budget_per_task"):
                continue
            if value is None or not (value >= 0.0 and np.isfinite(value)):
                raise UsageError("is not a finite number of at least 0", argument=name, value=value)
        if self.cost_weight and self.budget_per_task is not None:
            raise UsageError(
                f"contradicts a budget of {show_dollars(self.budget_per_task)} per task, which is kept by the cost "
                "weight that it asks for; give one of them",
                argument="cost_weight",
                value=self.cost_weight,
            )

    def given(self, **settings: Any) -> Self:
        """Return the policy with the settings of one call; those that are None stay as they are.

        A budget in the call takes the place of the policy's cost weight, and a cost weight that of its budget.

        >>> Policy(cost_weight=0.2).given(budget_per_task=1.5, max_cost=None)
        Policy(cost_weight=0.0, max_cost=None, incumbent=None, margin=0.02, confidence=0.8, budget_per_task=1.5)
        """
        said = {name: value for name, value in settings.items() if value is not None}
        if "budget_per_task" in said:
            said.setdefault("cost_weight", 0.0)
        elif "cost_weight" in said:
            said["budget_per_task"] = None
        return replace(self, **said)

    def rank(
        self, routes: Sequence[Route], success: Floats, costs: Sequence[Cost], cost_weight: float | None = None
    ) -> Ranking:
        """Order the routes by success - cost_weight * cost; ties go to the cheaper, then to the name.

        `cost_weight` takes the place of the policy's own: the one that its budget asks for.
        """
        weight = self.cost_weight if cost_weight is None else cost_weight
        return self.rank_dollars(routes, success, known_dollars(costs), weight, name_ranks(routes))

    def rank_dollars(
        self, routes: Sequence[Route], success: Floats, dollars: Floats, weight: float, names: Ints
    ) -> Ranking:
        """Rank as `rank` does, with dollars (NaN where unknown) and ranks of names that were made before."""
        unknown = np.isnan(dollars)
        needs_cost = weight > 0 or self.max_cost is not None or self.budget_per_task is not None
        too_dear = ~unknown & (dollars > (np.inf if self.max_cost is None else self.max_cost))
        feasible = ~too_dear & ~(unknown if needs_cost else np.zeros_like(unknown))
        excluded = Counter({"over max_cost": int(too_dear.sum())})
        if needs_cost:
            excluded["cost unknown"] = int(unknown.sum())
        if not feasible.any():
            raise self._refusal(routes, dollars)
        value = np.asarray(success, dtype=np.float64) - weight * np.where(unknown, 0.0, dollars)
        order = best_first(value, dollars, names, feasible)
        return Ranking(order, value, {reason: n for reason, n in excluded.items() if n})

    def leaves_incumbent(self, gain: float, probability: float | None) -> bool:
        """Tell whether a gain in value, and the probability that there is one, are reason to leave the incumbent."""
        return gain >= self.margin and (probability is None or probability >= self.confidence)

    def _refusal(self, routes: Sequence[Route], dollars: Floats) -> NoRoute:
        if not len(routes):
            return NoRoute("the pool is empty; give at least one route")
        if np.isnan(dollars).all():
            return NoRoute(
                f"none of the {len(routes)} routes has a known cost, so no cap, cost weight or budget can be applied; "
                "import outcomes with costs, or leave them out"
            )
        cheapest = int(np.nanargmin(dollars))
        return NoRoute(
            f"no route of {len(routes)} costs at most ${self.max_cost:g} per task; the cheapest is "
            f"{routes[cheapest]} at about {show_dollars(dollars[cheapest])}",
            argument="max_cost",
            hint="raise_or_widen",
        )


def show_dollars(value: float) -> str:
    """Write dollars for people: cents, and below a dime two significant digits.

    >>> show_dollars(1234.5), show_dollars(0.0042)
    ('$1234.50', '$0.0042')
    """
    return "$" + (
        f"{value:.2f}" if round(value, 2) >= 0.1 else np.format_float_positional(value, 2, fractional=False, trim="-")
    )
