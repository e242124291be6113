"""What the scorers share that know nothing but the mean score of each route."""

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
    """Learns the mean score of each route, every cell counting once (faded, less); subclasses make scores of them."""

    def fit(self, training: Training) -> Self:
        """Keep the cells."""
        return self._keep(Ledger.of(training.data, np.zeros((len(training.data.tasks), 0))))

    def observe(self, outcome: Outcome, x: Floats) -> None:
        """Take in one more outcome; another trial of a cell moves the cell's mean, as in a fit."""
        ledger: Ledger = self._require_fitted("ledger_")
        ledger.add(outcome, NO_VECTOR)
        self._keep(ledger)

    def after(self, outcome: Outcome, x: Floats) -> Self:
        """A scorer with means of its own; the two share the ledger, which only learning looks at."""
        new = copy(self)
        new.observe(outcome, x)
        return new

    def state(self) -> State:
        """The cells."""
        return State.join(ledger=self._require_fitted("ledger_").state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The fitted scorer."""
        return cls()._keep(Ledger.from_state(state.part("ledger")))

    def _keep(self, ledger: Ledger) -> Self:
        self.ledger_ = ledger
        _, route, score, _ = ledger.cells()
        self.means_ = RouteMeans.of_cells(ledger.routes, route, score, ledger.fade())
        return self
