"""Safe: the default scorer. The pooled model, calibrated, careful with routes that were never run.

On real benchmarks it ties with the best fixed route where everything was run, and gains where evidence is thin. What
other suites say about routes is its prior, which the suite's own outcomes soon outweigh. What suits single tasks is
added where it makes forecasts and choices better on tasks that were left out, and nowhere else. A handful of outcomes
(`too_few`) only updates what was believed before; probabilities are then what is expected of rates in [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from hmrouter.evidence.ledger import Ledger
from hmrouter.history.belief import SuiteBelief
from hmrouter.logits import logit
from hmrouter.scorers.base import Z90, Prediction, Scorer, Training, require_dims
from hmrouter.scorers.safe.calibration import Calibration, expected_rate, too_few
from hmrouter.scorers.safe.cross_fit import FitCells, cross_fitted
from hmrouter.scorers.safe.gain import Gain
from hmrouter.scorers.safe.per_task import PerTask
from hmrouter.scorers.safe.pooled import Effects, Pooled
from hmrouter.scorers.safe.prior import Prior
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route

FEATURES = 34
"""Task features of the linear model: as many as the default embedder's leading topics and its two length columns."""
REFIT_GROWTH = 0.5
"""Scales and calibration are learned anew when the evidence has grown by this share."""
RECENT = 0.5
"""Calibration is learned on cells that have faded to no less than this: probabilities should hold now."""


class Safe(Scorer):
    """Predicts success by a closed-form model with an exact posterior, calibrated.

    A route that was never run comes before the best one that was only if it is better by more than `caution` standard
    deviations of their difference: with 0.5, if it is better with a probability of at least 69%.

    Suites that are learned together have a level each, so that a route does not look good because its suite is easy.
    """

    name: ClassVar[str] = "safe"
    listens: ClassVar[bool] = True
    per_task_: PerTask | None
    """The per-task term; None where it does not pay."""

    def __init__(self, caution: float = 0.5) -> None:
        self.caution = caution

    # -- learning -----------------------------------------------------------------------------------------------

    def fit(self, training: Training) -> Self:
        """Fit the pooled model, and calibrate it on tasks left out of the fit if there are enough of them."""
        x = np.asarray(training.x, dtype=np.float64)
        self.suites_ = list(training.data.suites) if len(training.data.suites) > 1 else []
        self.belief_ = training.belief if self.listens else None
        self.centre_, self.projection_ = features_of(x)
        self.longest_ = np.inf
        self.longest_ = float(np.linalg.norm(self._features(x), axis=1).max(initial=0.0))
        suites = [t.suite for t in training.data.tasks]
        self.ledger_ = Ledger.of(training.data, self._of_suites(self._features(x), suites))
        self._solve()
        return self

    def _solve(self) -> None:
        task, route, score, _ = self.ledger_.cells()
        x, routes, fade = self.ledger_.vectors(), self.ledger_.routes, self.ledger_.fade()
        # Tasks in the order of their hashes: which ones are left out together does not depend on when they came.
        _, group = np.unique(self.ledger_.keys[task], return_inverse=True)
        cells = FitCells(x, len(self.suites_), routes, task, route, score, fade, group, self.belief_)
        everything = np.ones(len(score), dtype=bool)
        self.per_task_, self.gain_, self.calibration_ = None, Gain(), Calibration()
        self.run_ = frozenset(routes[i] for i in np.unique(route).tolist())
        self.few_ = too_few(cells.tasks, len(score))
        if self.few_:
            self.pooled_ = Pooled.fit(x, routes, task, route, score, Prior.before(self.belief_), fade)
        else:
            self.pooled_ = cells.pooled(everything)
            raw, term, self.gain_ = cross_fitted(cells, self.pooled_)
            recent = everything if fade is None else fade >= RECENT
            if self.gain_.clear:
                self.per_task_ = cells.per_task(self.pooled_, cells.sample)
                raw, recent = raw + term, recent & cells.sample
            self.calibration_ = Calibration.choose(raw[recent], score[recent], group[recent])
        self.cells_at_fit_ = len(score)
        self.cells_now_ = len(score)
        self._anchored()

    def observe(self, outcome: Outcome, x: Floats) -> None:
        """Learn from one more outcome by a rank-one update."""
        vars(self).update(vars(self.after(outcome, x)))

    def after(self, outcome: Outcome, x: Floats) -> Self:
        """Return a scorer with the rank-one update; the two share the ledger, which only learning reads."""
        features = self._of_suites(self._checked(np.asarray(x)[None, :]), [outcome.task.suite])
        added = self.ledger_.add(outcome, features[0])
        if added is None:
            return self
        new = copy(self)
        new.run_ = self.run_ | {outcome.route}
        new.cells_now_ = self.cells_now_ + (added.old is None)
        new.pooled_ = self.pooled_.after(added, self.ledger_.vector(added.task), self.ledger_.routes)
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
        features = self._checked(x)
        effects = self.pooled_.effects(routes)
        mean, var = self.pooled_.predict(features, routes, effects)
        spread = None
        if self.per_task_ is not None:
            mean = mean + self.per_task_.term(self._text(features), routes)
            spread = self.per_task_.spread(self._text(features), routes)
        mean = mean.round(12)  # routes that differ by rounding only are equal: the cheaper one may be preferred
        success = self._probability(mean, var)
        margin = self._margin(routes, effects, var)
        merit = success if margin is None else self._probability(mean - margin, var)
        wide = var if spread is None else var + spread
        half = Z90 * np.sqrt(wide)

        def joint(task: int, which: Sequence[int]) -> Floats:
            cov = self.pooled_.covariance(features[task], effects)[np.ix_(which, which)]
            return cov if spread is None else cov + np.diag(spread[task, list(which)])

        def contrasts(which: Sequence[int]) -> Floats:
            return effects.cov[np.ix_(which, which)]

        return Prediction(
            logit(success), success, merit,
            (np.clip(success - half, 0.0, 1.0), np.clip(success + half, 0.0, 1.0)),
            joint, contrasts if spread is None else None,
        )  # fmt: skip

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
            more, unsure = self.per_task_.mean_over(self._text(features), routes)
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

    def _probability(self, mean: Floats, var: Floats) -> Floats:
        """Turn predicted rates, which may lie outside of 0 to 1, into probabilities."""
        return self.calibration_(expected_rate(mean, var).round(12) if self.few_ else mean)

    def _text(self, features: Floats) -> Floats:
        """Cut off the columns that mark suites."""
        return features[:, : features.shape[1] - len(self.suites_)]

    def _checked(self, x: Floats) -> Floats:
        self._require_fitted("pooled_")
        require_dims(x, len(self.centre_))
        return self._features(np.asarray(x, dtype=np.float64))

    def _features(self, x: Floats) -> Floats:
        # A missing text is a row of zeros: it gets the mean task's features, not those of an extreme one.
        known = np.abs(x).max(axis=1, initial=0.0) > 0
        features = np.where(known[:, None], (x - self.centre_) @ self.projection_, 0.0)
        # Unlike any training text: no further out than the farthest of them, where the linear model was never seen.
        norm = np.linalg.norm(features, axis=1, keepdims=True)
        features *= np.minimum(1.0, self.longest_ / np.maximum(norm, 1e-300))
        return np.hstack([features, np.zeros((len(x), len(self.suites_)))])

    def _of_suites(self, features: Floats, suites: Sequence[str]) -> Floats:
        """Mark each task's suite in its features; a suite that was not in the fit has the mean level."""
        first = features.shape[1] - len(self.suites_)
        for row, suite in zip(features, suites, strict=True):
            if suite in self.suites_:
                row[first + self.suites_.index(suite)] = 1.0
        return features

    # -- keeping ------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Give the posterior, the calibration, the cells and the settings."""
        self._require_fitted("pooled_")
        own = State(
            {"centre": self.centre_, "projection": self.projection_},
            {
                "caution": self.caution,
                "cells_at_fit": self.cells_at_fit_,
                "cells_now": self.cells_now_,
                "suites": self.suites_,
                "longest": self.longest_,
                "few": self.few_,
                "gain": self.gain_.to_dict(),
            },
        )
        parts = {"own": own, "pooled": self.pooled_.state(), "ledger": self.ledger_.state()}
        parts["calibration"] = self.calibration_.state()
        if self.belief_ is not None:
            parts["belief"] = self.belief_.state()
        if self.per_task_ is not None:
            parts["per_task"] = self.per_task_.state()
        return State.join(**parts)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the fitted scorer."""
        own = state.part("own")
        self = cls(own.meta["caution"])
        self.centre_, self.projection_ = own.arrays["centre"], own.arrays["projection"]
        self.cells_at_fit_, self.cells_now_ = own.meta["cells_at_fit"], own.meta["cells_now"]
        self.suites_, self.longest_ = list(own.meta["suites"]), own.meta["longest"]
        self.few_, self.gain_ = own.meta["few"], Gain(**own.meta["gain"])
        self.per_task_ = PerTask.from_state(state.part("per_task")) if "per_task" in state.meta else None
        self.belief_ = SuiteBelief.from_state(state.part("belief")) if "belief" in state.meta else None
        self.pooled_ = Pooled.from_state(state.part("pooled"), self.belief_)
        self.calibration_ = Calibration.from_state(state.part("calibration"))
        self.ledger_ = Ledger.from_state(state.part("ledger"))
        self.run_ = frozenset(self.ledger_.routes[i] for i in np.unique(self.ledger_.cells()[1]).tolist())
        return self._anchored()


class SafeAlone(Safe):
    """Safe without the results of other suites."""

    name: ClassVar[str] = "safe_alone"
    listens: ClassVar[bool] = False


def features_of(x: Floats) -> tuple[Floats, Floats]:
    """Find centre (dims,) and projection (dims, features) of the texts: leading directions, at unit mean norm."""
    known = x[np.abs(x).max(axis=1, initial=0.0) > 0]
    centre = known.mean(axis=0) if len(known) else np.zeros(x.shape[1])
    if len(known) < 2:
        return centre, np.zeros((x.shape[1], 0))
    centred = known - centre
    values, vectors = np.linalg.eigh(centred.T @ centred / len(known))
    order = np.argsort(-values, kind="stable")[:FEATURES]
    kept = order[values[order] > 1e-9 * max(values.max(), 1e-12)]
    directions = vectors[:, kept]
    # An eigenvector's sign is arbitrary; fixed, so that every machine has the same features.
    directions = directions * np.where(directions[np.abs(directions).argmax(axis=0), range(len(kept))] < 0, -1.0, 1.0)
    norm = float(np.linalg.norm(centred @ directions, axis=1).mean())
    return centre, np.ascontiguousarray(directions / (norm if norm > 0 else 1.0))
