"""A simulated world of successes and failures whose best route is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from hmrouter.dataset import Dataset
from hmrouter.scorers.prior import Shares
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task


@dataclass(frozen=True)
class Planted:
    """Outcomes of every task on every route, and what is behind them."""

    data: Dataset
    effects: Floats
    """Of the routes, in the order of the data: the best has the highest."""

    @property
    def at(self) -> NDArray[np.int64]:
        """(tasks, routes): the number of each cell."""
        return np.arange(len(self.data.cells)).reshape(len(self.data.tasks), len(self.data.routes))


def plant(seed: int, models: int = 4, harnesses: int = 3, tasks: int = 120) -> Planted:
    """Effects of models, harnesses, pairs and tasks as the pooled model expects them; a coin is tossed in each cell."""
    rng, shares, variance = np.random.default_rng(seed), Shares(), 0.25

    def effects(share: float, n: int) -> Floats:
        return rng.normal(0.0, np.sqrt(share * variance), n)

    effect = np.repeat(effects(shares.model, models), harnesses)
    effect = effect + np.tile(effects(shares.harness, harnesses), models) + effects(shares.pair, len(effect))
    success = np.clip(0.5 + effect + effects(shares.task + shares.x, tasks)[:, None], 0.02, 0.98)
    score = rng.random(success.shape) < success
    routes = [Route(f"m{i:02d}", f"h{j:02d}") for i in range(models) for j in range(harnesses)]
    return Planted(
        Dataset(
            Outcome(Task(f"t{t:03d}"), route, float(score[t, r]))
            for t in range(tasks)
            for r, route in enumerate(routes)
        ),
        effect,
    )


@pytest.fixture(scope="session")
def planted() -> Callable[..., Planted]:
    """`planted(seed)`: a world."""
    return plant
