"""Deviations of pairs from what their model and harness explain (Fig. learned_representations b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hmrouter.state import Floats
from hmrouter.types import Route


@dataclass(frozen=True, slots=True)
class Deviation:
    """Holds how far a pair is from what its components explain, in the mean over tasks."""

    route: Route
    observed: float
    predicted: float


def deviations(routes: Sequence[Route], observed: Floats, predicted: Floats) -> list[Deviation]:
    """Take off, per task, the best-fitting sum of a model effect and a harness effect; average the rest.

    Both arguments are (tasks, routes); NaN in `observed` marks what was not run, which then counts in neither. Pairs
    that some model or harness effect fits by itself, whatever their value, have no deviation to speak of: left out.
    """
    run = ~np.isnan(observed)
    total, n = np.zeros((2, len(routes))), np.zeros(len(routes))
    patterns, of_task = np.unique(run, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        columns = np.flatnonzero(pattern).tolist()
        rest = _residual_maker([routes[j] for j in columns])
        free = np.diag(rest) > 1e-9
        tasks = of_task.ravel() == number
        for k, values in enumerate((observed, predicted)):
            total[k, columns] += free * (values[tasks][:, columns] @ rest).sum(axis=0)
        n[columns] += free * tasks.sum()
    return [
        Deviation(route, float(total[0, j] / n[j]), float(total[1, j] / n[j]))
        for j, route in enumerate(routes)
        if n[j] > 0
    ]


def _residual_maker(routes: Sequence[Route]) -> Floats:
    """The symmetric matrix that takes off the least-squares fit of model and harness effects, (routes, routes)."""
    models, harnesses = sorted({r.model for r in routes}), sorted({r.harness for r in routes})
    design = np.zeros((len(routes), len(models) + len(harnesses)))
    for j, route in enumerate(routes):
        design[j, models.index(route.model)] = 1.0
        design[j, len(models) + harnesses.index(route.harness)] = 1.0
    return np.asarray(np.eye(len(routes)) - design @ np.linalg.pinv(design))
