"""The cells a scorer was fitted on, with their task vectors, kept so that more outcomes can be added one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hmrouter.evidence.dataset import Dataset
from hmrouter.persistent import IntMap
from hmrouter.state import Bools, Floats, Ints, State
from hmrouter.types import Outcome, Route, Status, Task, text_hash

TaskCells = Mapping[int, tuple[float, float, float]]
"""The cells of one task: route -> score, weight (its trials, less what has faded) and fade."""


@dataclass(frozen=True, slots=True)
class CellChange:
    """The change of a cell by one more outcome."""

    task: int
    route: int
    old: float | None
    """The cell's score before, None if the cell is new."""
    new: float
    before: dict[int, float]
    """The task's cells before: route -> score."""
    faded: dict[int, float]
    """Those of them that had faded: route -> weight left. The others, and what is new, count in full."""


class Ledger:
    """Keeps cells by task and takes in more outcomes.

    Tasks are known by 64 bits of a hash of their suite and id: what is saved holds no texts and no names of tasks. A
    `copy` costs nothing and takes in outcomes of its own: nothing that the two share ever changes.

    >>> data = Dataset([Outcome(Task("t"), Route("gpt-5", "codex"), 1.0)])
    >>> ledger = Ledger.of(data, np.zeros((1, 2)))
    >>> ledger.add(Outcome(Task("t"), Route("gpt-5", "codex"), 0.0), np.zeros(2)).new
    0.5
    """

    def __init__(
        self,
        keys: Any,
        x: Floats,
        routes: Sequence[Route],
        task: Any,
        route: Any,
        score: Any,
        weight: Any,
        fade: Any | None = None,
        escalated: Any | None = None,
    ) -> None:
        """`keys` and `x` per task; `task` (sorted), `route`, `score`, `weight`, `fade`, `escalated` per cell. See `of`.

        `escalated`: whether the cell holds nothing but attempts after failed ones; None: none does.
        """
        self.routes = list(routes)
        self._x = np.asarray(x)
        self._cells: tuple[Ints, Ints, Floats, Floats] = (task, route, score, weight)
        self._fade: Floats | None = fade
        self._route_at = {r: i for i, r in enumerate(self.routes)}
        self._task_at = {int(key): i for i, key in enumerate(keys)}
        # What came after: key -> task, task -> key and vector, and the cells of every task that `add` touched.
        self._new_at = IntMap[int]()
        self._new = IntMap[tuple[int, Floats]]()
        self._touched = IntMap[TaskCells]()
        self._escalated = IntMap[bool]()
        for at in () if escalated is None else np.flatnonzero(escalated).tolist():
            self._escalated = self._escalated.put(_cell(int(task[at]), int(route[at])), True)

    @classmethod
    def of(cls, data: Dataset, x: Floats) -> Self:
        """Take the cells of a training set with task vectors x (tasks, dims)."""
        c = data.cells
        keys = [task_key(t) for t in data.tasks]
        return cls(keys, x, data.routes, c.task, c.route, c.score, c.weight, c.faded, c.escalated)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The identity of each task: hashes, so their order is random, and the same whenever the tasks came."""
        return np.array([*self._task_at, *(key for key, _ in self._added())], dtype=np.uint64)

    @property
    def n_tasks(self) -> int:
        """Number of tasks, run or not."""
        return len(self._task_at) + len(self._new)

    @property
    def dims(self) -> int:
        """Length of a task vector."""
        return int(self._x.shape[1])

    def task(self, key: int) -> int | None:
        """Find the place of a task by its key; None if it is not here."""
        found = self._task_at.get(key)
        return self._new_at.get(key) if found is None else found

    def vector(self, task: int) -> Floats:
        """The vector of a task."""
        added = self._new.get(task)
        return np.asarray(self._x[task] if added is None else added[1], dtype=np.float64)

    def vectors(self) -> Floats:
        """All task vectors, (tasks, dims)."""
        more = np.array([x for _, x in self._added()], dtype=self._x.dtype)
        return np.concatenate([self._x, more.reshape(len(more), self.dims)])

    def cells_of(self, task: int) -> TaskCells:
        """A task's cells: route -> score, weight and fade."""
        touched = self._touched.get(task)
        if touched is not None:
            return touched
        tasks, routes, scores, weights = self._cells
        own = slice(*np.searchsorted(tasks, [task, task + 1]))
        at = routes[own].tolist()
        fades = [1.0] * len(at) if self._fade is None else self._fade[own].tolist()
        return dict(zip(at, zip(scores[own].tolist(), weights[own].tolist(), fades, strict=True), strict=True))

    def _added(self) -> list[tuple[int, Floats]]:
        """Key and vector of each task that came after the first, in their order."""
        return [entry for _, entry in sorted(self._new.items(), key=lambda item: item[0])]

    def cells(self) -> tuple[Ints, Ints, Floats, Floats]:
        """All cells, by task and route: task, route, score, weight."""
        if not len(self._touched):
            return self._cells
        task, route, score, weight = self._joined(self._cells)
        return task, route, score, weight

    def fade(self) -> Floats | None:
        """Give the weight of each of the `cells` beside a fresh one; None if nothing had faded at the fit."""
        if self._fade is None or not len(self._touched):
            return self._fade
        return np.asarray(self._joined((*self._cells, self._fade))[-1])

    def escalated(self) -> Bools:
        """Tell which of the `cells` hold nothing but attempts after failed ones."""
        task, route, _, _ = self.cells()
        marks = {cell for cell, marked in self._escalated.items() if marked}
        if not marks:
            return np.zeros(len(task), dtype=bool)
        return np.array([_cell(*at) in marks for at in zip(task.tolist(), route.tolist(), strict=True)], dtype=bool)

    def _joined(self, arrays: Sequence[Any]) -> list[Any]:
        """Join the arrays of the cells as they were with those of touched tasks as they are now."""
        touched = dict(self._touched.items())
        kept = ~np.isin(self._cells[0], list(touched))
        rows = [(t, r, *values) for t, cells in touched.items() for r, values in cells.items()]
        more = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
        joined = [np.concatenate([old[kept], more[:, i].astype(old.dtype)]) for i, old in enumerate(arrays)]
        order = np.lexsort((joined[1], joined[0]))
        return [array[order] for array in joined]

    def add(self, outcome: Outcome, x: Floats) -> CellChange | None:
        """Take in one outcome of a task with vector x, as a fresh one; None if it says nothing about its route.

        The vector of a task that is known already is not replaced: its cells were learned with it.
        """
        if outcome.status is not Status.OK or outcome.score is None:
            return None
        if outcome.route not in self._route_at:
            self._route_at = self._route_at | {outcome.route: len(self.routes)}
            self.routes = [*self.routes, outcome.route]
        route, key = self._route_at[outcome.route], task_key(outcome.task)
        task = self.task(key)
        if task is None:
            task = self.n_tasks
            self._new = self._new.put(task, (key, np.asarray(x, dtype=self._x.dtype)))
            self._new_at = self._new_at.put(key, task)
        cells = self.cells_of(task)
        before = {r: s for r, (s, _, _) in cells.items()}
        faded = {} if self._fade is None else {r: f for r, (_, _, f) in cells.items() if f < 1.0}
        score, known, _ = cells.get(route, (0.0, 0.0, 0.0))
        weight = max(outcome.n_trials, 1)
        new = (score * known + outcome.score * weight) / (known + weight)
        self._touched = self._touched.put(task, {**cells, route: (new, known + weight, 1.0)})
        marked = outcome.attempt > 1 and (route not in cells or bool(self._escalated.get(_cell(task, route))))
        if marked or self._escalated.get(_cell(task, route)):
            self._escalated = self._escalated.put(_cell(task, route), marked)
        return CellChange(task, route, before.get(route), new, before, faded)

    def state(self) -> State:
        """Save all cells and vectors."""
        names = ("task", "route", "score", "weight")
        arrays: dict[str, Any] = {"keys": self.keys, "x": self.vectors()}
        arrays |= dict(zip(names, self.cells(), strict=True))
        if (fade := self.fade()) is not None:
            arrays["fade"] = fade
        if (escalated := self.escalated()).any():
            arrays["escalated"] = escalated
        return State(arrays, {"routes": [str(r) for r in self.routes]})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the ledger that `state` saved."""
        a = state.arrays
        routes = [Route.parse(r) for r in state.meta["routes"]]
        per_cell = [a[name] for name in ("task", "route", "score", "weight", "fade", "escalated") if name in a]
        if len({array.shape for array in per_cell}) > 1 or per_cell[0].ndim != 1 or len(a["keys"]) != len(a["x"]):
            raise ValueError("its tasks and cells have arrays of different lengths")
        return cls(a["keys"], a["x"], routes, a["task"], a["route"], a["score"], a["weight"], a.get("fade"),
                   a.get("escalated"))  # fmt: skip


def _cell(task: int, route: int) -> int:
    return task << 24 | route


def task_key(task: Task) -> int:
    """Hash a task's suite and id to 64 bits."""
    return int.from_bytes(hashlib.sha256("\x1f".join(task.key).encode("utf-8", "surrogatepass")).digest()[:8])


def text_key(task: Task) -> int | None:
    """Hash a task's text to 64 bits, or take the hash of one that is not kept; None if it never had any."""
    hashed = text_hash(task.text.strip()) if task.text.strip() else task.text_hash
    return int(hashed[:16], 16) if hashed else None
