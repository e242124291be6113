"""Measure in cells which runs passed, how much more hard tasks cost, and how much alike repeated runs are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hmrouter.evidence.cells import Cells
from hmrouter.logits import logit
from hmrouter.scorers.safe.memory.variances import RunVariances
from hmrouter.state import Array, Floats
from hmrouter.types import Route

THRESHOLD = 0.5
"""A single run passes with this score or more; the mean of several runs is the share of them that pass."""
TILT_TASKS = 20.0
"""In a route's tilt, the tilt of all routes weighs as much as this many tasks of the route's own."""
LEAST_SPREAD = 0.01
"""The least variance of tasks' chances from which a tilt is learned."""


def passed(cells: Cells, threshold: float = THRESHOLD) -> Floats:
    """The share of each cell's runs that passed."""
    return np.where(cells.trials > 1, cells.score, (cells.score >= threshold).astype(np.float64))


def cost_tilts(cells: Cells, chance: Floats, n_routes: int) -> tuple[Floats, float]:
    """Measure how log dollars change with a task's chance of being solved: a slope per route, and one for all routes.

    Only costs that are known per task count: a route of which only the mean cost is known has no slope.
    """
    known = (cells.cost > 0) & ~cells.cost_is_route_mean
    route = cells.route[known]
    n = np.bincount(route, minlength=n_routes)

    def within(values: Array) -> Floats:
        mean: Floats = np.bincount(route, weights=values, minlength=n_routes) / np.maximum(n, 1)
        return np.asarray(values - mean[route])

    x, y = within(chance[cells.task[known]]), within(np.log(cells.cost[known]))
    xy = np.bincount(route, weights=x * y, minlength=n_routes)
    xx = np.bincount(route, weights=x * x, minlength=n_routes)
    # What so many tasks would add to a route's xx; where all tasks seem alike there is no slope to learn.
    few = TILT_TASKS * max(float(xx.sum()) / len(x), LEAST_SPREAD) if len(x) else 0.0
    usual = float(xy.sum() / (xx.sum() + few)) if few else 0.0
    return np.where(n > 0, (xy + few * usual) / np.maximum(xx + few, 1e-12), 0.0), usual


def pass_lift(cells: Cells, y: Floats) -> float:
    """Measure how far the logit of the pass rate lies above that of the mean score.

    A success and a failure are added to each, so that both logits are finite.
    """
    if np.array_equal(y, cells.score):
        return 0.0
    means = (np.array([y.sum(), cells.score.sum()]) + 1.0) / (len(y) + 2.0)
    return float(np.subtract(*logit(means)))


def run_likeness(cells: Cells, p: Floats, posterior: Floats) -> float:
    """Measure the intraclass correlation of repeated runs beyond difficulty; 1 where no cell was run twice."""
    twice = np.flatnonzero(cells.trials > 1)
    if not len(twice):
        return 1.0
    n, score = cells.trials[twice], cells.score[twice]
    both = score * np.maximum(n * score - 1.0, 0.0) / (n - 1)  # share of pairs of runs that both pass
    here, mean = posterior[cells.task[twice]], p[cells.route[twice]]
    spread = (here * mean * (1.0 - mean)).sum()
    return float(np.clip((both.sum() - (here * mean**2).sum()) / max(spread, 1e-12), 0.0, 1.0))


def shared_parts(cells: Cells, y: Floats, routes: Sequence[Route]) -> tuple[float, float]:
    """Measure what suits a model, and what suits a harness, beside what two routes have in common on average.

    That average is what the slopes of the ease are learned from; what all routes share is ease, whatever it comes from.
    """
    shares, same_model, same_harness = RunVariances.of_cells(cells, y, routes)
    model, harness = shares.model * (same_model < 1.0), shares.harness * (same_harness < 1.0)
    common = shares.task + same_model * model + same_harness * harness
    return model / common, harness / common
