"""Task vectors -> the features of the linear model: leading directions of the texts, and marks of the suites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from hmrouter.scorers.base import require_dims
from hmrouter.state import Floats

FEATURES = 34
"""Most features of a text: as many as the default embedder's leading topics and its two length columns."""


@dataclass(frozen=True)
class TaskFeatures:
    """Turns task vectors (tasks, dims) into features (tasks, columns): those of the text, then a mark per suite."""

    centre: Floats
    projection: Floats
    """(dims, features)"""
    longest: float
    """The length of the longest training text's features: no other text is taken further out."""
    suites: tuple[str, ...] = ()
    """Suites that are learned together have a mark each; none where there is one suite only."""

    @classmethod
    def fit(cls, x: Floats, suites: Sequence[str]) -> Self:
        """Learn the directions from the texts of the training tasks."""
        x = np.asarray(x, dtype=np.float64)
        centre, projection = directions(x)
        marks = tuple(suites) if len(suites) > 1 else ()
        longest = np.linalg.norm(cls(centre, projection, np.inf)(x), axis=1).max(initial=0.0)
        return cls(centre, projection, float(longest), marks)

    def __call__(self, x: Floats, suites: Sequence[str] = ()) -> Floats:
        """Give the features; without `suites`, and of a suite that was not in the fit, they are of the mean level."""
        require_dims(x, len(self.centre))
        x = np.asarray(x, dtype=np.float64)
        # A missing text is a row of zeros: it gets the mean task's features, not those of an extreme one.
        known = np.abs(x).max(axis=1, initial=0.0) > 0
        features = np.where(known[:, None], (x - self.centre) @ self.projection, 0.0)
        # Unlike any training text: no further out than the farthest of them, where the linear model was never seen.
        norm = np.linalg.norm(features, axis=1, keepdims=True)
        features *= np.minimum(1.0, self.longest / np.maximum(norm, 1e-300))
        marks = np.zeros((len(x), len(self.suites)))
        for row, suite in zip(marks, suites if self.suites else (), strict=False):
            if suite in self.suites:
                row[self.suites.index(suite)] = 1.0
        return np.hstack([features, marks])

    def text(self, features: Floats) -> Floats:
        """Cut off the columns that mark suites."""
        return features[:, : features.shape[1] - len(self.suites)]


def directions(x: Floats) -> tuple[Floats, Floats]:
    """Find centre (dims,) and projection (dims, features) of the texts: leading directions, at unit mean norm."""
    known = x[np.abs(x).max(axis=1, initial=0.0) > 0]
    centre = known.mean(axis=0) if len(known) else np.zeros(x.shape[1])
    if len(known) < 2:
        return centre, np.zeros((x.shape[1], 0))
    centred = known - centre
    values, vectors = np.linalg.eigh(centred.T @ centred / len(known))
    order = np.argsort(-values, kind="stable")[:FEATURES]
    kept = order[values[order] > 1e-9 * max(values.max(), 1e-12)]
    found = vectors[:, kept]
    # An eigenvector's sign is arbitrary; fixed, so that every machine has the same features.
    found = found * np.where(found[np.abs(found).argmax(axis=0), range(len(kept))] < 0, -1.0, 1.0)
    norm = float(np.linalg.norm(centred @ found, axis=1).mean())
    return centre, np.ascontiguousarray(found / (norm if norm > 0 else 1.0))
