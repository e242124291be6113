"""A base class for scorers that use only the mean score of each route."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from hmrouter.evidence.ledger import Ledger
from hmrouter.evidence.means import RouteMeans
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Floats, State
from hmrouter.types import Outcome

NO_VECTOR = np.zeros(0)


class ByMeans(Scorer):
    """Learns the mean score of each route, each cell counting once (less if faded), for subclasses to score by."""

    def fit(self, training: Training) -> Self:
        """Average the cells of each route."""
        return self._keep(Ledger.of(training.data, np.zeros((len(training.data.tasks), 0))))

    def observe(self, outcome: Outcome, x: Floats) -> None:
        """Learn from one more outcome; another trial of a cell moves the cell's mean, as in a fit."""
        ledger: Ledger = self._require_fitted("ledger_")
        ledger.add(outcome, NO_VECTOR)
        self._keep(ledger)

    def after(self, outcome: Outcome, x: Floats) -> Self:
        """Return a scorer with means of its own; the two share the ledger, which only learning reads."""
        new = copy(self)
        new.observe(outcome, x)
        return new

    def state(self) -> State:
        """Give the cells, from which the means follow."""
        return State.join(ledger=self._require_fitted("ledger_").state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the fitted scorer."""
        return cls()._keep(Ledger.from_state(state.part("ledger")))

    def _keep(self, ledger: Ledger) -> Self:
        self.ledger_ = ledger
        _, route, score, _ = ledger.cells()
        self.means_ = RouteMeans.of_cells(ledger.routes, route, score, ledger.fade())
        return self
