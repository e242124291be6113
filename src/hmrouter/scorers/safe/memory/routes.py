"""S: how alike routes are on one task, beyond what the pooled model says of them.

The variances say it by name: routes that share a model or a harness are alike. Where many tasks were run on the same
routes, the suite shows more: which pairs of routes succeed on the same tasks. With K what the variances say, S is the
mean of K, counted as WEIGHT tasks per route, and of what the tasks show (expectation and maximisation in turn, with an
inverse-Wishart prior around K). Routes outside of that block follow from those inside as K says.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np

from hmrouter.scorers.safe.memory.variances import RunVariances
from hmrouter.state import Floats, Ints, State
from hmrouter.types import Route

WEIGHT = 3.0
"""How many tasks per route of the block the names count as."""
BLOCK = 64
"""Most routes whose likeness is learned pair by pair: those with the most cells."""
ROUNDS = 12
"""Rounds of expectation and maximisation: nine tenths of the way, or more, from the names to what they end at."""
WORK = 2e7
"""Bound on the numbers that a round goes through: tasks beyond it add little."""


class RouteLikeness:
    """The covariance of what is left of two routes' success on one task; for any routes, run or not."""

    def __init__(self, variances: RunVariances, routes: Sequence[Route] = (), learned: Floats | None = None) -> None:
        """`learned`: the covariance of `routes`, the block, as the suite shows it; None: as the variances say."""
        self.variances = variances
        self.routes = tuple(routes)
        self.learned = np.zeros((0, 0)) if learned is None else learned

    @classmethod
    def learn(
        cls, variances: RunVariances, rest: Floats, runs: Floats, task: Ints, route: Ints, routes: Sequence[Route]
    ) -> Self:
        """Learn from cells, sorted by task: `rest`, what the pooled model leaves of the mean of `runs` runs."""
        n = np.bincount(route, minlength=len(routes))
        block = np.sort(np.argsort(-n, kind="stable")[:BLOCK])
        block = block[n[block] > 1]
        if len(block) < 2:
            return cls(variances)
        place = np.full(len(routes), -1)
        place[block] = np.arange(len(block))
        inside = place[route] >= 0
        rest, noise, task, at = rest[inside], variances.noise / runs[inside], task[inside], place[route[inside]]
        some = tuple(routes[i] for i in block.tolist())
        by_name = cls(variances)._by_name(some, some)
        groups = _by_size(task, len(block))
        tasks = sum(len(cells) for cells in groups)
        if not tasks:
            return cls(variances)
        now, weight = by_name, WEIGHT * len(block)
        for _ in range(ROUNDS):
            total = np.zeros_like(now)
            for cells in groups:  # (tasks, cells of a task)
                own = now[at[cells]]  # (tasks, cells, block)
                seen = np.take_along_axis(own, at[cells][:, None, :], axis=2)
                seen[:, range(cells.shape[1]), range(cells.shape[1])] += noise[cells]
                solved = np.linalg.solve(seen, np.concatenate([own, rest[cells][:, :, None]], axis=2))
                mean = np.einsum("qcb,qc->qb", own, solved[:, :, -1])
                total += mean.T @ mean + len(cells) * now - np.einsum("qcb,qcd->bd", own, solved[:, :, :-1])
            now = (weight * by_name + total) / (weight + tasks)
            now = (now + now.T) / 2.0
        return cls(variances, some, now)

    def cov(self, routes: Sequence[Route], others: Sequence[Route]) -> Floats:
        """Compute the covariances, (routes, others)."""
        out = self._by_name(routes, others)
        if self.routes:
            out += self._reach(routes) @ self._surplus @ self._reach(others).T
        return out

    def var(self, routes: Sequence[Route]) -> Floats:
        """Compute the variance of each route, (routes,)."""
        out = np.full(len(routes), self.variances.cell)
        if self.routes:
            reach = self._reach(routes)
            out += ((reach @ self._surplus) * reach).sum(axis=1)
        return out

    def state(self) -> State:
        """Give the variances and what was learned of the block."""
        meta = {"variances": self.variances.to_dict(), "routes": [str(r) for r in self.routes]}
        return State({"learned": self.learned}, meta)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the likeness that gave this state."""
        routes = [Route.parse(r) for r in state.meta["routes"]]
        return cls(RunVariances(**state.meta["variances"]), routes, state.arrays["learned"])

    @cached_property
    def _inverse(self) -> Floats:
        return np.linalg.inv(self._by_name(self.routes, self.routes))

    @cached_property
    def _surplus(self) -> Floats:
        """What was learned less what the names say."""
        return self.learned - self._by_name(self.routes, self.routes)

    def _reach(self, routes: Sequence[Route]) -> Floats:
        """Express routes by those of the block, (routes, block): a route of the block is itself."""
        return self._by_name(routes, self.routes) @ self._inverse

    def _by_name(self, routes: Sequence[Route], others: Sequence[Route]) -> Floats:
        v = self.variances
        out = np.full((len(routes), len(others)), v.task)
        for variance, part in ((v.model, "model"), (v.harness, "harness")):
            codes: dict[str, int] = {}
            rows, columns = ([codes.setdefault(getattr(r, part), len(codes)) for r in x] for x in (routes, others))
            out += variance * np.equal.outer(rows, columns)
        pairs: dict[Route, int] = {}
        rows, columns = ([pairs.setdefault(r, len(pairs)) for r in x] for x in (routes, others))
        return np.asarray(out + v.pair * np.equal.outer(rows, columns))


def _by_size(task: Ints, block: int) -> list[Ints]:
    """Group tasks of at least two cells by their number of cells: arrays (tasks, cells) of places of cells.

    Tasks are taken as they come, as many as the bound on the work allows.
    """
    _, first, n = np.unique(task, return_index=True, return_counts=True)
    first, n = first[n > 1], n[n > 1]
    kept = np.cumsum(n.astype(np.float64) ** 2 * block) <= WORK
    kept[:1] = True
    first, n = first[kept], n[kept]
    return [first[n == size][:, None] + np.arange(size) for size in np.unique(n).tolist()]
