"""Expected dollars and seconds: shrunk means of routes, times what a task's text says, updated outcome by outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from hmrouter.costs.by_text import TextFactor
from hmrouter.costs.cost import Cost, spent
from hmrouter.costs.estimates import LEAST, ExpectedMean, Shrunk, Variances, spread_of
from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.means import RouteMeans
from hmrouter.state import Array, Bools, Floats, State
from hmrouter.types import Outcome, Route, Status


class Amounts:
    """One amount that runs take, dollars or seconds."""

    def __init__(
        self, means: RouteMeans | None = None, variances: Variances | None = None, text: TextFactor | None = None
    ) -> None:
        self._means = RouteMeans() if means is None else means
        self._variances = variances
        self.text = TextFactor() if text is None else text
        self._shrunk: Shrunk | None = None

    @classmethod
    def fit(cls, data: Dataset, values: Floats, of_task: Bools, x: Floats | None) -> Self:
        """`values` per cell, NaN if unknown; `of_task`: where they are of the task, not the mean of a route."""
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
        """With one more run. How far routes vary, and what texts say, is learned by `fit` only."""
        means = self._means.copy()
        means.add(route, value)
        return type(self)(means, self._variances, self.text)

    def of_all(self, routes: Sequence[Route]) -> list[ExpectedMean | None]:
        """Of many routes, on a usual task."""
        shrunk = self._shrunk
        if shrunk is None:
            means = self._means.counted()
            shrunk = Shrunk.fit(means) if self._variances is None else Shrunk(means, self._variances)
            self._shrunk = shrunk  # the same whoever of several threads makes it
        return shrunk.of_all(routes)

    def state(self) -> State:
        """The sums, how far they vary, and the weights of the text."""
        sums, text = self._means.state(), self.text.state()
        variances = None if self._variances is None else list(self._variances)
        return State({**sums.arrays, **text.arrays}, {**sums.meta, **text.meta, "variances": variances})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The amounts that `state` described."""
        kept = state.meta["variances"]
        variances = None if kept is None else Variances(*(_positive(v) for v in kept))
        return cls(RouteMeans.from_state(state), variances, TextFactor.from_state(state))


class ExpectedCosts:
    """What a run of each route is expected to take, in dollars and seconds.

    The mean of a route's runs is shrunk towards what its model and its harness usually take, the more the fewer runs
    there are; a pair that was never run is that estimate alone.

    >>> from hmrouter.types import Task
    >>> paid = {Route("a", "codex"): 4.0, Route("b", "codex"): 1.0}
    >>> ran = [Outcome(Task(f"t{i}"), route, 1.0, cost=c) for i in range(50) for route, c in paid.items()]
    >>> costs = ExpectedCosts.fit(Dataset(ran))
    >>> round(costs.of(Route("a", "codex")).dollars, 2), costs.of(Route("a", "aider")).basis
    (4.0, 'model')
    """

    def __init__(self, dollars: Amounts | None = None, seconds: Amounts | None = None) -> None:
        self._dollars = dollars or Amounts()
        self._seconds = seconds or Amounts()

    @classmethod
    def fit(cls, data: Dataset, x: Floats | None = None) -> Self:
        """From the cells whose cost is known; with the vectors of the tasks, also what texts say of it."""
        c = data.cells
        return cls(
            Amounts.fit(data, c.cost, ~c.cost_is_route_mean, x),
            Amounts.fit(data, c.seconds, np.ones(len(c), dtype=bool), x),
        )

    def after(self, outcome: Outcome) -> Self:
        """With one more outcome, if the run came to its end; without a reported cost, its tokens at list prices."""
        dollars, seconds = self._dollars, self._seconds
        if (paid := spent(outcome)) is not None:
            dollars = dollars.after(outcome.route, paid)
        if outcome.status is Status.OK and outcome.seconds is not None:
            seconds = seconds.after(outcome.route, outcome.seconds)
        return type(self)(dollars, seconds)

    def of(self, route: Route) -> Cost:
        """The expected cost of a route on a usual task."""
        return self.of_all([route])[0]

    def of_all(self, routes: Sequence[Route]) -> list[Cost]:
        """The expected costs of many routes on a usual task."""
        return [
            Cost(
                None if d is None else d.value, "unknown" if d is None else d.basis, None if d is None else d.interval,
                None if s is None else s.value, None if s is None else s.interval,
            )
            for d, s in zip(self._dollars.of_all(routes), self._seconds.of_all(routes), strict=True)
        ]  # fmt: skip

    def factors(self, x: Floats) -> tuple[Floats, Floats]:
        """How many times the usual dollars and seconds tasks with vectors x (tasks, dims) take, (tasks,) each."""
        return self._dollars.text.of(x), self._seconds.text.of(x)

    @property
    def by_text(self) -> bool:
        """Whether texts say something of the dollars."""
        return self._dollars.text.on

    def state(self) -> State:
        """The dollars, and the seconds beside them."""
        dollars, seconds = self._dollars.state(), self._seconds.state()
        return State(
            {**dollars.arrays, **{f"seconds/{name}": array for name, array in seconds.arrays.items()}},
            {**dollars.meta, "seconds": dict(seconds.meta)},
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The costs that `state` described."""
        return cls(Amounts.from_state(state), Amounts.from_state(state.part("seconds")))


def _sums(at: Array, values: Floats | None = None, minlength: int = 0) -> Floats:
    return np.asarray(np.bincount(at, weights=values, minlength=minlength), dtype=np.float64)


def _positive(value: float) -> float:
    if not 0.0 < float(value) < np.inf:
        raise ValueError(f"the variance {value} is not above 0")
    return float(value)
