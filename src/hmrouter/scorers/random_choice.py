"""Random: a uniform choice that is the same every time for the same task, route and seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from hmrouter.evidence.means import RouteMeans
from hmrouter.scorers.base import Scorer, Training, logit_of_mean
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route


class Random(Scorer):
    """Gives every route the overall mean, and a jitter too small to matter that makes the choice uniform."""

    name: ClassVar[str] = "random"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, training: Training) -> Self:
        """Learn the overall mean."""
        self.overall_ = RouteMeans.of(training.data).overall(0.5)
        return self

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """Score every route at the overall mean, plus a jitter below 1e-6 that decides ties."""
        base = float(logit_of_mean(np.array(self._require_fitted("overall_"))))
        names = [str(r).encode() for r in routes]
        jitter = np.empty((len(x), len(routes)))
        for i, row in enumerate(np.ascontiguousarray(x, dtype=np.float64)):
            task = hashlib.blake2b(row.tobytes(), digest_size=8, salt=self.seed.to_bytes(8, "little", signed=True))
            for j, name in enumerate(names):
                cell = task.copy()
                cell.update(name)
                jitter[i, j] = int.from_bytes(cell.digest()) / 2.0**64
        return base + 1e-6 * jitter

    def after(self, outcome: Outcome, x: Floats) -> Self:
        """Return this scorer: it does not learn from single outcomes."""
        return self

    def state(self) -> State:
        """Give the seed and the mean."""
        return State(meta={"seed": self.seed, "overall": self._require_fitted("overall_")})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the fitted scorer."""
        self = cls(seed=state.meta["seed"])
        self.overall_ = state.meta["overall"]
        return self
