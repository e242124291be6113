"""Measures how good probabilities are: discrimination and proper scores. Soft outcomes are partial successes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hmrouter.state import Floats

Values = Sequence[float] | Floats


def auc(y: Values, p: Values) -> float | None:
    """Probability that a success outranks a failure, ties counting half; None without both.

    >>> auc([1.0, 0.0, 1.0], [0.9, 0.4, 0.4])
    0.75
    """
    y, p = np.asarray(y, dtype=np.float64), np.asarray(p, dtype=np.float64)
    positive, negative = float(y.sum()), float((1.0 - y).sum())
    if positive <= 0 or negative <= 0:
        return None
    values, at = np.unique(p, return_inverse=True)
    up = np.bincount(at, weights=y, minlength=len(values))
    down = np.bincount(at, weights=1.0 - y, minlength=len(values))
    below = np.cumsum(down) - down
    return float((up * (below + 0.5 * down)).sum() / (positive * negative))


def log_loss(y: Values, p: Values) -> float | None:
    """Mean binary cross-entropy; None of nothing.

    >>> round(log_loss([1.0, 0.0], [0.5, 0.5]), 4)
    0.6931
    """
    y, p = np.asarray(y, dtype=np.float64), np.clip(np.asarray(p, dtype=np.float64), 1e-6, 1 - 1e-6)
    return float(-(y * np.log(p) + (1.0 - y) * np.log1p(-p)).mean()) if len(y) else None


def brier(y: Values, p: Values) -> float | None:
    """Mean squared error of the probability; None of nothing.

    >>> brier([1.0, 0.0], [0.5, 0.5])
    0.25
    """
    y, p = np.asarray(y, dtype=np.float64), np.asarray(p, dtype=np.float64)
    return float(((y - p) ** 2).mean()) if len(y) else None
