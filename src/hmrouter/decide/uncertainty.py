"""How sure a choice is: the probability that a route is the best, and what the choice is expected to lose."""

from __future__ import annotations

import numpy as np

from hmrouter.state import Floats

DRAWS = 2000


def best_and_regret(mean: Floats, cov: Floats, chosen: int) -> tuple[Floats, float]:
    """Of jointly Gaussian values: each one's probability of being the largest, and E[largest - chosen].

    Antithetic draws from a fixed seed: the same question has the same answer.

    >>> p, regret = best_and_regret(np.array([0.6, 0.4]), np.diag([0.01, 0.01]), chosen=0)
    >>> p.round(1).tolist(), round(regret, 2)
    ([0.9, 0.1], 0.01)
    """
    normal = np.random.default_rng(0).standard_normal((DRAWS // 2, len(mean)))
    draws = mean + np.concatenate([normal, -normal]) @ square_root(cov)
    best = draws.argmax(axis=1)
    regret = float((draws.max(axis=1) - draws[:, chosen]).mean())
    return np.bincount(best, minlength=len(mean)) / len(draws), regret


def square_root(cov: Floats) -> Floats:
    """The symmetric root of a covariance, which turns independent draws into joint ones.

    There is one only: which eigenvectors a library finds, and with which signs, changes nothing, so that the same seed
    gives the same draws on every machine.

    >>> square_root(np.array([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    values, vectors = np.linalg.eigh(cov)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def probability_above(mean: Floats, cov: Floats, better: int, than: int) -> float:
    """P(value `better` > value `than`).

    >>> round(probability_above(np.array([0.6, 0.4]), np.diag([0.01, 0.01]), 0, 1), 2)
    0.92
    """
    from math import erf, sqrt

    variance = float(cov[better, better] + cov[than, than] - 2.0 * cov[better, than])
    gap = float(mean[better] - mean[than])
    if variance <= 1e-15:
        return 1.0 if gap > 0 else 0.0 if gap < 0 else 0.5
    return 0.5 * (1.0 + erf(gap / sqrt(2.0 * variance)))
