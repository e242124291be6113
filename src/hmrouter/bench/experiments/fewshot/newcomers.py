"""Holds out routes, models and harnesses as if they were new: those that would be missed, and the paper's probe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hmrouter.bench.benchmarks.cells import outcomes_of
from hmrouter.bench.judge.choices import dense
from hmrouter.bench.judge.predict import Predictions, ask, timed_fit
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Floats
from hmrouter.types import Route

REVEALED = (1, 5, 10, 15, 20)
"""The paper's k: on how many training tasks the outcomes of a newcomer are shown."""
KINDS = ("route", "model", "harness")
LEAST_LOSS = 0.01
"""What the removal of a newcomer costs the oracle, at least: the others would never be missed."""


def missed(split: Split) -> list[tuple[str, str]]:
    """List (kind, name) of all whose removal costs the oracle enough and whose curve has all of its points.

    The rest must still have training outcomes, and the held-out unit must have them on as many tasks as are shown.
    """
    train, out = split.train, []
    names = ([str(r) for r in train.routes], train.models, train.harnesses)
    for kind, name in ((kind, name) for kind, all_of in zip(KINDS, names, strict=True) for name in all_of):
        routes = routes_of(train, kind, name)
        own = mask_of(train, routes)[train.cells.route]
        enough = len(np.unique(train.cells.task[own])) >= REVEALED[-1] and not own.all()
        if enough and oracle_loss(split.test, routes) > LEAST_LOSS + 1e-9:  # one task of a hundred is not more
            out.append((kind, name))
    return out


def routes_of(data: Dataset, kind: str, name: str) -> list[Route]:
    """The routes that are held out with a route, a model or a harness."""
    if kind == "route":
        return [r for r in data.routes if str(r) == name]
    return [r for r in data.routes if getattr(r, kind) == name]


def oracle_loss(test: Dataset, routes: Sequence[Route]) -> float:
    """Give what the oracle's accuracy loses without these routes; a task that only they were run on is lost."""
    scores = np.nan_to_num(dense(test), nan=0.0)[~np.isnan(dense(test)).all(axis=1)]
    if not len(scores):
        return 0.0
    rest = scores[:, ~mask_of(test, routes)]
    return float(scores.max(axis=1).mean() - rest.max(axis=1, initial=0.0).mean())


def probed(
    scorer: Scorer, training: Training, shown: Sequence[Dataset], routes: Sequence[Route], x_test: Floats, split: Split
) -> Iterator[Predictions]:
    """Fit once without the held-out routes; then observe their outcomes, a few more before each answer."""
    seconds = timed_fit(scorer, replace(training, data=split.train.withhold(routes=routes)))
    known_tasks: set[int] = set()
    for data in shown:
        own = np.flatnonzero(mask_of(data, routes)[data.cells.route])
        new = [c for c in own.tolist() if int(data.cells.task[c]) not in known_tasks]
        for cell, outcome in zip(new, outcomes_of(data, new), strict=True):
            scorer.observe(outcome, training.x[data.cells.task[cell]])
            if scorer.refit_due:
                scorer = scorer.refitted()
        known_tasks |= {int(data.cells.task[c]) for c in new}
        yield ask(scorer, x_test, split.test.routes, split.test.tasks, seconds)


def mask_of(data: Dataset, routes: Sequence[Route]) -> NDArray[np.bool_]:
    """Per route of the data, whether it is one of these."""
    return np.array([r in routes for r in data.routes], dtype=bool)
