"""One method on one split, judged: the row and the predictions behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hmrouter.bench.evaluate import Predictions, choose, dense, predict, realise, tie_order, uniform
from hmrouter.bench.experiments.base import Plan, Unit
from hmrouter.bench.experiments.common import prepared, row
from hmrouter.dataset import Split
from hmrouter.errors import InputError


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a method on a split."""

    row: dict[str, Any]
    predictions: Predictions | None
    """None for random and oracle, which predict nothing."""


def judge(unit: Unit, split: Split, plan: Plan) -> Judged:
    """Fit the unit's method on the split's training side and judge its choices on the test side."""
    test = split.test
    if not len(split.train.cells):
        raise InputError("the training side of this split has no outcome")
    if not len(test.cells):
        raise InputError("the test side of this split has no outcome")
    if unit.method == "random":
        return Judged(row(unit, realise(test, uniform(test)), split.train, None), None)
    seen, order = ~np.isnan(dense(test)), tie_order(split.train)
    if unit.method == "oracle":
        return Judged(row(unit, realise(test, choose(dense(test), seen, order)), split.train, None), None)
    training, x_test = prepared(split, plan)
    predictions = predict(unit.method, training, x_test, test)
    metrics = realise(test, choose(predictions.merit, seen, order), predictions.success)
    return Judged(row(unit, metrics, split.train, predictions.fit_seconds), predictions)
