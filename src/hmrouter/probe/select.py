"""Choose a batch for an aim: the most telling cells, one after the other, each as if those before it had been run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hmrouter.probe.aims import Aim
from hmrouter.state import Bools, Floats, Ints

MOST = 1000
"""The most runs in a batch: their outcomes would make a longer list useless."""


class CellChoice(NamedTuple):
    """One cell of a batch."""

    task: int
    route: int
    gain: float
    """By how much it lowers the standard deviation of what is asked."""


def choose(
    aim: Aim,
    free: Bools,
    order: Ints,
    cost: Floats | None = None,
    budget: float | None = None,
    runs: int | None = None,
) -> list[CellChoice]:
    """Choose the next cells among the `free` ones (tasks, routes), best first; the aim goes on as if they had been run.

    With a budget it is what a cell tells per dollar that counts, `cost` (routes,) being the dollars of one run. Of
    cells that tell the same, that of the task with the lowest `order` (tasks,) comes first.
    """
    free, out = free.copy(), list[CellChoice]()
    left = np.inf if budget is None else budget
    price = np.zeros(free.shape[1]) if cost is None or budget is None else cost
    while len(out) < min(MOST, runs if runs is not None else MOST):
        payable = free & (price <= left * (1.0 + 1e-12))[None, :]
        runnable = np.flatnonzero(payable.any(axis=0))
        if not len(runnable):
            break
        told = aim.told(runnable)
        value = np.where(payable[:, told.routes], told.preferred, -1.0)
        if budget is not None:
            value /= np.maximum(price[told.routes], 1e-6)[None, :]
        # Rounding must not decide between cells that tell the same.
        best = float(value.max())
        tasks, columns = np.nonzero(value >= best - 1e-9 * abs(best))
        first = int(order[tasks].argmin())
        task, column = int(tasks[first]), int(columns[first])
        route, before = int(told.routes[column]), told.of[column]
        after = max(before - told.variance[task, column], 0.0)
        out.append(CellChoice(task, route, float(np.sqrt(before) - np.sqrt(after))))
        aim.imagine(task, route)
        free[task, route] = False
        left -= float(price[route])
    return out
