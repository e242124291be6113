"""Compute how sure a choice is: the probability that a route is the best, and the expected regret."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hmrouter.state import Floats

DRAWS = 2000


class Draws:
    """Draws of jointly Gaussian values around their means, made once per covariance.

    They are antithetic, from a fixed seed: the same question has the same answer.
    """

    def __init__(self, cov: Floats) -> None:
        half = square_root(cov) @ _normal(len(cov)).T
        self._around = np.concatenate([half, -half], axis=1)  # (values, draws): a draw's largest is found in long rows

    def best_and_regret(self, mean: Floats, chosen: int) -> tuple[Floats, float]:
        """Estimate each value's probability of being the largest, and E[largest - chosen]."""
        drawn = self._around + mean[:, None]
        largest = drawn.max(axis=0)
        best = np.count_nonzero(drawn == largest, axis=1)
        if best.sum() > len(largest):  # where values are the same in every draw, the first counts
            best = np.bincount(drawn.argmax(axis=0), minlength=len(mean))
        return best / len(largest), float((largest - drawn[chosen]).mean())


def best_and_regret(mean: Floats, cov: Floats, chosen: int) -> tuple[Floats, float]:
    """Estimate, for jointly Gaussian values, each one's probability of being the largest, and E[largest - chosen].

    >>> p, regret = best_and_regret(np.array([0.6, 0.4]), np.diag([0.01, 0.01]), chosen=0)
    >>> p.round(1).tolist(), round(regret, 2)
    ([0.9, 0.1], 0.01)
    """
    return Draws(cov).best_and_regret(mean, chosen)


@lru_cache(maxsize=16)
def _normal(n: int) -> Floats:
    drawn = np.random.default_rng(0).standard_normal((DRAWS // 2, n))
    drawn.flags.writeable = False
    return drawn


def square_root(cov: Floats) -> Floats:
    """Compute the symmetric root of a covariance, which turns independent draws into joint ones.

    There is one only: which eigenvectors a library finds, and with which signs, changes nothing, so that the same seed
    gives the same draws on every machine.

    >>> square_root(np.array([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    values, vectors = np.linalg.eigh(cov)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def probability_above(mean: Floats, cov: Floats, better: int, than: int) -> float:
    """Compute P(value `better` > value `than`) for jointly Gaussian values.

    >>> round(probability_above(np.array([0.6, 0.4]), np.diag([0.01, 0.01]), 0, 1), 2)
    0.92
    """
    from math import erf, sqrt

    variance = float(cov[better, better] + cov[than, than] - 2.0 * cov[better, than])
    gap = float(mean[better] - mean[than])
    if variance <= 1e-15:
        return 1.0 if gap > 0 else 0.0 if gap < 0 else 0.5
    return 0.5 * (1.0 + erf(gap / sqrt(2.0 * variance)))
