"""Probabilities <-> logits, the scale on which scores add up; and the normal distribution."""

from __future__ import annotations

import math

import numpy as np

from hmrouter.state import Floats


def sigmoid(score: Floats) -> Floats:
    """Turn logits into probabilities, without overflow.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    e = np.exp(-np.abs(score))
    return np.where(score >= 0, 1.0, e) / (1.0 + e)


def logit(p: Floats) -> Floats:
    """Turn probabilities, 0 < p < 1, into logits.

    >>> logit(np.array([0.5])).tolist()
    [0.0]
    """
    return np.asarray(np.log(p) - np.log1p(-p))


def logit_of_mean(mean: Floats, squeeze: float = 0.005) -> Floats:
    """Turn observed means into logits, squeezed into (0, 1): finite, and the order of means is kept.

    >>> logit_of_mean(np.array([0.0, 0.5, 1.0])).round(2).tolist()
    [-5.29, 0.0, 5.29]
    """
    return logit(squeeze + (1.0 - 2.0 * squeeze) * np.asarray(mean, dtype=np.float64))


def normal_cdf(z: Floats) -> Floats:
    """Compute the probability that a standard normal variable is below z, as `scipy.special.ndtr` does.

    Loading SciPy takes longer than a decision; where few numbers are asked for, this one spares it.

    >>> normal_cdf(np.array([-40.0, 0.0, 1.96])).round(4).tolist()
    [0.0, 0.5, 0.975]
    """
    return 0.5 * np.asarray(_erfc(-_ROOT_HALF * np.asarray(z, dtype=np.float64)), dtype=np.float64)


_ROOT_HALF = math.sqrt(0.5)
_erfc = np.frompyfunc(math.erfc, 1, 1)
