"""A simulated world of successes and failures whose best route is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from hmrouter.evidence.dataset import Dataset
from hmrouter.history.terms import traits
from hmrouter.probe.posterior import PRICE, RELEASE
from hmrouter.scorers.safe.prior import Shares
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


def plant(
    seed: int, models: int = 4, harnesses: int = 3, tasks: int = 120, names: Sequence[str] | None = None
) -> Planted:
    """Effects of models, harnesses, pairs and tasks as the pooled model expects them; a coin is tossed in each cell.

    With `names` of real models, what is newer or dearer is better, or worse, by as much as is expected of it.
    """
    rng, shares, variance = np.random.default_rng(seed), Shares(), 0.25
    names = [f"m{i:02d}" for i in range(models)] if names is None else sorted(names)  # as data sets are
    routes = [Route(model, f"h{j:02d}") for model in names for j in range(harnesses)]

    def effects(share: float, n: int) -> Floats:
        return rng.normal(0.0, np.sqrt(share * variance), n)

    effect = np.repeat(effects(shares.model, len(names)), harnesses)
    effect = effect + traits(routes) @ np.concatenate([effects(RELEASE, 1), effects(PRICE, 1)])
    effect = effect + np.tile(effects(shares.harness, harnesses), len(names)) + effects(shares.pair, len(effect))
    success = np.clip(0.5 + effect + effects(shares.task + shares.x, tasks)[:, None], 0.02, 0.98)
    score = rng.random(success.shape) < success
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
