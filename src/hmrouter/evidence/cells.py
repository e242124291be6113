"""Cells: the mean score, cost and time of each task on each route that was run."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from hmrouter.state import Array, Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Cells:
    """One entry per (task, route) that was run; the trials of a cell are averaged, their number is kept."""

    task: Ints
    route: Ints
    score: Floats
    trials: Ints
    """Executions behind the score; 0 where the source counted an absent run as a failure."""
    weight: Floats
    """The weight of the score when one more outcome joins the cell: its trials, an absent run counting as one,
    less the part of them that has faded."""
    fade: Floats
    """The weight of the cell beside one that was run just now, in (0, 1]: it is as fresh as its newest outcome."""
    cost: Floats
    """Mean dollars of those trials whose cost is known, NaN if of none."""
    cost_is_route_mean: Bools
    seconds: Floats
    """Mean seconds, NaN if unknown."""
    escalated: Bools
    """Whether all of its executions came after attempts that had failed: not how the route does on a fresh task."""

    def __len__(self) -> int:
        return len(self.task)

    @property
    def faded(self) -> Floats | None:
        """`fade`, or None where nothing has faded and so nothing needs to be weighted."""
        return None if (self.fade == 1.0).all() else self.fade

    def and_(self, others: Cells) -> Cells:
        """Put other cells behind these."""
        pairs = ((getattr(self, f.name), getattr(others, f.name)) for f in fields(self))
        return Cells(*(np.concatenate(pair) for pair in pairs))

    def take(self, which: Array) -> Cells:
        """Take the cells at these positions (indices or a mask)."""
        return Cells(*(getattr(self, f.name)[which] for f in fields(self)))


def average_trials(
    task: Ints, route: Ints, trials: Ints, is_mean: Bools, first: Bools, reals: Floats, fade: Floats | None
) -> Cells:
    """Average the outcomes of each cell by their number of trials and by `fade`, their weight left (None: all of it).

    `reals`: score, cost and seconds of each outcome. `first`: whether it was the first attempt at its task.
    """
    # Values are the last sort keys so that the sums below do not depend on the order of arrival.
    values = (reals[:, 2], reals[:, 1], reals[:, 0], trials, route, task)
    order = np.lexsort(values if fade is None else (fade, *values))
    task, route, trials = task[order], route[order], trials[order]
    is_mean, first, reals = is_mean[order], first[order], reals[order]
    new_cell = np.ones(len(task), dtype=bool)
    new_cell[1:] = (np.diff(task) != 0) | (np.diff(route) != 0)
    cell = np.cumsum(new_cell) - 1
    n = int(cell[-1]) + 1 if len(cell) else 0
    weight = np.maximum(trials, 1).astype(np.float64)
    freshest = np.ones(n)
    if fade is not None and n:
        weight *= fade[order]
        freshest = np.maximum.reduceat(fade[order], np.flatnonzero(new_cell))

    def mean(values: Floats) -> Floats:
        known = ~np.isnan(values)
        total = np.bincount(cell[known], weights=(weight * values)[known], minlength=n)
        by = np.bincount(cell[known], weights=weight[known], minlength=n)
        return ratio(total, by)

    return Cells(
        task=task[new_cell],
        route=route[new_cell],
        score=mean(reals[:, 0]),
        trials=np.bincount(cell, weights=trials, minlength=n).astype(np.int64),
        weight=np.bincount(cell, weights=weight, minlength=n).astype(np.float64),
        fade=freshest,
        cost=mean(reals[:, 1]),
        cost_is_route_mean=np.bincount(cell, weights=is_mean, minlength=n) > 0,
        seconds=mean(reals[:, 2]),
        escalated=np.bincount(cell, weights=first, minlength=n) == 0,
    )


def ratio(total: Array, by: Array) -> Floats:
    """Divide, with NaN where there is nothing to divide by."""
    out: Floats = np.full(len(total), np.nan)
    np.divide(total, by, out=out, where=by > 0)
    return out
