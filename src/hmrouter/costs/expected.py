"""Predict dollars and seconds: shrunk means of routes times a factor by text, updated outcome by outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from hmrouter.costs.by_text import TextFactor
from hmrouter.costs.cost import Cost, spent
from hmrouter.costs.estimates import LEAST, ExpectedMean, Shrunk, Variances, spread_of
from hmrouter.costs.on_task import TaskCosts
from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.means import RouteMeans
from hmrouter.state import Array, Bools, Floats, State
from hmrouter.types import Outcome, Route, Status, Task


class Amounts:
    """Predicts one amount that runs take, dollars or seconds."""

    def __init__(
        self, means: RouteMeans | None = None, variances: Variances | None = None, text: TextFactor | None = None
    ) -> None:
        self._means = RouteMeans() if means is None else means
        self._variances = variances
        self.text = TextFactor() if text is None else text
        self._shrunk: Shrunk | None = None

    @classmethod
    def fit(cls, data: Dataset, values: Floats, of_task: Bools, x: Floats | None) -> Self:
        """Learn from `values` per cell, NaN if unknown; `of_task`: where they are of the task, not a route's mean."""
        cells = data.cells
        means = RouteMeans.of_cells(data.routes, cells.route, values, cells.faded)
        own = ~np.isnan(values) & of_task
        route, task, seen = cells.route[own], cells.task[own], values[own]
        self = cls(means)
        self._shrunk = Shrunk.fit(means.counted(), spread_of(route, seen))
        self._variances = self._shrunk.variances
        if x is not None and len(seen):
            logs = np.log(np.maximum(seen, LEAST))
            rest = logs - (_sums(route, logs) / np.maximum(_sums(route), 1))[route]
            runs = _sums(task, minlength=len(data.tasks))
            ran = runs > 0
            effect = _sums(task, rest, len(data.tasks))[ran] / runs[ran]
            self.text = TextFactor.fit(x[ran], effect, runs[ran])
        return self

    def after(self, route: Route, value: float) -> Self:
        """Return amounts with one more run; variances and the factor by text are learned by `fit` only."""
        means = self._means.copy()
        means.add(route, value)
        return type(self)(means, self._variances, self.text)

    def of_all(self, routes: Sequence[Route]) -> list[ExpectedMean | None]:
        """Predict the amounts of many routes on a usual task; None where nothing is known."""
        shrunk = self._shrunk
        if shrunk is None:
            means = self._means.counted()
            shrunk = Shrunk.fit(means) if self._variances is None else Shrunk(means, self._variances)
            self._shrunk = shrunk  # the same whoever of several threads makes it
        return shrunk.of_all(routes)

    def state(self) -> State:
        """Give the sums, the variances and the weights of the text."""
        sums, text = self._means.state(), self.text.state()
        variances = None if self._variances is None else list(self._variances)
        return State({**sums.arrays, **text.arrays}, {**sums.meta, **text.meta, "variances": variances})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the amounts that gave this state."""
        kept = state.meta["variances"]
        variances = None if kept is None else Variances(*(_positive(v) for v in kept))
        return cls(RouteMeans.from_state(state), variances, TextFactor.from_state(state))


class ExpectedCosts:
    """Predicts the dollars and seconds that a run of each route takes.

    The mean of a route's runs is shrunk towards what its model and its harness usually take, the more the fewer runs
    there are; a pair that was never run is that estimate alone.

    >>> paid = {Route("a", "codex"): 4.0, Route("b", "codex"): 1.0}
    >>> ran = [Outcome(Task(f"t{i}"), route, 1.0, cost=c) for i in range(50) for route, c in paid.items()]
    >>> costs = ExpectedCosts.fit(Dataset(ran))
    >>> round(costs.of(Route("a", "codex")).dollars, 2), costs.of(Route("a", "aider")).basis
    (4.0, 'model')
    """

    def __init__(
        self, dollars: Amounts | None = None, seconds: Amounts | None = None, tasks: TaskCosts | None = None
    ) -> None:
        self._dollars = dollars or Amounts()
        self._seconds = seconds or Amounts()
        self._tasks = tasks or TaskCosts.empty()

    @classmethod
    def fit(cls, data: Dataset, x: Floats | None = None) -> Self:
        """Learn from the cells whose cost is known; with task vectors x, also how costs depend on texts."""
        c = data.cells
        own = ~c.cost_is_route_mean
        return cls(
            Amounts.fit(data, c.cost, own, x),
            Amounts.fit(data, c.seconds, np.ones(len(c), dtype=bool), x),
            TaskCosts.fit(data, [np.where(own, c.cost, np.nan), c.seconds]),
        )

    def after(self, outcome: Outcome) -> Self:
        """Return costs with one more outcome, if its run ended; a missing cost is its tokens at list prices."""
        dollars, seconds = self._dollars, self._seconds
        paid, took = spent(outcome), outcome.seconds if outcome.status is Status.OK else None
        if paid is not None:
            dollars = dollars.after(outcome.route, paid)
        if took is not None:
            seconds = seconds.after(outcome.route, took)
        own = None if outcome.cost_is_route_mean else paid
        return type(self)(dollars, seconds, self._tasks.after(outcome.task, outcome.route, (own, took)))

    def of(self, route: Route) -> Cost:
        """Predict the cost of a route on a usual task."""
        return self.of_all([route])[0]

    def of_all(self, routes: Sequence[Route]) -> list[Cost]:
        """Predict the costs of many routes on a usual task."""
        return [
            Cost(
                None if d is None else d.value, "unknown" if d is None else d.basis, None if d is None else d.interval,
                None if s is None else s.value, None if s is None else s.interval,
            )
            for d, s in zip(self._dollars.of_all(routes), self._seconds.of_all(routes), strict=True)
        ]  # fmt: skip

    def factors(self, x: Floats) -> tuple[Floats, Floats]:
        """Predict how many times the usual dollars and seconds tasks x (tasks, dims) take, (tasks,) each."""
        return self._dollars.text.of(x), self._seconds.text.of(x)

    def own_factors(
        self, task: Task, routes: Sequence[Route], by_text: tuple[float, float]
    ) -> tuple[Floats, Floats] | None:
        """Predict the same for each route on a task that was run before, beyond `by_text`; None if it never was."""
        return self._tasks.factors(task, routes, by_text)

    @property
    def by_text(self) -> bool:
        """Whether expected dollars depend on the text of a task."""
        return self._dollars.text.on

    def state(self) -> State:
        """Give the states of dollars and seconds in one."""
        dollars, parts = self._dollars.state(), {"seconds": self._seconds.state(), "tasks": self._tasks.state()}
        arrays = {f"{part}/{name}": array for part, of in parts.items() for name, array in of.arrays.items()}
        return State({**dollars.arrays, **arrays}, {**dollars.meta, **{p: dict(of.meta) for p, of in parts.items()}})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the costs that gave this state."""
        tasks = TaskCosts.from_state(state.part("tasks")) if "tasks" in state.meta else None  # older files
        return cls(Amounts.from_state(state), Amounts.from_state(state.part("seconds")), tasks)


def _sums(at: Array, values: Floats | None = None, minlength: int = 0) -> Floats:
    return np.asarray(np.bincount(at, weights=values, minlength=minlength), dtype=np.float64)


def _positive(value: float) -> float:
    if not 0.0 < float(value) < np.inf:
        raise ValueError(f"the variance {value} is not above 0")
    return float(value)
