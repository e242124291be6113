"""Predict from a task's text how many times the usual cost it takes, on every route alike."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from hmrouter.state import Floats, State

RIDGES = (0.3, 1.0, 3.0, 10.0)
FEWEST = 30
"""Fewest tasks with a cost of their own from which texts are learned."""
MOST, MOST_NUMBERS = 4000, 2**20
"""Most tasks that are learned from, and numbers in their vectors: more takes time and adds next to nothing."""


class TextFactor:
    """Predicts tasks' log costs, less those of the routes they ran on, by a ridge regression on their vectors.

    It is on only where leaving out one task after the other it predicts better than nothing, by more than a standard
    error over the tasks. A text unlike any in training is taken no further than the farthest of those.

    >>> x = np.arange(60.0)[:, None] / 60
    >>> factor = TextFactor.fit(x, x[:, 0], np.ones(60)).of(x)
    >>> bool(factor[-1] > factor[0]), round(float(factor.mean()), 3)
    (True, 1.0)
    """

    def __init__(self, weights: Floats | None = None, centre: Floats | None = None, bounds: Any = (0.0, 0.0)) -> None:
        self._weights, self._centre = weights, centre
        self._bounds = (float(bounds[0]), float(bounds[1]))
        self._level = 0.0

    @classmethod
    def fit(cls, x: Floats, effect: Floats, runs: Floats) -> Self:
        """Learn from task vectors x (tasks, dims), mean residuals of log costs, and the number of runs behind each."""
        if len(x) < FEWEST or not np.ptp(x, axis=0).any():
            return cls()
        if len(x) > (most := min(MOST, MOST_NUMBERS // x.shape[1])):
            some = np.linspace(0, len(x) - 1, max(most, FEWEST)).astype(int)
            x, effect, runs = x[some], effect[some], runs[some]
        x = np.asarray(x, dtype=np.float64)
        # What texts cannot tell varies as much between tasks as between runs: a second run adds less than the first.
        weight = runs / (1.0 + runs)
        weight = weight / weight.mean()
        centre = weight @ x / len(x)
        level = float(weight @ effect) / len(x)
        rows, y = (x - centre) * np.sqrt(weight)[:, None], (effect - level) * np.sqrt(weight)
        left, values, right = np.linalg.svd(rows, full_matrices=False)
        best: tuple[float, float] | None = None
        for ridge in RIDGES:
            kept = values**2 / (values**2 + ridge)
            missed = (y - left @ (kept * (left.T @ y))) / (1.0 - np.einsum("ij,j,ij->i", left, kept, left))
            gain = y**2 - missed**2
            if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)) and (best is None or gain.mean() > best[0]):
                best = (float(gain.mean()), ridge)
        if best is None:
            return cls()
        weights = right.T @ (values / (values**2 + best[1]) * (left.T @ y))
        found = (x - centre) @ weights
        self = cls(weights, centre, (found.min(), found.max()))
        self._level = float(np.log(runs @ np.exp(found) / runs.sum()))
        return self

    @property
    def on(self) -> bool:
        """Whether texts predict costs better than nothing, so that they are used."""
        return self._weights is not None

    def of(self, x: Floats) -> Floats:
        """Predict how many times the usual cost tasks take, (tasks,); on average 1 over the training runs."""
        if self._weights is None or self._centre is None:
            return np.ones(len(x))
        effect = (np.asarray(x, dtype=np.float64) - self._centre) @ self._weights
        return np.asarray(np.exp(np.clip(effect, *self._bounds) - self._level))

    def state(self) -> State:
        """Give the weights, if texts are used."""
        if self._weights is None or self._centre is None:
            return State()
        return State(
            {"weights": self._weights, "centre": self._centre}, {"bounds": [*self._bounds], "level": self._level}
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the factor that gave this state."""
        if "weights" not in state.arrays:
            return cls()
        self = cls(state.arrays["weights"], state.arrays["centre"], state.meta["bounds"])
        self._level = float(state.meta["level"])
        return self
