"""What the scorers share that know nothing but the mean score of each route."""

from __future__ import annotations

from typing import Self

from hmrouter.means import RouteMeans
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Status


class ByMeans(Scorer):
    """Learns the mean score of each route; subclasses turn means into scores."""

    def fit(self, training: Training) -> Self:
        """Count."""
        self.means_ = RouteMeans.of(training.data)
        return self

    def observe(self, outcome: Outcome, x: Floats) -> None:
        """Count one more, if it says anything about its route."""
        self._require_fitted("means_")
        if outcome.status is Status.OK and outcome.score is not None:
            self.means_.add(outcome.route, outcome.score)

    def state(self) -> State:
        """The means."""
        return State.join(means=self._require_fitted("means_").state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The fitted scorer."""
        self = cls()
        self.means_ = RouteMeans.from_state(state.part("means"))
        return self
