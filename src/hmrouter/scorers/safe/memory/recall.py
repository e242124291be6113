"""The earlier runs of a task, and what they change about the next: means and covariances of a pool of routes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from hmrouter.evidence.ledger import Ledger
from hmrouter.scorers.safe.memory.index import Relatives
from hmrouter.scorers.safe.memory.routes import RouteLikeness
from hmrouter.scorers.safe.pooled import Effects, Pooled
from hmrouter.state import Floats, Ints
from hmrouter.types import EarlierRuns, Route

MOST_CELLS = 256
"""Cells that a question rests on: the task's own first, then those of its family."""


@dataclass(frozen=True)
class EarlierCells:
    """The cells that tell about a task: its own, and those of its family."""

    routes: tuple[Route, ...]
    score: Floats
    runs: Floats
    x: Floats
    """Vectors of the tasks that they are of, (cells, dims)."""
    task: Ints
    """A number per cell, the same for cells of one task: 0 for the task itself."""
    share: float = 0.0
    """The share of the suite that is of the task's family."""

    @classmethod
    def of(cls, relatives: Relatives, ledger: Ledger) -> Self | None:
        """Read the cells; None if nothing was run."""
        rows: list[tuple[Route, float, float, Floats, int]] = []
        own = [(i, 0) for i in relatives.same]
        for task, number in own + [(i, n) for n, i in enumerate(relatives.family, start=1)]:
            x = ledger.vector(task)
            cells = [(ledger.routes[r], s, w, x, number) for r, (s, w, _) in ledger.cells_of(task).items()]
            rows += sorted(cells, key=lambda row: row[0])
        rows = rows[:MOST_CELLS]
        if not rows:
            return None
        routes, score, runs, vectors, numbers = zip(*rows, strict=True)
        return cls(
            routes,
            np.array(score),
            np.array(runs),
            np.array(vectors),
            np.array(numbers, dtype=np.int64),
            relatives.share,
        )

    def alike(self, likeness: float) -> tuple[Floats, Floats]:
        """Say how alike the cells' tasks are to the task itself, (cells,), and to each other, (cells, cells).

        What a family has in common beyond its suite is the less, the more of the suite it is.
        """
        part = likeness * (1.0 - self.share)
        between = np.where(np.equal.outer(self.task, self.task), 1.0, part)
        return np.where(self.task == 0, 1.0, part), between

    @property
    def summary(self) -> tuple[EarlierRuns, ...]:
        """Say how often each route ran on the task, then on its family, and how well."""
        out = []
        for like in (False, True):
            inside = (self.task > 0) == like
            for route in sorted({r for r, i in zip(self.routes, inside.tolist(), strict=True) if i}):
                at = inside & np.array([r == route for r in self.routes])
                runs = self.runs[at]
                out.append(EarlierRuns(route, float(runs.sum()), float(np.average(self.score[at], weights=runs)), like))
        return tuple(out)


class Change(NamedTuple):
    """What earlier runs change about a task: success rates on the very task, given what happened."""

    shift: Floats
    """Added to the success rates expected without them, (routes,)."""
    var: Floats
    """The variance of each route's success rate on this task, (routes,)."""
    weights: Floats
    """(routes, cells): how much of each cell's surprise a route takes over."""
    cells: EarlierCells


def change(
    cells: EarlierCells,
    likeness: RouteLikeness,
    pooled: Pooled,
    rate: Callable[[Floats], Floats],
    x: Floats,
    routes: Sequence[Route],
    effects: Effects,
) -> Change:
    """Compute what the cells change for routes of a pool, on a task with vector x (dims,).

    `rate` turns pooled means into the success rates that were expected of the cells.
    """
    same_as_asked, alike = cells.alike(likeness.variances.likeness)
    between = alike * likeness.cov(cells.routes, cells.routes)
    between[np.diag_indices_from(between)] += likeness.variances.noise / np.maximum(cells.runs, 1e-9)
    with_cells = same_as_asked * likeness.cov(routes, cells.routes)  # (routes, cells)
    weights = np.linalg.solve(between, with_cells.T).T
    theirs = pooled.effects(cells.routes)
    rest = cells.score - rate(cells.x @ pooled.mean[: pooled.dims] + theirs.mean)
    # The pooled part is uncertain too, and the same uncertainty stands in what the cells are compared with.
    here = np.broadcast_to(x, (len(routes), len(x)))
    of_pool = pooled.covariance(x, effects).diagonal()
    across = pooled.cross_covariance(here, effects, cells.x, theirs)
    among = pooled.cross_covariance(cells.x, theirs, cells.x, theirs)
    left = likeness.var(routes) - (weights * with_cells).sum(axis=1)
    unsure = of_pool - 2.0 * (weights * across).sum(axis=1) + ((weights @ among) * weights).sum(axis=1)
    return Change(weights @ rest, np.maximum(left + unsure, 0.0), weights, cells)


def joint(
    of: Change, likeness: RouteLikeness, pooled: Pooled, x: Floats, routes: Sequence[Route], which: Sequence[int]
) -> Floats:
    """Compute the covariance of some routes' success rates on the task, given the earlier runs."""
    some, weights, cells = [routes[i] for i in which], of.weights[list(which)], of.cells
    same_as_asked, _ = cells.alike(likeness.variances.likeness)
    left = likeness.cov(some, some) - weights @ (same_as_asked * likeness.cov(some, cells.routes)).T
    effects, theirs = pooled.effects(some), pooled.effects(cells.routes)
    here = np.broadcast_to(x, (len(some), len(x)))
    across = weights @ pooled.cross_covariance(here, effects, cells.x, theirs).T
    among = weights @ pooled.cross_covariance(cells.x, theirs, cells.x, theirs) @ weights.T
    total = left + pooled.covariance(x, effects) - across - across.T + among
    return np.asarray((total + total.T) / 2.0)
