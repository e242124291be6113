"""Probabilities that mean what they say: a map from raw predictions, learned on predictions of held-out outcomes.

Three maps compete by log-loss on outcomes that they were not fitted on: none, Platt's (two parameters) and isotonic.
The plainer one stays unless the other is better by more than the noise of the comparison.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from hmrouter.scorers.base import sigmoid
from hmrouter.state import Floats, State

FLOOR = 0.005
"""No prediction is nearer to certainty than this."""
STRICT = 0.02
"""Share of the raw prediction in an isotonic one: its steps keep a slope, so that ranks survive."""
FOLDS = 5


class Calibration:
    """A strictly increasing map of raw predictions to probabilities.

    >>> Calibration()(np.array([-0.2, 0.5, 1.3])).tolist()
    [0.005, 0.5, 0.995]
    """

    def __init__(self, kind: str = "none", values: Floats | None = None) -> None:
        """`values`: slope and intercept for `platt`, rows of (raw, probability) for `isotonic`."""
        self.kind = kind
        self.values = np.zeros((0, 2)) if values is None else np.asarray(values, dtype=np.float64)

    @classmethod
    def choose(cls, raw: Floats, y: Floats, group: Any) -> Self:
        """The best map for raw predictions of outcomes y; outcomes of one group (a task) are held out together."""
        _, group = np.unique(group, return_inverse=True)
        if len(y) < 50 or group.max(initial=0) + 1 < 2 * FOLDS or np.ptp(y) == 0:
            return cls()
        losses = {}
        for kind in ("none", "platt", "isotonic"):
            p = np.empty(len(y))
            for fold in range(FOLDS):
                held = group % FOLDS == fold
                p[held] = cls.fit(kind, raw[~held], y[~held])(raw[held])
            losses[kind] = -(y * np.log(p) + (1.0 - y) * np.log1p(-p))
        chosen = "none"
        for kind in ("platt", "isotonic"):
            gain = np.bincount(group, weights=losses[chosen] - losses[kind])
            if gain.sum() > np.sqrt((gain**2).sum()):  # more than one standard error over the groups
                chosen = kind
        return cls.fit(chosen, raw, y)

    @classmethod
    def fit(cls, kind: str, raw: Floats, y: Floats) -> Self:
        """Fit one kind of map."""
        if kind == "platt":
            return cls(kind, _platt(_logit(raw), y))
        if kind == "isotonic":
            from sklearn.isotonic import IsotonicRegression

            fitted = IsotonicRegression(y_min=FLOOR, y_max=1 - FLOOR).fit(raw, y)
            return cls(kind, np.column_stack([fitted.X_thresholds_, fitted.y_thresholds_]))
        return cls()

    def __call__(self, raw: Floats) -> Floats:
        """Probabilities, strictly inside (0, 1)."""
        plain = np.clip(raw, FLOOR, 1.0 - FLOOR)
        if self.kind == "platt":
            slope, intercept = self.values.tolist()
            return np.clip(sigmoid(slope * _logit(raw) + intercept), FLOOR, 1.0 - FLOOR)
        if self.kind == "isotonic":
            steps = np.interp(raw, self.values[:, 0], self.values[:, 1])
            return np.asarray((1.0 - STRICT) * steps + STRICT * plain)
        return plain

    def state(self) -> State:
        """Kind and values."""
        return State({"values": self.values}, {"kind": self.kind})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """What `state` described."""
        return cls(state.meta["kind"], state.arrays["values"])


def _logit(raw: Floats) -> Floats:
    p = np.clip(raw, FLOOR, 1.0 - FLOOR)
    return np.asarray(np.log(p) - np.log1p(-p))


def _platt(z: Floats, y: Floats) -> Floats:
    """Slope and intercept of a logistic regression of y on z, by Newton steps, with a weak pull towards (1, 0)."""
    design, theta, prior = np.column_stack([z, np.ones(len(z))]), np.array([1.0, 0.0]), np.array([1.0, 0.0])
    for _ in range(50):
        p = sigmoid(design @ theta)
        gradient = design.T @ (p - y) + (theta - prior)
        hessian = design.T @ (design * (p * (1.0 - p))[:, None]) + np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        theta = theta - step
        if np.abs(step).max() < 1e-10:
            break
    theta[0] = max(theta[0], 0.05)  # increasing, whatever the data say
    return theta
