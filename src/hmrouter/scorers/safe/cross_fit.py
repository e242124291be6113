"""Predictions for tasks that were left out of the fit, and whether the per-task term makes them better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmrouter.scorers.base import Belief
from hmrouter.scorers.safe.calibration import FOLDS
from hmrouter.scorers.safe.gain import ENOUGH, Gain, gains_by_task
from hmrouter.scorers.safe.per_task import PerTask
from hmrouter.scorers.safe.pooled import Pooled
from hmrouter.scorers.safe.prior import Prior
from hmrouter.state import Floats
from hmrouter.types import Route

Bools = NDArray[np.bool_]
SAMPLE = 100_000
"""Cells that the per-task term is learned from and judged on, of whole tasks drawn at random."""
ROUNDS = 3
"""How often the term is cross-fitted, each time with other folds, unless the first shows that nothing is gained."""


@dataclass(frozen=True)
class FitCells:
    """Every cell that a fit uses (task, route, score), with the vectors of the tasks."""

    x: Floats
    """(tasks, dims); the last `suites` columns mark the suites of tasks."""
    suites: int
    routes: Sequence[Route]
    task: Any
    route: Any
    score: Floats
    fade: Floats | None
    group: Any
    """Cells with the same number are left out together: those of a task or of a family, numbered at random."""
    belief: Belief | None

    @property
    def groups(self) -> int:
        """How many groups of cells there are."""
        return int(self.group.max(initial=-1)) + 1

    @property
    def sample(self) -> Bools:
        """The cells of the first groups, SAMPLE of them at most."""
        n = np.cumsum(np.bincount(self.group, minlength=1))
        return np.asarray(self.group < np.searchsorted(n, SAMPLE, side="right"))

    def pooled(self, which: Bools) -> Pooled:
        """Fit the pooled model to these cells."""
        score, fade = self.score[which], None if self.fade is None else self.fade[which]
        prior = Prior.of(score, self.belief)
        return Pooled.fit(self.x, self.routes, self.task[which], self.route[which], score, prior, fade)

    def per_task(self, pooled: Pooled, which: Bools) -> PerTask:
        """Fit the per-task term to these cells, on top of a pooled model."""
        fade = None if self.fade is None else self.fade[which]
        return PerTask.fit(
            pooled, self.x, self.suites, self.routes, self.task[which], self.route[which], self.score[which], fade
        )

    def left_out(self, whole: Pooled, fold: Any, which: Bools, sample: Bools | None) -> tuple[Floats, Floats]:
        """Predict the cells `which`, each fold by a fit to the others: pooled predictions, and the per-task term.

        The term is predicted in `sample` only (None: nowhere). Both are arrays over all cells, zeros elsewhere.
        """
        raw, term = np.zeros(len(self.score)), np.zeros(len(self.score))
        features = self.x[:, : self.x.shape[1] - self.suites]
        for held in range(FOLDS):
            inside, outside = which & (fold != held), which & (fold == held)
            part = self.pooled(inside)
            raw[outside] = part.predict_cells(self.x, self.routes, self.task[outside], self.route[outside])
            # Leaving tasks out moves the level away from them; left in, that would look like a false slope.
            raw[outside] += (whole.effect(part.routes) - part.effect(part.routes)).mean()
            if sample is not None:
                own = outside & sample
                found = self.per_task(part, inside & sample)
                term[own] = found.of_cells(features, self.routes, self.task[own], self.route[own])
        return raw, term


def cross_fitted(cells: FitCells, whole: Pooled) -> tuple[Floats, Floats, Gain]:
    """Predict every cell by a fit without its task: pooled predictions, the per-task term in the sample, its gain."""
    everything = np.ones(len(cells.score), dtype=bool)
    if cells.groups < ENOUGH or cells.x.shape[1] == cells.suites:  # too little to tell, or no text to go by
        return *cells.left_out(whole, cells.group % FOLDS, everything, None), Gain()
    sample = cells.sample
    raw, term = cells.left_out(whole, cells.group % FOLDS, everything, sample)
    # Routes by name, so that the pools in which choices are compared do not depend on which came first.
    by_name = np.argsort(np.argsort([str(r) for r in cells.routes]))[cells.route[sample]]
    task, score = cells.group[sample], cells.score[sample]

    def gains(raw: Floats, term: Floats) -> tuple[Floats, Floats]:
        return gains_by_task(raw[sample], (raw + term)[sample], score, task, by_name)

    rounds = [gains(raw, term)]
    while len(rounds) < ROUNDS and not Gain.of(rounds).hopeless:
        shuffled = np.random.default_rng(len(rounds)).permutation(cells.groups)
        rounds.append(gains(*cells.left_out(whole, shuffled[cells.group] % FOLDS, sample, sample)))
    return raw, term, Gain.of(rounds)
