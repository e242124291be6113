"""Fit slopes, levels and weights of the nodes by expectation and maximisation, EM (Bock and Aitkin 1981)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hmrouter.evidence.dataset import Dataset
from hmrouter.logits import logit, sigmoid
from hmrouter.state import Floats

NODES = 17
SLOPE_SD = 0.5
"""Prior standard deviation of a route's slope around the mean slope of all routes."""
LEVEL_SD = 3.0
NORMAL_TASKS = 10.0
"""In the weights of the nodes, the normal distribution counts as much as this many tasks."""
ROUNDS = 40
SETTLED = 1e-3
"""EM ends when no slope moves by more than this."""
STEEPEST = 6.0


class Estimates(NamedTuple):
    """The parameters that EM has converged to."""

    slope: Floats
    """(routes,)."""
    level: Floats
    """(routes,)."""
    weights: Floats
    """(nodes,)."""
    posterior: Floats
    """Each task's distribution over the nodes, (tasks, nodes)."""


def normal_nodes() -> tuple[Floats, Floats]:
    """Nodes and weights of a standard normal (Gauss and Hermite)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, weights / weights.sum()


def estimate(data: Dataset, y: Floats, nodes: Floats, normal: Floats) -> Estimates:
    """Fit the model to the share y of each cell's runs that passed, starting from the `normal` weights of the nodes."""
    from scipy.sparse import csr_array

    cells, shape = data.cells, (len(data.tasks), len(data.routes))
    at = (cells.task, cells.route)
    run, good = csr_array((cells.fade, at), shape=shape), csr_array((cells.fade * y, at), shape=shape)
    bad = csr_array((cells.fade * (1.0 - y), at), shape=shape)
    mean = (good.sum(axis=0) + 0.5) / (run.sum(axis=0) + 1.0)
    slope: Floats = np.ones(shape[1])
    level: Floats = 1.2 * logit(mean)
    weights = normal
    seen = np.bincount(cells.task, minlength=shape[0]) > 0
    posterior = np.tile(normal, (shape[0], 1))
    for _ in range(ROUNDS):
        z = slope[:, None] * nodes + level[:, None]
        log = -(good @ np.logaddexp(0.0, -z)) - (bad @ np.logaddexp(0.0, z)) + np.log(weights)
        posterior = np.exp(log - log.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        weights = posterior[seen].sum(axis=0) + NORMAL_TASKS * normal
        weights = weights / weights.sum()
        before, centre = slope, float(slope.mean())
        successes, runs = good.T @ posterior, run.T @ posterior
        for _ in range(3):
            slope, level = _newton(slope, level, centre, successes, runs, nodes)
        if np.abs(slope - before).max() < SETTLED:
            break
    return Estimates(slope, level, weights, posterior)


def _newton(
    slope: Floats, level: Floats, centre: float, successes: Floats, runs: Floats, nodes: Floats
) -> tuple[Floats, Floats]:
    """Take one Newton step of every route's penalised logistic regression on the nodes."""
    p = sigmoid(slope[:, None] * nodes + level[:, None])
    rest, curve = successes - runs * p, runs * p * (1.0 - p)
    by_slope = rest @ nodes - (slope - centre) / SLOPE_SD**2
    by_level = rest.sum(axis=1) - level / LEVEL_SD**2
    ss, sl = curve @ nodes**2 + 1.0 / SLOPE_SD**2, curve @ nodes
    ll = curve.sum(axis=1) + 1.0 / LEVEL_SD**2
    det = ss * ll - sl**2
    # Bounded steps: far from the optimum a full one may overshoot.
    slope = slope + np.clip((ll * by_slope - sl * by_level) / det, -1.0, 1.0)
    return np.clip(slope, 0.05, STEEPEST), level + np.clip((ss * by_level - sl * by_slope) / det, -2.0, 2.0)
