"""One method on one split, judged: the row and the predictions behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hmrouter.bench.experiments.base import RunRequest, Unit
from hmrouter.bench.experiments.common import prepared, row
from hmrouter.bench.judge import evaluate
from hmrouter.bench.judge.evaluate import Predictions
from hmrouter.bench.judge.history import informed
from hmrouter.errors import InputError
from hmrouter.evidence.dataset import Split
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Floats


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a method on a split."""

    row: dict[str, Any]
    predictions: Predictions | None
    """None for random and oracle, which predict nothing."""


def judge(unit: Unit, split: Split, request: RunRequest, scorer: Scorer | None = None) -> Judged:
    """Fit the unit's method on the split's training side and judge its choices on the test side.

    Who wants to ask the scorer more afterwards makes it and passes it in.
    """
    for side, data in (("training", split.train), ("test", split.test)):
        if not len(data.cells):
            raise InputError(f"the {side} side of this split has no outcome")
    metrics, found = evaluate.judge(scorer or unit.method, split, lambda: _told(unit, split, request))
    return Judged(row(unit, metrics, split.train, found.fit_seconds if found else None), found)


def _told(unit: Unit, split: Split, request: RunRequest) -> tuple[Training, Floats]:
    """The vectors of the split, and what the other benchmarks say if the method listens to it."""
    training, x_test = prepared(split, request)
    for own in request.benchmarks:
        if own.name == unit.benchmark:
            training = informed(training, unit.method, own, request.benchmarks)
    return training, x_test
