"""Probabilities that mean what they say: a map from raw predictions, learned on predictions of held-out outcomes.

Three maps compete by log-loss on outcomes that they were not fitted on: none, Platt's (two parameters) and isotonic.
The plainer one stays unless the other is better by more than the noise of the comparison. Too few outcomes teach no
map, and raw predictions may lie far outside of 0 to 1: then `expected_rate` brings them inside.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from hmrouter.logits import logit, normal_cdf, sigmoid
from hmrouter.scorers.calibration_error import ece
from hmrouter.scorers.safe.isotonic import isotonic
from hmrouter.state import Floats, State

FLOOR = 0.005
"""Nearer to certainty than this, predictions hardly move: none is nearer than half of it."""
STRICT = 0.02
"""Share of the raw prediction in a recalibrated one: where the map is flat it keeps a slope, so that ranks survive."""
FOLDS = 5
FEW_TASKS, FEW_CELLS = 30, 50
"""With fewer of both, the prior is a better guide than a fit: `too_few`."""
KINDS = ("none", "platt", "isotonic")
"""The kinds of map, the plainest first."""
_ROOT = float(np.sqrt(2.0 * np.pi))


class Calibration:
    """A strictly increasing map of raw predictions to probabilities.

    >>> Calibration()(np.array([-0.2, 0.5, 1.1, 1.3])).round(4).tolist()
    [0.0025, 0.5, 0.9974, 0.9975]
    """

    def __init__(self, kind: str = "none", values: Floats | None = None, cells: int = 0, ece: float = 0.0) -> None:
        """Hold a map of one kind, and how well it did on held-out outcomes.

        `values`: slope and intercept for `platt`, rows of (raw, probability) for `isotonic`. `cells`: on how many
        held-out outcomes it was measured; `ece`: its expected calibration error on them, the mean gap of predicted and
        observed success over bins of equal width.
        """
        self.kind = kind
        self.values = np.zeros((0, 2)) if values is None else np.asarray(values, dtype=np.float64)
        self.cells = cells
        self.ece = ece

    @classmethod
    def choose(cls, raw: Floats, y: Floats, group: Any) -> Self:
        """Choose the best map for raw predictions of outcomes y; outcomes of a group (a task) are held out together."""
        _, group = np.unique(group, return_inverse=True)
        kinds = KINDS if len(y) >= FEW_CELLS and group.max(initial=0) + 1 >= 2 * FOLDS and np.ptp(y) > 0 else KINDS[:1]
        held_out = {kind: cls._cross_fit(kind, raw, y, group % FOLDS) for kind in kinds}
        losses = {kind: -(y * np.log(p) + (1.0 - y) * np.log1p(-p)) for kind, p in held_out.items()}
        chosen = kinds[0]
        for kind in kinds[1:]:
            gain = np.bincount(group, weights=losses[chosen] - losses[kind])
            if gain.sum() > np.sqrt((gain**2).sum()):  # more than one standard error over the groups
                chosen = kind
        return cls(chosen, cls.fit(chosen, raw, y).values, len(y), ece(y, held_out[chosen]))

    @classmethod
    def _cross_fit(cls, kind: str, raw: Floats, y: Floats, fold: Any) -> Floats:
        """Map each fold's raw predictions by a map that was fitted on the other folds."""
        p = np.empty(len(y))
        for held in range(FOLDS):
            p[fold == held] = cls.fit(kind, raw[fold != held], y[fold != held])(raw[fold == held])
        return p

    @classmethod
    def fit(cls, kind: str, raw: Floats, y: Floats) -> Self:
        """Fit one kind of map."""
        if kind == "platt":
            return cls(kind, _platt(logit(_inside(raw)), y))
        if kind == "isotonic":
            return cls(kind, isotonic(raw, y, FLOOR, 1 - FLOOR))
        return cls()

    def __call__(self, raw: Floats) -> Floats:
        """Turn raw predictions into probabilities, strictly inside (0, 1)."""
        plain = _inside(np.asarray(raw, dtype=np.float64))
        if self.kind == "none":
            return plain
        if self.kind == "platt":
            slope, intercept = self.values.tolist()
            mapped = _inside(sigmoid(slope * logit(plain) + intercept))
        else:
            # Beyond the outcomes that it was learned on it goes on as the raw prediction does.
            mapped = _inside(np.interp(raw, *self.values.T) + raw - np.clip(raw, *self.values[[0, -1], 0]))
        return np.asarray((1.0 - STRICT) * mapped + STRICT * plain)

    def state(self) -> State:
        """Give the kind, its values, and how well it did."""
        return State({"values": self.values}, {"kind": self.kind, "cells": self.cells, "ece": self.ece})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the map that gave this state."""
        m = state.meta
        return cls(m["kind"], state.arrays["values"], m["cells"], m["ece"])


def too_few(tasks: int, cells: int) -> bool:
    """Tell whether there are too few outcomes to learn variances and a calibration from.

    >>> too_few(3, 100), too_few(15, 30), too_few(15, 100), too_few(30, 30)
    (True, True, False, False)
    """
    return tasks < FOLDS or (tasks < FEW_TASKS and cells < FEW_CELLS)


def expected_rate(mean: Floats, var: Floats) -> Floats:
    """Compute E[min(max(e, 0), 1)] for Gaussian e: the mean of a success rate, which must lie in [0, 1].

    The larger the variance, the further inside it lies.

    >>> expected_rate(np.array([0.5, 1.1, 1.1, 1.1]), np.array([0.1, 0.0, 0.01, 0.1])).round(3).tolist()
    [0.5, 1.0, 0.992, 0.918]
    """
    sd = np.sqrt(np.maximum(var, 1e-18))
    low, high = -mean / sd, (1.0 - mean) / sd  # where 0 and 1 lie, in standard deviations
    inner = (
        mean * (normal_cdf(high) - normal_cdf(low)) + sd * (np.exp(-(low**2) / 2.0) - np.exp(-(high**2) / 2.0)) / _ROOT
    )
    return np.asarray(np.clip(inner + normal_cdf(-high), 0.0, 1.0))


def _inside(raw: Floats) -> Floats:
    """Squeeze raw predictions beyond FLOOR and 1 - FLOOR into (0, 1), keeping their order; a clip would make ties."""
    near, most = np.clip(raw, FLOOR, 1.0 - FLOOR), FLOOR / 2.0
    beyond = (raw - near) / most
    return np.asarray(near + most * beyond / (1.0 + np.abs(beyond)))


def _platt(z: Floats, y: Floats) -> Floats:
    """Fit slope and intercept of a logistic regression of y on z by Newton steps, weakly pulled towards (1, 0)."""
    design, prior = np.column_stack([z, np.ones(len(z))]), np.array([1.0, 0.0])

    def loss(theta: Floats) -> float:
        t = design @ theta
        return float((np.logaddexp(0.0, t) - y * t).sum() + ((theta - prior) ** 2).sum() / 2.0)

    theta, now = prior, loss(prior)
    for _ in range(50):
        p = sigmoid(design @ theta)
        gradient = design.T @ (p - y) + (theta - prior)
        hessian = design.T @ (design * (p * (1.0 - p))[:, None]) + np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        while loss(theta - step) > now and np.abs(step).max() > 1e-10:  # a full step may overshoot
            step = step / 2.0
        theta, now = theta - step, loss(theta - step)
        if np.abs(step).max() < 1e-10:
            break
    return np.array([max(theta[0], 0.05), theta[1]])  # increasing, whatever the data say
