"""Cells served in batches of whole tasks, so that what depends on the task only is computed once per task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hmrouter.evidence.dataset import Dataset
from hmrouter.state import Floats
from hmrouter.types import Route


@dataclass(frozen=True, slots=True)
class TaskBatch:
    """Some tasks and all their cells; the grid is dense, what was not run has the weight 0."""

    x: Floats
    """(tasks, dims)"""
    y: Floats
    """Scores, (tasks, routes)."""
    weight: Floats
    """1 where the route was run on the task, else 0."""


class TaskBatches:
    """The cells of some routes in a data set.

    >>> from hmrouter.types import Outcome, Task
    >>> route = Route("gpt-5", "codex")
    >>> data = Dataset([Outcome(Task(f"t{i}"), route, 1.0) for i in range(5)])
    >>> [len(b.x) for b in TaskBatches(data, np.zeros((5, 2)), [route]).batches(cells=2)]
    [2, 2, 1]
    """

    def __init__(self, data: Dataset, x: Floats, routes: Sequence[Route]) -> None:
        column = {route: j for j, route in enumerate(routes)}
        of_route = np.array([column.get(route, -1) for route in data.routes], dtype=np.int64)
        kept = of_route[data.cells.route] >= 0
        self._task, self._route = data.cells.task[kept], of_route[data.cells.route[kept]]
        self._score = data.cells.score[kept].astype(np.float32)
        self._starts = np.searchsorted(self._task, np.arange(len(data.tasks) + 1))
        self._counts = np.diff(self._starts)
        self._x = np.asarray(x, dtype=np.float32)
        self._n_routes = len(routes)

    def __len__(self) -> int:
        """How many cells there are."""
        return len(self._score)

    def batches(self, cells: int, rng: np.random.Generator | None = None) -> Iterator[TaskBatch]:
        """Every task that has a cell once, about `cells` cells at a time; shuffled by `rng`, if given."""
        order = np.flatnonzero(self._counts)
        if rng is not None:
            order = rng.permutation(order)
        counts = self._counts[order]
        number = (np.cumsum(counts) - counts) // cells
        for tasks in np.split(order, np.flatnonzero(np.diff(number)) + 1):
            yield self._batch(tasks)

    def _batch(self, tasks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> TaskBatch:
        counts = self._counts[tasks]
        row = np.repeat(np.arange(len(tasks)), counts)
        cell = np.arange(len(row)) + np.repeat(self._starts[tasks] - (np.cumsum(counts) - counts), counts)
        y = np.zeros((len(tasks), self._n_routes), dtype=np.float32)
        weight = np.zeros_like(y)
        y[row, self._route[cell]], weight[row, self._route[cell]] = self._score[cell], 1.0
        return TaskBatch(self._x[tasks], y, weight)
