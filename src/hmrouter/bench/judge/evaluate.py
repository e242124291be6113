"""Measures how good choices and forecasts are on test tasks, always beside Random and Oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hmrouter.bench.judge.choices import dense, shares_of
from hmrouter.bench.judge.forecasts import auc, log_loss
from hmrouter.bench.judge.predict import predict
from hmrouter.bench.methods import REFERENCES
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Floats


@dataclass(frozen=True, slots=True)
class Metrics:
    """One method on the test tasks of one split. Accuracies are fractions, None where they do not apply."""

    accuracy: float
    oracle_accuracy: float
    normalized_accuracy: float | None
    cost_usd: float | None
    """Mean realised dollars per test task of the chosen routes, None unless all are known."""
    auc: float | None = None
    log_loss: float | None = None
    n_test: int = 0


def evaluate(method: str | Scorer, split: Split, training: Training, x_test: Floats) -> Metrics:
    """Fit a method, choose for every test task, and compare with what happened.

    `random` is its expectation and `oracle` the best outcome per task.
    """
    if method in REFERENCES:
        return realise(split.test, shares_of(str(method), split, None))
    found = predict(method, training, x_test, split.test)
    return realise(split.test, shares_of("", split, found), found.success)


def realise(test: Dataset, shares: Floats, success: Floats | None = None) -> Metrics:
    """Measure what came of choices given as shares, over the test tasks that have any outcome."""
    scores = dense(test)
    rows = ~np.isnan(scores).all(axis=1)
    scores, costs, shares = scores[rows], dense(test, "cost")[rows], shares[rows]
    accuracy = float(np.nansum(scores * shares) / max(1, len(scores)))
    oracle = float(np.nanmax(scores, axis=1).mean()) if len(scores) else 0.0
    known = bool(len(costs)) and not np.isnan(costs[shares > 0]).any()
    y = test.cells.score
    p = None if success is None else success[test.cells.task, test.cells.route]
    return Metrics(
        accuracy=accuracy,
        oracle_accuracy=oracle,
        normalized_accuracy=accuracy / oracle if oracle > 0 else None,
        cost_usd=float(np.nansum(costs * shares) / len(costs)) if known else None,
        auc=None if p is None else auc(y, p),
        log_loss=None if p is None else log_loss(y, p),
        n_test=len(scores),
    )
