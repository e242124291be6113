"""kNN: a route's mean outcome on the training tasks nearest to the new one (cosine)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from hmrouter.errors import EmbedderMismatch
from hmrouter.features.summaries import task_key
from hmrouter.means import RouteMeans
from hmrouter.scorers.base import Scorer, Training, logit_of_mean
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route, Status


class KNN(Scorer):
    """Mean outcome over the k nearest tasks.

    A route that none of the neighbours was run on falls back to its own mean, then to the overall mean. `shrink`
    adds that many pseudo-outcomes at the route's mean (0: the plain method).
    """

    name: ClassVar[str] = "knn"

    def __init__(self, k: int = 40, shrink: float = 0.0) -> None:
        self.k = k
        self.shrink = shrink

    def fit(self, training: Training) -> Self:
        """Keep the tasks and their cells."""
        data = training.data
        self.means_ = RouteMeans.of(data)
        self.routes_ = list(data.routes)
        self.keys_ = np.array([task_key(t) for t in data.tasks], dtype=np.uint64)
        self.x_ = np.asarray(training.x, dtype=np.float32)
        self.cells_ = np.column_stack([data.cells.task, data.cells.route, data.cells.score])
        self._index()
        return self

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """Neighbour means, squeezed into logits."""
        self._require_fitted("x_")
        if x.shape[1] != self.x_.shape[1]:
            raise EmbedderMismatch(
                f"task vectors have {x.shape[1]} dims, but this scorer was fitted on {self.x_.shape[1]}; "
                "use the embedder it was trained with, or train again"
            )
        means, overall = self.means_.all(), self.means_.overall(0.5)
        prior = np.array([means.get(r, overall) for r in routes], dtype=np.float64)
        column = {r: j for j, r in enumerate(self.routes_)}
        at = np.array([column.get(r, -1) for r in routes], dtype=np.int64)
        known = at >= 0
        out = np.empty((len(x), len(routes)))
        for i, row in enumerate(np.asarray(x, dtype=np.float64)):
            total, n = self._neighbour_sums(row)
            sums = np.where(known, total[at], 0.0) + self.shrink * prior
            weight = np.where(known, n[at], 0.0) + self.shrink
            np.divide(sums, weight, out=sums, where=weight > 0)
            out[i] = np.where(weight > 0, sums, prior)
        return logit_of_mean(out)

    def observe(self, outcome: Outcome, x: Floats) -> None:
        """Add the outcome's task to the neighbours, or one more cell to it."""
        if outcome.status is not Status.OK or outcome.score is None:
            return
        self._require_fitted("x_")
        self.means_.add(outcome.route, outcome.score)
        key = np.uint64(task_key(outcome.task))
        found = np.flatnonzero(self.keys_ == key)
        if not len(found):
            self.keys_ = np.append(self.keys_, key)
            self.x_ = np.vstack([self.x_, np.asarray(x, dtype=np.float32)])
        if outcome.route not in self.routes_:
            self.routes_.append(outcome.route)
        task = int(found[0]) if len(found) else len(self.keys_) - 1
        cell = [task, self.routes_.index(outcome.route), outcome.score]
        self.cells_ = np.vstack([self.cells_, cell])
        self._index()

    def _index(self) -> None:
        # Cells grouped by task, and unit vectors: derived, so not part of the state.
        self.cells_ = self.cells_[np.argsort(self.cells_[:, 0], kind="stable")]
        self._starts = np.searchsorted(self.cells_[:, 0], np.arange(len(self.x_) + 1))
        norms = np.linalg.norm(self.x_.astype(np.float64), axis=1, keepdims=True)
        self._unit = self.x_ / np.where(norms > 0, norms, 1.0)

    def _neighbour_sums(self, x: Floats) -> tuple[Floats, Floats]:
        """Per known route: the sum and the number of the nearest tasks' outcomes."""
        norm, n_routes = float(np.linalg.norm(x)), len(self.routes_) + 1  # the last stands for "unknown"
        if norm == 0.0:  # no text: every task is as near as any other, and the route's mean says it all
            return np.zeros(n_routes), np.zeros(n_routes)
        # Rounded, so that equal texts stay equal however the product was computed; ties go to the first task.
        similarity = np.round(self._unit @ (x / norm), 9)
        nearest = np.argsort(-similarity, kind="stable")[: self.k]
        own = [self.cells_[self._starts[t] : self._starts[t + 1]] for t in nearest]
        cells = np.concatenate([self.cells_[:0], *own])  # none at all where there are no tasks
        at = cells[:, 1].astype(np.int64)
        total = np.bincount(at, weights=cells[:, 2], minlength=n_routes).astype(np.float64)
        return total, np.bincount(at, minlength=n_routes).astype(np.float64)

    def state(self) -> State:
        """Tasks, cells and settings."""
        self._require_fitted("x_")
        own = State(
            {"keys": self.keys_, "x": self.x_, "cells": self.cells_},
            {"k": self.k, "shrink": self.shrink, "routes": [str(r) for r in self.routes_]},
        )
        return State.join(own=own, means=self.means_.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The fitted scorer."""
        own = state.part("own")
        self = cls(k=own.meta["k"], shrink=own.meta["shrink"])
        self.routes_ = [Route.parse(r) for r in own.meta["routes"]]
        self.keys_, self.x_, self.cells_ = own.arrays["keys"], own.arrays["x"], own.arrays["cells"]
        self.means_ = RouteMeans.from_state(state.part("means"))
        self._index()
        return self
