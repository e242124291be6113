"""Splits the runs of test tasks into earlier ones, of which some are known, and later ones, which are chosen for.

Runs of a cell are exchangeable: of a cell with 3 successes in 5 runs, any run succeeded with a probability of 3/5. So
one earlier run is drawn of every cell with several, whether it is then known or not, and the rest are the later runs:
the same for every setting and every method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from hmrouter.evidence.dataset import Dataset, Split, hash_rank
from hmrouter.state import Bools, Floats
from hmrouter.types import Route

EARLIER = ("none", "best 1", "best 2", "best 4", "random 1", "random 4")
"""Settings: which routes' earlier runs are known on a test task."""
KINDS = ("best", "random")


@dataclass(frozen=True)
class Rerun:
    """A split in which test tasks were run before: what is known, and what is chosen for."""

    split: Split
    """Its test side holds the later runs."""
    known: Dataset
    """The training side, and the earlier runs of test tasks that are known."""
    earlier: Floats
    """Those runs by themselves: score by test task and route, NaN where none is known."""

    @classmethod
    def of_new_tasks(cls, split: Split) -> Self:
        """Take a split as it is: no test task was run before."""
        return cls(split, split.train, np.full((len(split.test.tasks), len(split.test.routes)), np.nan))


def repeated_routes(data: Dataset) -> list[Route]:
    """List the routes of which most cells were run several times: only of these there is a later run to judge by."""
    several = np.bincount(data.cells.route, weights=data.cells.trials > 1, minlength=len(data.routes))
    cells = np.bincount(data.cells.route, minlength=len(data.routes))
    return [r for r, n, of in zip(data.routes, several, cells, strict=True) if 2 * n > of > 0]


def rerun(split: Split, setting: str, seed: int) -> Rerun:
    """Draw the earlier runs; `setting` (`none`, `best 2`, `random 1`) says of which routes they are known per task.

    The best are those with the highest training means.
    """
    test, cells = split.test, split.test.cells
    several = cells.trials > 1
    drawn = _drawn(split, several, seed)
    left = np.where(several, cells.trials - 1, cells.trials)
    # A soft score stands for a mean that is not of whole successes: what is left of it stays within 0 and 1.
    later = np.where(
        several, np.clip((cells.score * cells.trials - drawn) / np.maximum(left, 1), 0.0, 1.0), cells.score
    )
    known = several & _among_first(split, several, setting, seed)
    ones = np.ones(int(known.sum()), dtype=np.int64)
    first = replace(cells.take(known), score=drawn[known], trials=ones, weight=ones.astype(np.float64))
    shown = test.with_cells(first)
    again = test.with_cells(replace(cells, score=later, trials=left, weight=np.maximum(left, 1).astype(np.float64)))
    ran = {test.tasks[i].key for i in np.unique(first.task).tolist()}
    everything = split.train.joined(shown.restrict(tasks=ran)) if ran else split.train
    earlier = np.asarray(shown.matrix().filled(np.nan))
    return Rerun(Split(split.number, split.train, again), everything, earlier)


def _drawn(split: Split, several: Bools, seed: int) -> Floats:
    """Draw one run of each cell with several: 1 or 0."""
    test, out = split.test, np.zeros(len(several))
    for i in np.flatnonzero(several).tolist():
        task, route = test.tasks[test.cells.task[i]], test.routes[test.cells.route[i]]
        draw = int.from_bytes(hash_rank("earlier", seed, split.number, *task.key, route)[:8]) / 2.0**64
        out[i] = float(draw < test.cells.score[i])
    return out


def _among_first(split: Split, several: Bools, setting: str, seed: int) -> Bools:
    """Mark, of each test task, the cells with several runs of the first k routes in the setting's order."""
    kind, _, count = setting.partition(" ")
    out = np.zeros(len(several), dtype=bool)
    if kind not in KINDS:
        return out
    test, means = split.test, np.nan_to_num(split.train.route_means(), nan=-1.0)
    for i, task in enumerate(test.tasks):
        own = [c for c in range(int(test.starts[i]), int(test.starts[i + 1])) if several[c]]
        if kind == "best":
            own.sort(key=lambda c: -means[test.cells.route[c]])
        else:
            own.sort(key=lambda c: hash_rank("known", seed, split.number, *task.key, test.routes[test.cells.route[c]]))
        out[own[: int(count)]] = True
    return out
