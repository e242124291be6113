"""Spread a probability over scenarios so that its mean stays as it is."""

from __future__ import annotations

import numpy as np

from hmrouter.logits import logit, sigmoid
from hmrouter.state import Floats

EXACT = 1e-13


def tied(shape: Floats, weights: Floats, success: Floats, within: float = EXACT) -> Floats:
    """Return sigmoid(shape + level), the level solved so that the weighted mean is `success`, up to `within`.

    `shape` (routes, nodes), `success` (..., routes). Newton's steps, halving the bracket where one leaves it.
    """
    p = np.asarray(success, dtype=np.float64)
    inner = np.clip(p, 1e-9, 1.0 - 1e-9)
    centre = shape @ weights
    spread = np.maximum((shape**2) @ weights - centre**2, 0.0)
    level = logit(inner) * np.sqrt(1.0 + 0.35 * spread) - centre  # about right where the nodes are normal
    reach = np.abs(shape).max() + 40.0
    low, high = np.full(p.shape, -reach), np.full(p.shape, reach)
    for _ in range(60):
        now = sigmoid(shape + level[..., None])
        gap = now @ weights - inner
        if np.abs(gap).max(initial=0.0) < within:
            break
        low, high = np.where(gap < 0, level, low), np.where(gap < 0, high, level)
        step = level - gap / np.maximum((now * (1.0 - now)) @ weights, 1e-300)
        level = np.where((step > low) & (step < high), step, (low + high) / 2.0)
    now = sigmoid(shape + level[..., None])
    certain = (p[..., None] != inner[..., None]).repeat(shape.shape[-1], axis=-1)
    return np.where(certain, p[..., None], now)
