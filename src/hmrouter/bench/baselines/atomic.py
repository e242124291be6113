"""The base of the baselines: a route is one atomic identity, known by its own outcomes or not at all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Scorer, require_dims
from hmrouter.state import Array, Floats, State
from hmrouter.types import Route

MARGIN = 1e-3


@dataclass(kw_only=True, eq=False)
class Atomic(Scorer):
    """Scores the routes it was fitted on. The fields are the configuration, `arrays_` is what was learned.

    A route without outcomes has no identity to score, and nothing is guessed from its model or harness: for every
    task it ranks just below the worst route that has one.
    """

    seed: int = 0

    @abstractmethod
    def _known_scores(self, x: Floats) -> Floats:
        """Scores (tasks, `routes_`) of task vectors in float64."""

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """The learned scores, in the order of `routes`."""
        return self._spread(self._known_scores(self._checked(x)), routes)

    def _begin(self, data: Dataset, x: Floats) -> None:
        """Learn which routes and how many dims there are; forget what was learned before."""
        self.routes_ = [r for r, seen in zip(data.routes, data.observed, strict=True) if seen]
        self.dims_ = int(x.shape[1])
        self.arrays_: dict[str, Array] = {}

    def _checked(self, x: Floats) -> Floats:
        dims = self._require_fitted("dims_")
        require_dims(x, dims)
        return np.asarray(x, dtype=np.float64)

    def _spread(self, known: Floats, routes: Sequence[Route]) -> Floats:
        column = {route: j for j, route in enumerate(self.routes_)}
        worst = known.min(axis=1) - MARGIN if self.routes_ else np.zeros(len(known))
        # The last column, -1, is for the routes without an identity.
        at = np.array([column.get(route, -1) for route in routes], dtype=np.int64)
        return np.column_stack([known, worst])[:, at]

    def state(self) -> State:
        """Give what was learned, and the settings."""
        dims = self._require_fitted("dims_")
        settings = {f.name: getattr(self, f.name) for f in fields(self)}
        routes = [str(route) for route in self.routes_]
        return State(dict(self.arrays_), {"settings": settings, "routes": routes, "dims": dims})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The fitted scorer."""
        self = cls(**state.meta["settings"])
        self.routes_ = [Route.parse(route) for route in state.meta["routes"]]
        self.dims_ = state.meta["dims"]
        self.arrays_ = dict(state.arrays)
        return self
