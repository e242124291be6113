"""Behavioural summaries z_m and z_h: what a component's outcomes say about it (paper, appendix "Scorer").

For component j (a model or a harness), s_qj is the mean outcome, on training task q, over the routes that contain
j, and n_j is how many of those routes have any outcome. z_j concatenates

- the sum of (2 s_qj - 1) x_q over tasks with an outcome, divided by the number of all training tasks;
- the mean of s_qj over those same tasks;
- log(1 + n_j).

A component without outcomes has a summary of zeros. `add` brings in one more outcome without going over the others.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Self

import numpy as np

from hmrouter.dataset import Dataset
from hmrouter.state import Array, Floats, State
from hmrouter.types import Outcome, Route, Status, Task


@dataclass(slots=True)
class _Sums:
    """The running sums of one component."""

    signed: Floats
    """sum over tasks of (2 s - 1) x, (dims,)"""
    success: float = 0.0
    tasks: int = 0


class Summaries:
    """The summaries of every model and harness, kept up to date outcome by outcome.

    >>> data = Dataset([Outcome(Task("t"), Route("gpt-5", "codex"), 1.0)])
    >>> Summaries.of(data, np.array([[0.5]])).model("gpt-5").round(3)
    array([0.5  , 1.   , 0.693])
    """

    def __init__(
        self,
        keys: Array,
        x: Floats,
        routes: Sequence[Route],
        task: Array,
        route: Array,
        score: Array,
        weight: Array,
    ) -> None:
        """`keys` and `x` per task; `task` (sorted), `route`, `score`, `weight` per cell. See `of`."""
        self._keys = np.asarray(keys, dtype=np.uint64)
        self._x = np.asarray(x)
        self._routes = list(routes)
        self._route_at = {r: i for i, r in enumerate(self._routes)}
        self._cells = tuple(np.asarray(a) for a in (task, route, score, weight))
        self._task_at = {int(key): i for i, key in enumerate(self._keys)}
        self._new_x: list[Floats] = []
        # Tasks touched by `add` have their cells here: task -> route -> (score, weight); others only in `_cells`.
        self._touched: dict[int, dict[int, tuple[float, float]]] = {}
        self._run_routes: set[int] = set()
        self._n_routes: Counter[tuple[str, str]] = Counter()
        for r in np.unique(self._cells[1]).tolist():
            self._count_route(r)
        self._models = self._pool([r.model for r in self._routes])
        self._harnesses = self._pool([r.harness for r in self._routes])

    @classmethod
    def of(cls, data: Dataset, x: Floats) -> Self:
        """The summaries of a training set with task vectors x (tasks, dims)."""
        c = data.cells
        keys = np.array([task_key(t) for t in data.tasks], dtype=np.uint64)
        return cls(keys, x, data.routes, c.task, c.route, c.score, c.weight)

    @property
    def dims(self) -> int:
        """Length of a summary: that of a task vector plus two."""
        return int(self._x.shape[1]) + 2

    @property
    def n_tasks(self) -> int:
        """Number of training tasks."""
        return len(self._task_at)

    def model(self, name: str) -> Floats:
        """z_m, (dims,)."""
        return self._summary(self._models.get(name), self._n_routes["model", name])

    def harness(self, name: str) -> Floats:
        """z_h, (dims,)."""
        return self._summary(self._harnesses.get(name), self._n_routes["harness", name])

    def add(self, outcome: Outcome, x: Floats) -> bool:
        """Bring in one outcome of a task with vector x; False if it says nothing about the route."""
        if outcome.status is not Status.OK or outcome.score is None:
            return False
        route = self._route_at.setdefault(outcome.route, len(self._routes))
        if route == len(self._routes):
            self._routes.append(outcome.route)
        task = self._task_index(outcome.task, x)
        x = self._vector(task)
        cells = self._cells_of(task)
        before = dict(cells)
        old_score, old_weight = cells.get(route, (0.0, 0.0))
        weight = max(outcome.n_trials, 1)
        mean = (old_score * old_weight + outcome.score * weight) / (old_weight + weight)
        cells[route] = (mean, old_weight + weight)
        self._count_route(route)
        for sums, of in ((self._models, "model"), (self._harnesses, "harness")):
            name = getattr(outcome.route, of)
            old = [s for r, (s, _) in before.items() if getattr(self._routes[r], of) == name]
            new = [s for r, (s, _) in cells.items() if getattr(self._routes[r], of) == name]
            entry = sums.setdefault(name, _Sums(np.zeros(len(x))))
            # fsum does not depend on the order, which loading changes: a loaded summary goes on exactly as before.
            if old:
                _shift(entry, x, fsum(old) / len(old), -1)
            _shift(entry, x, fsum(new) / len(new), +1)
        return True

    def state(self) -> State:
        """All cells and vectors, so that `add` goes on after loading, and the sums as they are, rounding included."""
        task = self._cells[0]
        keep = ~np.isin(task, list(self._touched)) if self._touched else np.ones(len(task), dtype=bool)
        rows = [(t, r, s, n) for t, cells in self._touched.items() for r, (s, n) in cells.items()]
        extra = np.array(rows, dtype=np.float64).reshape(-1, 4)
        merged = [np.concatenate([old[keep], extra[:, i].astype(old.dtype)]) for i, old in enumerate(self._cells)]
        order = np.lexsort((merged[1], merged[0]))
        new_x = np.array(self._new_x, dtype=self._x.dtype).reshape(-1, self._x.shape[1])
        arrays = {
            "keys": np.array(list(self._task_at), dtype=np.uint64),
            "x": np.concatenate([self._x, new_x]),
        }
        arrays |= {n: a[order] for n, a in zip(("task", "route", "score", "weight"), merged, strict=True)}
        arrays |= {"model_sums": self._rows(self._models), "harness_sums": self._rows(self._harnesses)}
        names = {"models": list(self._models), "harnesses": list(self._harnesses)}
        return State(arrays, {"routes": [str(r) for r in self._routes], **names})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """What `state` described."""
        a = state.arrays
        routes = [Route.parse(r) for r in state.meta["routes"]]
        self = cls(a["keys"], a["x"], routes, a["task"], a["route"], a["score"], a["weight"])
        self._models = _sums(state.meta["models"], a["model_sums"])
        self._harnesses = _sums(state.meta["harnesses"], a["harness_sums"])
        return self

    # -- inside -----------------------------------------------------------------------------------------------

    def _count_route(self, route: int) -> None:
        if route not in self._run_routes:
            self._run_routes.add(route)
            self._n_routes["model", self._routes[route].model] += 1
            self._n_routes["harness", self._routes[route].harness] += 1

    def _pool(self, names: list[str]) -> dict[str, _Sums]:
        """The running sums per component name, from the cells."""
        task, route, score, _ = self._cells
        distinct = sorted(set(names))
        at = {name: i for i, name in enumerate(distinct)}
        of_route = np.array([at[name] for name in names], dtype=np.int64)
        if not len(task):
            return {}
        # One group per (component, task); s is the mean over the component's routes run on that task.
        group, inverse = np.unique(of_route[route] * len(self._keys) + task, return_inverse=True)
        s = np.bincount(inverse, weights=score) / np.bincount(inverse)
        component, of_task = np.divmod(group, len(self._keys))
        starts = np.searchsorted(component, np.arange(len(distinct) + 1))
        out = {}
        for name, start, end in zip(distinct, starts, starts[1:], strict=False):
            if end > start:
                part = s[start:end]
                signed = (2.0 * part - 1.0) @ self._x[of_task[start:end]].astype(np.float64)
                out[name] = _Sums(signed, float(part.sum()), int(end - start))
        return out

    def _rows(self, sums: dict[str, _Sums]) -> Floats:
        rows = [[*s.signed, s.success, s.tasks] for s in sums.values()]
        return np.array(rows, dtype=np.float64).reshape(-1, self.dims)

    def _summary(self, sums: _Sums | None, n_routes: int) -> Floats:
        if sums is None or not sums.tasks:
            return np.zeros(self.dims)
        tail = [sums.success / sums.tasks, np.log1p(n_routes)]
        return np.concatenate([sums.signed / self.n_tasks, tail])

    def _task_index(self, task: Task, x: Floats) -> int:
        key = task_key(task)
        if key not in self._task_at:
            self._task_at[key] = len(self._task_at)
            self._new_x.append(np.asarray(x, dtype=self._x.dtype))
        return self._task_at[key]

    def _vector(self, task: int) -> Floats:
        old = len(self._x)
        return np.asarray(self._x[task] if task < old else self._new_x[task - old], dtype=np.float64)

    def _cells_of(self, task: int) -> dict[int, tuple[float, float]]:
        if task not in self._touched:
            tasks, routes, scores, weights = self._cells
            own = slice(*np.searchsorted(tasks, [task, task + 1]))
            values = zip(scores[own].tolist(), weights[own].tolist(), strict=True)
            self._touched[task] = dict(zip(routes[own].tolist(), values, strict=True))
        return self._touched[task]


def task_key(task: Task) -> int:
    """A task's identity as 64 bits: router files hold no texts and no names of tasks."""
    return int.from_bytes(hashlib.sha256("\x1f".join(task.key).encode("utf-8", "surrogatepass")).digest()[:8])


def _sums(names: Sequence[str], rows: Floats) -> dict[str, _Sums]:
    return {name: _Sums(row[:-2], float(row[-2]), int(row[-1])) for name, row in zip(names, rows, strict=True)}


def _shift(sums: _Sums, x: Floats, s: float, sign: int) -> None:
    sums.signed = sums.signed + sign * (2.0 * s - 1.0) * x
    sums.success += sign * s
    sums.tasks += sign
