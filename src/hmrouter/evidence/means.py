"""Running means per route, of scores or of costs; what has faded counts less."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from hmrouter.evidence.dataset import Dataset
from hmrouter.state import Array, Floats, State
from hmrouter.types import Route


class RouteMeans:
    """Sum and number of the values seen for each route; a faded value is less than one.

    >>> means = RouteMeans()
    >>> means.add(Route("gpt-5", "codex"), 1.0)
    >>> means.add(Route("gpt-5", "aider"), 0.0)
    >>> means.by(lambda r: r.model)
    {'gpt-5': 0.5}
    """

    def __init__(self) -> None:
        self._sums: dict[Route, tuple[float, float]] = {}

    @classmethod
    def of(cls, data: Dataset, field: str = "score") -> Self:
        """Average a training set's cells where the field is known; a cell counts once, whatever its trials."""
        return cls.of_cells(data.routes, data.cells.route, getattr(data.cells, field), data.cells.faded)

    @classmethod
    def of_cells(cls, routes: Sequence[Route], route: Array, values: Floats, fade: Floats | None = None) -> Self:
        """Take the means of cells given by the place of their route and a value, NaN if unknown; `fade` weighs them."""
        self = cls()
        known = ~np.isnan(values)
        left = None if fade is None else fade[known]
        n = np.bincount(route[known], weights=left, minlength=len(routes))
        total = np.bincount(
            route[known], weights=values[known] if left is None else left * values[known], minlength=len(routes)
        )
        self._sums = {r: (float(total[i]), float(n[i])) for i, r in enumerate(routes) if n[i]}
        return self

    def add(self, route: Route, value: float) -> None:
        """Add one more value."""
        total, n = self._sums.get(route, (0.0, 0.0))
        self._sums[route] = (total + value, n + 1)

    def copy(self) -> Self:
        """Means that go on by themselves."""
        new = type(self)()
        new._sums = dict(self._sums)
        return new

    def all(self) -> dict[Route, float]:
        """Give the mean of every route that has a value."""
        return {route: total / n for route, (total, n) in self._sums.items()}

    def counted(self) -> dict[Route, tuple[float, float]]:
        """Give the mean of every route that has a value, and the (perhaps faded) number of its values."""
        return {route: (total / n, n) for route, (total, n) in self._sums.items()}

    def by(self, name: Callable[[Route], str]) -> dict[str, float]:
        """Give the mean per component, every value counting once."""
        sums: dict[str, tuple[float, float]] = {}
        for route, (value, k) in self._sums.items():
            total, n = sums.get(name(route), (0.0, 0.0))
            sums[name(route)] = (total + value, n + k)
        return {component: total / n for component, (total, n) in sums.items()}

    def overall(self, default: float) -> float:
        """Give the mean of everything, `default` if there is nothing."""
        n = sum(k for _, k in self._sums.values())
        return sum(value for value, _ in self._sums.values()) / n if n else default

    def state(self) -> State:
        """Save the sums."""
        values = np.array(list(self._sums.values()), dtype=np.float64).reshape(-1, 2)
        return State({"sums": values}, {"routes": [str(r) for r in self._sums]})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the means that `state` saved."""
        self = cls()
        rows = zip(state.meta["routes"], state.arrays["sums"].tolist(), strict=True)
        self._sums = {Route.parse(r): (total, n) for r, (total, n) in rows}
        return self
