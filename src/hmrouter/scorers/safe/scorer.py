"""Safe: the default scorer. The pooled model, calibrated, careful with routes that were never run.

On real benchmarks it ties with the best fixed route where everything was run, and gains where evidence is thin. What
other suites say about routes is its prior, which the suite's own outcomes soon outweigh. What suits single tasks is
added where it makes forecasts and choices better on tasks that were left out, and nowhere else. A handful of outcomes
(`too_few`) only updates what was believed before; probabilities are then what is expected of rates in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hmrouter.evidence.ledger import Ledger
from hmrouter.history.belief import SuiteBelief
from hmrouter.logits import logit
from hmrouter.scorers.base import Z90, Prediction, Scorer, Training
from hmrouter.scorers.safe.calibration import Calibration, expected_rate, too_few
from hmrouter.scorers.safe.cross_fit import FitCells, cross_fitted
from hmrouter.scorers.safe.features import TaskFeatures
from hmrouter.scorers.safe.gain import ENOUGH, Gain
from hmrouter.scorers.safe.memory.index import TaskIndex
from hmrouter.scorers.safe.memory.recall import Change, EarlierCells, change, joint
from hmrouter.scorers.safe.memory.routes import RouteLikeness
from hmrouter.scorers.safe.memory.variances import RunVariances
from hmrouter.scorers.safe.per_task import PerTask
from hmrouter.scorers.safe.pooled import Effects, Pooled
from hmrouter.scorers.safe.prior import Prior
from hmrouter.state import Floats, Ints, State
from hmrouter.types import Outcome, Route, Task

REFIT_GROWTH = 0.5
"""Scales and calibration are learned anew when the evidence has grown by this share."""
RECENT = 0.5
"""Calibration is learned on cells that have faded to no less than this: probabilities should hold now."""


class Safe(Scorer):
    """Predicts success by a closed-form model with an exact posterior, calibrated.

    A route that was never run comes before the best one that was only if it is better by more than `caution` standard
    deviations of their difference: with 0.5, if it is better with a probability of at least 69%.

    Suites that are learned together have a level each, so that a route does not look good because its suite is easy.

    It remembers what happened on a task, and on its like, unless `memory` is False.
    """

    name: ClassVar[str] = "safe"
    listens: ClassVar[bool] = True
    per_task_: PerTask | None
    """The per-task term; None where it does not pay."""

    def __init__(self, caution: float = 0.5, memory: bool = True) -> None:
        self.caution = caution
        self.memory = memory

    # -- learning -----------------------------------------------------------------------------------------------

    def fit(self, training: Training) -> Self:
        """Fit the pooled model, and calibrate it on tasks left out of the fit if there are enough of them."""
        data = training.data
        self.belief_ = training.belief if self.listens else None
        self.features_ = TaskFeatures.fit(training.x, data.suites)
        self.ledger_ = Ledger.of(data, self.features_(training.x, [t.suite for t in data.tasks]))
        self.index_ = TaskIndex.of(data.tasks) if self.memory else TaskIndex.empty()
        self._solve()
        return self

    def _solve(self) -> None:
        task, route, score, runs = self.ledger_.cells()
        x, routes, fade = self.ledger_.vectors(), self.ledger_.routes, self.ledger_.fade()
        families = self.index_.families(self.ledger_.n_tasks)
        group = _left_out_together(self.ledger_.keys, families, task)
        cells = FitCells(x, len(self.features_.suites), routes, task, route, score, fade, group, self.belief_)
        everything = np.ones(len(score), dtype=bool)
        self.per_task_, self.gain_, self.calibration_ = None, Gain(), Calibration()
        self.run_ = frozenset(routes[i] for i in np.unique(route).tolist())
        self.few_ = too_few(len(np.unique(task)), len(score))
        if self.few_:
            self.pooled_ = Pooled.fit(x, routes, task, route, score, Prior.before(self.belief_), fade)
        else:
            self.pooled_ = cells.pooled(everything)
            raw, term, self.gain_ = cross_fitted(cells, self.pooled_)
            recent = everything if fade is None else fade >= RECENT
            fresh = ~self.ledger_.escalated()
            recent = recent & fresh
            if self.gain_.clear:
                self.per_task_ = cells.per_task(self.pooled_, cells.sample)
                raw, recent = raw + term, recent & cells.sample
            # Probabilities are promises about fresh tasks. Where one route alone has been tried on those, its scores
            # cannot tell how predictions of different heights should be mapped.
            if fresh.all() or len(np.unique(route[recent])) > 1:
                self.calibration_ = Calibration.choose(raw[recent], score[recent], group[recent])
        rest = score - self._rate(self.pooled_.predict_cells(x, routes, task, route))
        usual = self.pooled_.prior.variance
        variances = RunVariances.learn(rest, score, runs, task, route, routes, families, usual)
        self.likeness_ = RouteLikeness.learn(variances, rest, runs, task, route, routes)
        self.cells_at_fit_ = len(score)
        self.cells_now_ = len(score)
        self._anchored()

    def observe(self, outcome: Outcome, x: Floats) -> None:
        """Learn from one more outcome by a rank-one update."""
        vars(self).update(vars(self.after(outcome, x)))

    def after(self, outcome: Outcome, x: Floats) -> Self:
        """Return a scorer with the rank-one update; this one answers as before."""
        self._require_fitted("pooled_")
        features = self.features_(np.asarray(x)[None, :], [outcome.task.suite])
        new = copy(self)
        new.ledger_ = copy(self.ledger_)
        added = new.ledger_.add(outcome, features[0])
        if added is None:
            return self
        if self.memory:
            new.index_ = self.index_.after(outcome.task, added.task)
        new.run_ = self.run_ | {outcome.route}
        new.cells_now_ = self.cells_now_ + (added.old is None)
        new.pooled_ = self.pooled_.after(added, new.ledger_.vector(added.task), new.ledger_.routes)
        return new._anchored()

    @property
    def refit_due(self) -> bool:
        """Whether the evidence has grown by half since variances and calibration were learned."""
        return self.cells_now_ > max(20.0, (1.0 + REFIT_GROWTH) * self.cells_at_fit_)

    def refitted(self) -> Self:
        """Return a scorer whose variances and calibration are learned again from all cells."""
        new = copy(self)
        new._solve()
        return new

    # -- saying -------------------------------------------------------------------------------------------------

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """Give the logits of the calibrated probabilities."""
        return self.predict(x, routes).score

    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        """Predict calibrated probabilities, merits with a margin for routes never run, and the posterior's width."""
        return self.predict_tasks(x, routes, ())

    def predict_tasks(self, x: Floats, routes: Sequence[Route], tasks: Sequence[Task]) -> Prediction:
        """Predict the same for these very tasks.

        For a task that ran before, or whose like did, they are those of this very task, given what happened.
        """
        features = self._checked(x)
        effects = self.pooled_.effects(routes)
        earlier = self._earlier(features, tasks)
        mean, var = self.pooled_.predict(features, routes, effects)
        spread = None
        if self.per_task_ is not None:
            mean = mean + self.per_task_.term(self.features_.text(features), routes)
            spread = self.per_task_.spread(self.features_.text(features), routes)
        mean = mean.round(12)  # routes that differ by rounding only are equal: the cheaper one may be preferred
        changes = {
            i: change(cells, self.likeness_, self.pooled_, self._rate, features[i], routes, effects)
            for i, cells in earlier.items()
        }
        for i, of in changes.items():
            var[i] = of.var
        success = self._probability(mean, var, changes)
        margin = self._margin(routes, effects, var)
        merit = success if margin is None else self._probability(mean - margin, var, changes)
        wide = var if spread is None else var + spread
        half = Z90 * np.sqrt(wide)

        def covariance(task: int, which: Sequence[int]) -> Floats:
            if task in changes:
                cov = joint(changes[task], self.likeness_, self.pooled_, features[task], routes, which)
            else:
                cov = self.pooled_.covariance(features[task], effects)[np.ix_(which, which)]
            return cov if spread is None else cov + np.diag(spread[task, list(which)])

        def contrasts(which: Sequence[int]) -> Floats:
            return effects.cov[np.ix_(which, which)]

        return Prediction(
            logit(success), success, merit,
            (np.clip(success - half, 0.0, 1.0), np.clip(success + half, 0.0, 1.0)),
            covariance, contrasts if spread is None else None,
            {i: of.cells.summary for i, of in changes.items()},
        )  # fmt: skip

    def _earlier(self, features: Floats, tasks: Sequence[Task]) -> dict[int, EarlierCells]:
        """Find the cells that tell about each task; one that was run gets the features that it was learned with."""
        found: dict[int, EarlierCells] = {}
        for i, task in enumerate(tasks if self.memory else ()):
            relatives = self.index_.find(task, self.ledger_)
            cells = EarlierCells.of(relatives, self.ledger_)
            if cells is not None:
                found[i] = cells
                if relatives.same:
                    features[i] = self.ledger_.vector(relatives.same[0])
        return found

    def _margin(self, routes: Sequence[Route], effects: Effects, var: Floats) -> Floats | None:
        """Compute how much better a route never run must look than the best one run, (routes,) or (tasks, routes).

        None where all were run; 0 for a route that is ahead of the best one by more than the margin.
        """
        never = np.array([r not in self.run_ for r in routes], dtype=bool)
        if not never.any():
            return None
        if self.anchor_ is None:  # nothing was run here: of what looks alike, what is known best
            return np.asarray(self.caution * np.sqrt(var))
        route, best = self.anchor_
        margin = self.caution * self.pooled_.difference_sd(effects, route)
        unsure = effects.mean - best <= margin
        return np.asarray(margin * (never & unsure))

    def _anchored(self) -> Self:
        """Remember the best route that was run, against which those never run are measured."""
        self.anchor_: tuple[Route, float] | None = None
        if self.run_:
            run = sorted(self.run_)
            effects = self.pooled_.effect(run).round(12)
            self.anchor_ = run[int(effects.argmax())], float(effects.max())
        return self

    def mean_interval(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats]:
        """Give a 90% interval of each route's mean score over these tasks, sampling noise included."""
        features = self._checked(x)
        mean, var = self.pooled_.mean_over(features, routes)
        if self.per_task_ is not None:
            more, unsure = self.per_task_.mean_over(self.features_.text(features), routes)
            mean, var = mean + more, var + unsure
        half = Z90 * np.sqrt(var)
        return np.clip(mean - half, 0.0, 1.0), np.clip(mean + half, 0.0, 1.0)

    def reliability(self) -> dict[str, Any]:
        """Report how far calibrated predictions were off on tasks left out of the fit and of the calibration.

        `per_task`: the weight of the per-task term, 1 or 0. `per_task_log_loss` and `per_task_regret`: its gain per
        left-out task, whether it is used or not.
        """
        self._require_fitted("pooled_")
        c, gain = self.calibration_, self.gain_
        if not c.cells:
            return {}
        term = {"per_task": float(self.per_task_ is not None), "per_task_log_loss": gain.log_loss}
        return {"kind": c.kind, "cells": c.cells, "ece": c.ece, **term, "per_task_regret": gain.regret}

    def _probability(self, mean: Floats, var: Floats, changes: Mapping[int, Change]) -> Floats:
        """Turn predicted rates, which may lie outside of 0 to 1, into probabilities, given what earlier runs change."""
        if self.few_:
            mean = mean.copy()
            for i, of in changes.items():
                mean[i] += of.shift
            return self.calibration_(expected_rate(mean, var).round(12))
        out = self.calibration_(mean)
        for i, of in changes.items():
            out[i] = Calibration()((out[i] + of.shift).round(12))
        return out

    def _rate(self, mean: Floats) -> Floats:
        """Turn pooled means into the success rates that they stand for, with which runs are compared."""
        return mean if self.few_ else self.calibration_(mean)

    def _checked(self, x: Floats) -> Floats:
        self._require_fitted("pooled_")
        return self.features_(x)

    # -- keeping ------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Give the posterior, the calibration, the cells and the settings."""
        self._require_fitted("pooled_")
        own = State(
            {"centre": self.features_.centre, "projection": self.features_.projection},
            {
                "caution": self.caution,
                "memory": self.memory,
                "cells_at_fit": self.cells_at_fit_,
                "cells_now": self.cells_now_,
                "suites": list(self.features_.suites),
                "longest": self.features_.longest,
                "few": self.few_,
                "gain": self.gain_.to_dict(),
            },
        )
        parts = {"own": own, "pooled": self.pooled_.state(), "ledger": self.ledger_.state()}
        parts |= {"calibration": self.calibration_.state(), "likeness": self.likeness_.state()}
        parts["index"] = self.index_.state()
        if self.belief_ is not None:
            parts["belief"] = self.belief_.state()
        if self.per_task_ is not None:
            parts["per_task"] = self.per_task_.state()
        return State.join(**parts)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the fitted scorer."""
        own = state.part("own")
        self = cls(own.meta["caution"], own.meta.get("memory", True))
        arrays, suites = own.arrays, own.meta["suites"]
        self.features_ = TaskFeatures(arrays["centre"], arrays["projection"], own.meta["longest"], tuple(suites))
        self.cells_at_fit_, self.cells_now_ = own.meta["cells_at_fit"], own.meta["cells_now"]
        self.few_, self.gain_ = own.meta["few"], Gain(**own.meta["gain"])
        self.per_task_ = PerTask.from_state(state.part("per_task")) if "per_task" in state.meta else None
        self.belief_ = SuiteBelief.from_state(state.part("belief")) if "belief" in state.meta else None
        self.pooled_ = Pooled.from_state(state.part("pooled"), self.belief_)
        self.calibration_ = Calibration.from_state(state.part("calibration"))
        self.ledger_ = Ledger.from_state(state.part("ledger"))
        if "index" in state.meta:
            self.index_ = TaskIndex.from_state(state.part("index"))
            self.likeness_ = RouteLikeness.from_state(state.part("likeness"))
        else:  # a file of a version without memory: it knows its tasks by their ids only
            self.index_ = TaskIndex.empty()
            self.likeness_ = RouteLikeness(RunVariances.usual(self.pooled_.prior.variance))
        self.run_ = frozenset(self.ledger_.routes[i] for i in {*self.ledger_.cells()[1].tolist()})
        return self._anchored()


class SafeAlone(Safe):
    """Safe without the results of other suites."""

    name: ClassVar[str] = "safe_alone"
    listens: ClassVar[bool] = False


def _left_out_together(keys: NDArray[np.uint64], families: Ints, task: Ints) -> Ints:
    """Number the groups of cells that are left out of a fit together: those of a family, where there are enough.

    Else texts would get the credit for what memory tells. Groups are in the order of hashes: which ones are left out
    at a time does not depend on when the tasks came.
    """
    least = np.full(int(families.max(initial=-1)) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(least, families, keys)
    by_family = least[families[task]]
    several = len(np.unique(by_family)) >= ENOUGH
    return np.unique(by_family if several else keys[task], return_inverse=True)[1].astype(np.int64)
