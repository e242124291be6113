"""Simulated outcomes of a given size."""

from __future__ import annotations

import numpy as np

from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Training
from hmrouter.types import Outcome, Route, Task

DIMS = 384


def pool(n_models: int, n_harnesses: int) -> tuple[Route, ...]:
    """All pairs."""
    return tuple(Route(f"model-{m:04d}", f"harness-{h:03d}") for m in range(n_models) for h in range(n_harnesses))


def unit_vectors(n: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Rows as an embedder gives them, (n, DIMS)."""
    x = np.random.default_rng(seed).standard_normal((n, DIMS), dtype=np.float32)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), dtype=np.float32)


def simulate(n_tasks: int, routes: tuple[Route, ...], density: float, seed: int = 0) -> Training:
    """A training set in which every (task, route) was run with probability `density`; half succeed."""
    rng = np.random.default_rng(seed)
    run, success = rng.random((2, n_tasks, len(routes))) < np.array([density, 0.5])[:, None, None]
    outcomes = (
        Outcome(Task(f"{t:06d}"), routes[r], float(success[t, r])) for t, r in zip(*np.nonzero(run), strict=True)
    )
    data = Dataset(outcomes, routes=routes, tasks=[Task(f"{t:06d}") for t in range(n_tasks)])
    texts = unit_vectors(len(data.harnesses), seed + 1)
    return Training(data, unit_vectors(n_tasks, seed + 2), dict(zip(data.harnesses, texts, strict=True)))
