"""kNN: a route's mean outcome on the training tasks nearest to the new one (cosine)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hmrouter.evidence.ledger import Ledger
from hmrouter.scorers.base import Scorer, Training, logit_of_mean, require_dims
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route


class KNN(Scorer):
    """Scores a route by its mean outcome on the k nearest tasks.

    A route that none of the neighbours was run on falls back to its own mean, then to the overall mean. `shrink`
    adds that many pseudo-outcomes at the route's mean (0: the plain method).
    """

    name: ClassVar[str] = "knn"

    def __init__(self, k: int = 40, shrink: float = 0.0) -> None:
        self.k = k
        self.shrink = shrink

    def fit(self, training: Training) -> Self:
        """Index the tasks and their cells."""
        return self._keep(Ledger.of(training.data, np.asarray(training.x, dtype=np.float32)))

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """Score by the neighbours' means, squeezed into logits."""
        index: _Index = self._require_fitted("index_")
        require_dims(x, index.unit.shape[1])
        at = np.array([index.column.get(r, len(index.column)) for r in routes], dtype=np.int64)
        prior = index.means[at]
        out = np.empty((len(x), len(routes)))
        for i, row in enumerate(np.asarray(x, dtype=np.float64)):
            total, n = index.neighbour_sums(row, self.k)
            sums, weight = total[at] + self.shrink * prior, n[at] + self.shrink
            np.divide(sums, weight, out=sums, where=weight > 0)
            out[i] = np.where(weight > 0, sums, prior)
        return logit_of_mean(out)

    def observe(self, outcome: Outcome, x: Floats) -> None:
        """Add the outcome's task to the neighbours, or one more outcome to it."""
        ledger: Ledger = self._require_fitted("ledger_")
        ledger.add(outcome, x)
        self._keep(ledger)

    def after(self, outcome: Outcome, x: Floats) -> Self:
        """Return a scorer with an index of its own; the two share the ledger, which only learning reads."""
        new = copy(self)
        new.observe(outcome, x)
        return new

    def state(self) -> State:
        """Give the tasks, their cells and the settings."""
        ledger = self._require_fitted("ledger_").state()
        return State.join(settings=State(meta={"k": self.k, "shrink": self.shrink}), ledger=ledger)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the fitted scorer."""
        return cls(**state.part("settings").meta)._keep(Ledger.from_state(state.part("ledger")))

    def _keep(self, ledger: Ledger) -> Self:
        self.ledger_, self.index_ = ledger, _Index(ledger)
        return self


class _Index:
    """Finds the nearest tasks and sums their outcomes: unit vectors, the cells of each task, the mean of each route.

    Columns are the known routes; one more, the last, stands for every unknown route and has the overall mean.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.task, self.route, self.score, _ = ledger.cells()
        self.fade = ledger.fade()
        self.column = {route: j for j, route in enumerate(ledger.routes)}
        self.columns = len(self.column) + 1
        x = ledger.vectors().astype(np.float64)
        norms = np.linalg.norm(x, axis=1, keepdims=True)
        self.unit = x / np.where(norms > 0, norms, 1.0)
        self.starts = np.searchsorted(self.task, np.arange(len(x) + 1)).tolist()
        overall = np.average(self.score, weights=self.fade) if len(self.score) else 0.5
        total, n = self._sums(np.arange(len(self.score)))
        self.means = np.divide(total, n, out=np.full(self.columns, overall), where=n > 0)

    def neighbour_sums(self, x: Floats, k: int) -> tuple[Floats, Floats]:
        """Sum and count the outcomes of the k nearest tasks per column; a faded one counts by its remaining weight."""
        norm = float(np.linalg.norm(x))
        if norm == 0.0:  # no text: every task is as near as any other, and the route's mean says it all
            return np.zeros(self.columns), np.zeros(self.columns)
        # Rounded, so that equal texts stay equal however the product was computed; ties go to the first task.
        similarity = np.round(self.unit @ (x / norm), 9)
        nearest = np.argsort(-similarity, kind="stable")[:k].tolist()
        return self._sums(np.array([c for t in nearest for c in range(self.starts[t], self.starts[t + 1])], dtype=int))

    def _sums(self, cells: NDArray[np.int64]) -> tuple[Floats, Floats]:
        at = self.route[cells]
        left = None if self.fade is None else self.fade[cells]
        score = self.score[cells] if left is None else left * self.score[cells]
        total = np.bincount(at, weights=score, minlength=self.columns).astype(np.float64)
        return total, np.bincount(at, weights=left, minlength=self.columns).astype(np.float64)
