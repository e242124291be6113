"""How good probabilities are: discrimination, proper scores and calibration. Soft outcomes are partial successes."""

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


def reliability(y: Values, p: Values, bins: int = 10) -> list[tuple[float, float, int]]:
    """Per bin of equal width that is not empty: mean forecast, mean outcome, number.

    >>> reliability([1.0, 0.0, 1.0], [0.91, 0.05, 0.97])
    [(0.05, 0.0, 1), (0.94, 1.0, 2)]
    """
    y, p = np.asarray(y, dtype=np.float64), np.asarray(p, dtype=np.float64)
    at = np.minimum((p * bins).astype(np.int64), bins - 1)
    n = np.bincount(at, minlength=bins)
    forecast, outcome = np.bincount(at, weights=p, minlength=bins), np.bincount(at, weights=y, minlength=bins)
    return [(float(forecast[b] / n[b]), float(outcome[b] / n[b]), int(n[b])) for b in np.flatnonzero(n).tolist()]


def ece(y: Values, p: Values, bins: int = 10) -> float | None:
    """Expected calibration error: the mean gap between forecast and outcome over the bins, weighted by their number.

    >>> ece([1.0, 0.0], [0.8, 0.2])
    0.2
    """
    curve = reliability(y, p, bins)
    total = sum(n for _, _, n in curve)
    return round(sum(n * abs(forecast - outcome) for forecast, outcome, n in curve) / total, 12) if total else None
