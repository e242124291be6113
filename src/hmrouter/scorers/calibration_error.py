"""Measure how far probabilities are from what happened: the reliability curve, and one number for it.

Scorers that calibrate themselves and the benchmark suite report the same number. Soft outcomes are partial successes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hmrouter.state import Floats

BINS = 10
Values = Sequence[float] | Floats


def reliability(y: Values, p: Values, bins: int = BINS) -> list[tuple[float, float, int]]:
    """List mean forecast, mean outcome and number of forecasts for each bin of equal width that has any.

    >>> reliability([1.0, 0.0, 1.0], [0.91, 0.05, 0.97])
    [(0.05, 0.0, 1), (0.94, 1.0, 2)]
    """
    y, p = np.asarray(y, dtype=np.float64), np.asarray(p, dtype=np.float64)
    at = np.minimum((p * bins).astype(np.int64), bins - 1)
    n = np.bincount(at, minlength=bins)
    forecast, outcome = np.bincount(at, weights=p, minlength=bins), np.bincount(at, weights=y, minlength=bins)
    return [(float(forecast[b] / n[b]), float(outcome[b] / n[b]), int(n[b])) for b in np.flatnonzero(n).tolist()]


def ece(y: Values, p: Values, bins: int = BINS) -> float:
    """Compute the expected calibration error: the mean gap of forecast and outcome, each bin weighted by its number.

    >>> round(ece([1.0, 0.0], [0.8, 0.2]), 6), ece([], [])
    (0.2, 0.0)
    """
    curve = reliability(y, p, bins)
    return sum(n * abs(forecast - outcome) for forecast, outcome, n in curve) / max(1, len(y))
