"""Describe a task by what may suit some routes better than others: the directions of its text, and its kind.

The kind is the suite that the text sounds like. It is read from the text even where the suite is known: a task that is
asked about is a text, and what was learned should rest on what will be known then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from hmrouter.state import Floats, State

KIND = 2.0
"""How much more variance the kind of a task may explain than its text: it is one thing, not thirty directions."""
SHRUNK = 0.1
"""Share of the mean variance that is added to every direction's, so that small suites are told apart carefully."""


@dataclass(frozen=True)
class Kinds:
    """Turns task features (tasks, dims) into vectors (tasks, columns): kind and text, centred, at unit mean length."""

    weights: Floats
    """(dims, suites): how a text tells suites apart; no column where there is one suite only."""
    bias: Floats
    """(suites,)"""
    centre: Floats
    scale: Floats
    """(columns,): the mean over training tasks, and what every column is multiplied by."""

    @classmethod
    def of(cls, features: Floats, marks: Floats) -> Self:
        """Learn from tasks whose suites are marked, (tasks, suites); without a column, all are of one suite."""
        told = known(features)
        text, marks = features[told], marks[told]
        weights, bias = _discriminant(text, marks)
        raw = cls(weights, bias, np.zeros(1), np.ones(1))._raw(text)
        centre = raw.mean(axis=0) if len(raw) else np.zeros(raw.shape[1])
        scale, suites = np.ones(raw.shape[1]), slice(len(bias))
        for part, variance in ((suites, KIND), (slice(len(bias), None), 1.0)):
            length = np.linalg.norm((raw - centre)[:, part], axis=1).mean() if len(raw) else 0.0
            scale[part] = np.sqrt(variance) / length if length > 1e-9 else 0.0
        return cls(weights, bias, centre, scale)

    def __call__(self, features: Floats) -> Floats:
        """Give the vectors; zeros, an average task, where the text is missing."""
        return np.where(known(features)[:, None], (self._raw(features) - self.centre) * self.scale, 0.0)

    def _raw(self, features: Floats) -> Floats:
        logits = features @ self.weights + self.bias
        share = np.exp(logits - logits.max(axis=1, initial=-np.inf, keepdims=True)) if len(self.bias) else logits
        return np.hstack([share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300), features])

    def state(self) -> State:
        """Give the learned arrays."""
        return State({"weights": self.weights, "bias": self.bias, "centre": self.centre, "scale": self.scale})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the kinds that gave this state."""
        a = state.arrays
        return cls(a["weights"], a["bias"], a["centre"], a["scale"])


def known(features: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell which tasks have a text: the features of a missing text are zeros.

    >>> known(np.array([[0.0, 0.0], [0.1, 0.0]])).tolist()
    [False, True]
    """
    return np.asarray((features != 0).any(axis=1))


def _discriminant(text: Floats, marks: Floats) -> tuple[Floats, Floats]:
    """Fit the linear discriminant, weights and bias: suites differ in their mean text and spread alike around it."""
    n = marks.sum(axis=0)
    if np.count_nonzero(n) < 2 or not text.shape[1]:
        return np.zeros((text.shape[1], 0)), np.zeros(0)
    means = (marks.T @ text) / np.maximum(n, 1.0)[:, None]
    marked = marks.any(axis=1)
    apart = text[marked] - marks[marked] @ means
    spread = apart.T @ apart / len(apart)
    spread[np.diag_indices_from(spread)] += SHRUNK * np.trace(spread) / len(spread) + 1e-9
    weights = np.linalg.solve(spread, means.T)
    return weights, np.asarray(np.log((n + 1.0) / (n.sum() + len(n))) - (means.T * weights).sum(axis=0) / 2.0)
