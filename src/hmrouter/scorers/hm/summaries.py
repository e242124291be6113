"""Behavioural summaries z_m and z_h of a component's outcomes (paper, appendix "Scorer").

For component j (a model or a harness), s_qj is the mean outcome, on training task q, over the routes that contain
j, and n_j is how many of those routes have any outcome. z_j concatenates

- the sum of (2 s_qj - 1) x_q over tasks with an outcome, divided by the number of all training tasks;
- the mean of s_qj over those same tasks;
- log(1 + n_j).

A component without outcomes has a summary of zeros. `add` brings in one more outcome without going over the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from typing import Self

import numpy as np

from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.ledger import Ledger
from hmrouter.state import Floats, State
from hmrouter.types import Outcome


@dataclass(slots=True)
class _Sums:
    """The running sums of one component."""

    signed: Floats
    """Sum over tasks of (2 s - 1) x, (dims,)."""
    success: float = 0.0
    tasks: int = 0


class Summaries:
    """The summaries of every model and harness, kept up to date outcome by outcome.

    >>> from hmrouter.types import Route, Task
    >>> data = Dataset([Outcome(Task("t"), Route("gpt-5", "codex"), 1.0)])
    >>> Summaries.of(data, np.array([[0.5]])).model("gpt-5").round(3)
    array([0.5  , 1.   , 0.693])
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.dims = ledger.dims + 2
        """Length of a summary: that of a task vector plus two."""
        self.n_tasks = ledger.n_tasks
        """Number of training tasks."""
        self._run_routes: set[int] = set()
        self._n_routes: Counter[tuple[str, str]] = Counter()
        for r in np.unique(ledger.cells()[1]).tolist():
            self._count_route(r)
        self._models = self._pool([r.model for r in ledger.routes])
        self._harnesses = self._pool([r.harness for r in ledger.routes])

    @classmethod
    def of(cls, data: Dataset, x: Floats) -> Self:
        """Summarise a training set with task vectors x (tasks, dims)."""
        return cls(Ledger.of(data, x))

    def apart(self) -> Self:
        """Return a copy that can be updated alone; the ledger is shared, so that only one of the two may go on."""
        new = copy(self)
        new._run_routes, new._n_routes = set(self._run_routes), Counter(self._n_routes)
        new._models = {name: copy(sums) for name, sums in self._models.items()}
        new._harnesses = {name: copy(sums) for name, sums in self._harnesses.items()}
        return new

    def model(self, name: str) -> Floats:
        """Give z_m, the summary of a model, (dims,)."""
        return self._summary(self._models.get(name), self._n_routes["model", name])

    def harness(self, name: str) -> Floats:
        """Give z_h, the summary of a harness, (dims,)."""
        return self._summary(self._harnesses.get(name), self._n_routes["harness", name])

    def add(self, outcome: Outcome, x: Floats) -> bool:
        """Add one outcome of a task with vector x; False if its status says nothing about the route."""
        added = self._ledger.add(outcome, x)
        if added is None:
            return False
        self.n_tasks = self._ledger.n_tasks
        self._count_route(added.route)
        routes, x = self._ledger.routes, self._ledger.vector(added.task)
        after = added.before | {added.route: added.new}
        for sums, of in ((self._models, "model"), (self._harnesses, "harness")):
            name = getattr(outcome.route, of)
            old = [s for r, s in added.before.items() if getattr(routes[r], of) == name]
            new = [s for r, s in after.items() if getattr(routes[r], of) == name]
            entry = sums.setdefault(name, _Sums(np.zeros(len(x))))
            # fsum does not depend on the order, which loading changes: a loaded summary goes on exactly as before.
            if old:
                _shift(entry, x, fsum(old) / len(old), -1)
            _shift(entry, x, fsum(new) / len(new), +1)
        return True

    def state(self) -> State:
        """Give all cells and vectors, for `add` after loading, and the sums as they are, rounding included."""
        sums = {"models": self._rows(self._models), "harnesses": self._rows(self._harnesses)}
        names = {"models": list(self._models), "harnesses": list(self._harnesses)}
        return State.join(ledger=self._ledger.state(), sums=State(sums, names))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the summaries that gave this state."""
        self = cls(Ledger.from_state(state.part("ledger")))
        sums = state.part("sums")
        self._models = _sums(sums.meta["models"], sums.arrays["models"])
        self._harnesses = _sums(sums.meta["harnesses"], sums.arrays["harnesses"])
        return self

    # -- inside -----------------------------------------------------------------------------------------------

    def _count_route(self, at: int) -> None:
        if at not in self._run_routes:
            self._run_routes.add(at)
            route = self._ledger.routes[at]
            self._n_routes["model", route.model] += 1
            self._n_routes["harness", route.harness] += 1

    def _pool(self, names: list[str]) -> dict[str, _Sums]:
        """Compute the running sums per component name from the cells."""
        task, route, score, _ = self._ledger.cells()
        x, n_tasks = self._ledger.vectors(), self._ledger.n_tasks
        distinct = sorted(set(names))
        at = {name: i for i, name in enumerate(distinct)}
        of_route = np.array([at[name] for name in names], dtype=np.int64)
        if not len(task):
            return {}
        # One group per (component, task); s is the mean over the component's routes run on that task.
        group, inverse = np.unique(of_route[route] * n_tasks + task, return_inverse=True)
        s = np.bincount(inverse, weights=score) / np.bincount(inverse)
        component, of_task = np.divmod(group, n_tasks)
        starts = np.searchsorted(component, np.arange(len(distinct) + 1))
        out = {}
        for name, (start, end) in zip(distinct, pairwise(starts.tolist()), strict=True):
            if end > start:
                part = s[start:end]
                signed = (2.0 * part - 1.0) @ x[of_task[start:end]].astype(np.float64)
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


def _sums(names: Sequence[str], rows: Floats) -> dict[str, _Sums]:
    return {name: _Sums(row[:-2], float(row[-2]), int(row[-1])) for name, row in zip(names, rows, strict=True)}


def _shift(sums: _Sums, x: Floats, s: float, sign: int) -> None:
    sums.signed = sums.signed + sign * (2.0 * s - 1.0) * x
    sums.success += sign * s
    sums.tasks += sign
