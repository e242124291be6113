"""Plain costs: the mean observed cost of each route (Eq. cost_routing), and an estimate where there is none.

The benchmarks judge by these, as the paper does; the router expects costs by `hmrouter.costs.expected`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from hmrouter.costs.cost import Cost
from hmrouter.costs.estimates import LEAST
from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.means import RouteMeans
from hmrouter.state import State
from hmrouter.types import Outcome, Route, Status


class RouteCosts:
    """Predicts the cost of a route by its mean observed cost.

    An unobserved pair is estimated from its components on the log scale: the model's usual cost times how much
    dearer the harness is than usual. With one component known, that component's usual cost.

    >>> costs = RouteCosts()
    >>> for model, harness, dollars in [("big", "a", 4.0), ("small", "a", 1.0), ("small", "b", 2.0)]:
    ...     costs.add(Route(model, harness), dollars)
    >>> costs.of(Route("small", "b"))[:2]
    (2.0, 'route')
    >>> costs.of(Route("big", "b")).basis
    'model+harness'
    """

    def __init__(self, means: RouteMeans | None = None) -> None:
        self._means = RouteMeans() if means is None else means

    @classmethod
    def fit(cls, data: Dataset) -> Self:
        """Average the cells of each route whose cost is known."""
        return cls(RouteMeans.of(data, "cost"))

    def add(self, route: Route, dollars: float) -> None:
        """Add one more observed cost."""
        self._means.add(route, dollars)

    def observe(self, outcome: Outcome) -> None:
        """Add one more outcome, if its cost is known and its run ended (as in `fit`)."""
        if outcome.status is Status.OK and outcome.cost is not None:
            self.add(outcome.route, outcome.cost)

    def of(self, route: Route) -> Cost:
        """Predict the cost of a route."""
        return self.of_all([route])[0]

    def of_all(self, routes: Sequence[Route]) -> list[Cost]:
        """Predict the costs of many routes."""
        means = self._means.all()
        logs = {route: float(np.log(max(mean, LEAST))) for route, mean in means.items()}
        overall = _mean(logs.values())
        by_model, by_harness = _group(logs, "model"), _group(logs, "harness")
        out = []
        for route in routes:
            m, h = by_model.get(route.model), by_harness.get(route.harness)
            if route in means:
                out.append(Cost(means[route], "route"))
            elif m is not None and h is not None:
                out.append(Cost(float(np.exp(m + h - overall)), "model+harness"))
            elif m is not None:
                out.append(Cost(float(np.exp(m)), "model"))
            elif h is not None:
                out.append(Cost(float(np.exp(h)), "harness"))
            else:
                out.append(Cost(None, "unknown"))
        return out

    def state(self) -> State:
        """Give the means."""
        return self._means.state()

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the costs that gave this state."""
        return cls(RouteMeans.from_state(state))


def _mean(values: Iterable[float]) -> float:
    items = list(values)
    return sum(items) / len(items) if items else 0.0


def _group(logs: dict[Route, float], component: str) -> dict[str, float]:
    groups: dict[str, list[float]] = {}
    for route, value in logs.items():
        groups.setdefault(getattr(route, component), []).append(value)
    return {name: _mean(values) for name, values in groups.items()}
