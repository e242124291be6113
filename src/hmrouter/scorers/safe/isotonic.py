"""Isotonic regression: the increasing function that fits outcomes best, as scikit-learn fits it."""

from __future__ import annotations

import numpy as np

from hmrouter.state import Floats

APART = 1e-15
"""Predictors that are nearer than this count as one."""


def isotonic(x: Floats, y: Floats, low: float, high: float) -> Floats:
    """Fit y by an increasing function of x with values from low to high: its corners as rows (x, value).

    Between corners it is linear.

    >>> isotonic(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 1.0, 0.0, 1.0]), 0.1, 0.9).tolist()
    [[0.1, 0.1], [0.2, 0.5], [0.3, 0.5], [0.4, 0.9]]
    """
    from scipy.optimize import isotonic_regression

    order = np.lexsort((y, x))
    x, y = np.asarray(x, dtype=np.float64)[order], np.asarray(y, dtype=np.float64)[order]
    first = np.flatnonzero(np.diff(x, prepend=-np.inf) >= APART)
    n = np.diff(first, append=len(x))
    means = np.add.reduceat(y, first) / n
    fitted = np.clip(isotonic_regression(means, weights=n).x, low, high)
    corner = np.ones(len(fitted), dtype=bool)  # inside a level stretch there is none
    corner[1:-1] = (fitted[1:-1] != fitted[:-2]) | (fitted[1:-1] != fitted[2:])
    return np.column_stack((x[first], fitted))[corner]
