"""What earlier runs on a task cost, and what that says about the next run of each route on it.

    log cost_qr = log usual_r + s_q + o_qr + noise

On one task all routes are dearer or cheaper together (s), and each has something of its own (o). Both are normal; their
variances are moments of the training cells, shrunk to what public benchmarks show. Given the earlier runs of a task,
the expected factor of each route is in closed form. Dollars and seconds are treated alike, each by itself.

A mean of dollars lies above the exponential of their mean logarithm, the more the wider they spread; on a task of which
more is known they spread less. So the factor has a part for that, as far as a route's own runs show it (`skew`): the
mean of a single run is that run.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from hmrouter.costs.estimates import LEAST
from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.ledger import task_key, text_key
from hmrouter.persistent import IntMap
from hmrouter.state import Array, Floats, Ints, State
from hmrouter.types import Route, Task

SHARED, OWN = 0.45, 0.2
"""Shares of the variance of a run's log dollars around its route's: of the task, and of the pair on it. About the
middle of four public benchmarks whose costs are known per task (docs/costs.md)."""
USUAL = 0.7
"""That variance, where there are few runs."""
PRIOR_TASKS = 20.0
"""The number of tasks that these count as."""


class Spread(NamedTuple):
    """Variances of log amounts around a route's usual one: of the task, of the pair on it, of a single run."""

    task: float = SHARED * USUAL
    pair: float = OWN * USUAL
    noise: float = (1.0 - SHARED - OWN) * USUAL

    @classmethod
    def learn(cls, rest: Floats, task: Ints) -> Self:
        """Learn from log amounts less those of their routes, and the tasks they are of."""
        _, at, n = np.unique(task, return_inverse=True, return_counts=True)
        if not len(rest):
            return cls()
        tasks = float(len(n))
        total = (tasks * float((rest**2).mean()) + PRIOR_TASKS * USUAL) / (tasks + PRIOR_TASKS)
        pairs, several = float((n * (n - 1)).sum()), float((n > 1).sum())
        common = float((np.bincount(at, weights=rest) ** 2).sum() - (rest**2).sum()) / pairs if pairs else 0.0
        shared = (several * common + PRIOR_TASKS * SHARED * total) / (several + PRIOR_TASKS)
        shared = min(max(shared, 0.05 * total), 0.9 * total)
        own = OWN / (1.0 - SHARED) * (total - shared)
        return cls(shared, own, total - shared - own)


Run = tuple[Route, float, float, float]
"""A route, its mean log dollars and log seconds on a task less its usual ones (NaN if unknown), and its runs there."""


class TaskCosts:
    """Remembers what runs on each task took. It never changes: `after` gives another.

    Tasks are known by hashes of their ids and of their texts.
    """

    def __init__(
        self,
        usual: dict[Route, tuple[float, float]],
        skew: dict[Route, tuple[float, float]],
        spreads: Sequence[Spread],
        arrays: dict[str, Array],
    ) -> None:
        """`usual`: mean log dollars and log seconds of each route. `skew`: how far their means lie above these, as a
        share of what the spread says, from 0 to 1. `arrays`: as `fit` makes them."""
        self._usual, self._skew, self.spreads, self._arrays = usual, skew, tuple(spreads), arrays
        self._routes = list(usual)
        self._more = IntMap[tuple[Run, ...]]()

    @classmethod
    def fit(cls, data: Dataset, values: Sequence[Floats]) -> Self:
        """Learn from dollars and seconds per cell, NaN where they are unknown or not the task's own."""
        c = data.cells
        logs = np.stack([np.log(np.maximum(v, LEAST)) for v in values], axis=1)
        means = np.stack([_route_means(c.route, of, len(data.routes)) for of in logs.T], axis=1)
        rest = logs - means[c.route]
        known = ~np.isnan(rest).all(axis=1)
        spreads = [Spread.learn(of[~np.isnan(of)], c.task[~np.isnan(of)]) for of in rest.T]
        ran = np.unique(c.task[known])
        labels = [(label, i) for i in ran.tolist() for label in _labels(data.tasks[i])]
        labels.sort()
        arrays: dict[str, Array] = {
            "label": np.array([label for label, _ in labels], dtype=np.uint64),
            "label_task": np.array([i for _, i in labels], dtype=np.int32),
            "task": c.task[known].astype(np.int32), "route": c.route[known].astype(np.int32),
            "rest": rest[known].astype(np.float32), "runs": np.maximum(c.weight[known], 1e-3).astype(np.float32),
        }  # fmt: skip
        above = [
            np.log(_route_means(c.route, np.maximum(v, LEAST), len(data.routes))) - m
            for v, m in zip(values, means.T, strict=True)
        ]
        skews = np.stack([np.clip(2.0 * a / sum(of), 0.0, 1.0) for a, of in zip(above, spreads, strict=True)], axis=1)
        return cls(_by_route(data.routes, means), _by_route(data.routes, np.nan_to_num(skews)), spreads, arrays)

    @classmethod
    def empty(cls) -> Self:
        """Remember nothing."""
        return cls.fit(Dataset([]), [np.zeros(0), np.zeros(0)])

    def after(self, task: Task, route: Route, amounts: tuple[float | None, float | None]) -> Self:
        """Return costs that also remember one more run, its dollars and seconds; a route without usual ones is not."""
        usual = self._usual.get(route, (np.nan, np.nan))
        rest = [np.nan if v is None else float(np.log(max(v, LEAST))) - u for v, u in zip(amounts, usual, strict=True)]
        if np.isnan(rest).all():
            return self
        new = copy(self)
        for label in _labels(task):
            new._more = new._more.put(label, (*(new._more.get(label) or ()), (route, rest[0], rest[1], 1.0)))
        return new

    def factors(
        self, task: Task, routes: Sequence[Route], by_text: tuple[float, float]
    ) -> tuple[Floats, Floats] | None:
        """Compute how many times its usual dollars and seconds each route takes on a task; None if nothing ran there.

        `by_text`: the factors that the task's text gives, from which earlier runs lead away.
        """
        runs = self._runs(task)
        if not runs:
            return None
        found = [
            self._factor(k, [(r, values[k], n) for r, *values, n in runs], routes, float(np.log(text)))
            for k, text in enumerate(by_text)
        ]
        return found[0], found[1]

    def state(self) -> State:
        """Give the arrays; what came after the fit is put among them."""
        rows = sorted(self._more.items(), key=lambda item: item[0])
        a, first = self._arrays, int(self._arrays["task"].max(initial=-1)) + 1
        at = {r: i for i, r in enumerate(self._routes)}
        # Tasks that came later get a number per label: that of an id and that of a text hold the same runs.
        more = [(first + i, at[r], (d, s), n) for i, (_, runs) in enumerate(rows) for r, d, s, n in runs]
        labels = np.concatenate([a["label"], np.array([label for label, _ in rows], dtype=np.uint64)])
        numbers = np.concatenate([a["label_task"], np.arange(first, first + len(rows), dtype=np.int32)])
        order = np.argsort(labels, kind="stable")
        arrays = {
            "label": labels[order], "label_task": numbers[order],
            "task": np.concatenate([a["task"], np.array([m[0] for m in more], dtype=np.int32)]),
            "route": np.concatenate([a["route"], np.array([m[1] for m in more], dtype=np.int32)]),
            "rest": np.concatenate([a["rest"], np.array([m[2] for m in more], dtype=np.float32).reshape(-1, 2)]),
            "runs": np.concatenate([a["runs"], np.array([m[3] for m in more], dtype=np.float32)]),
            "usual": np.array([self._usual[r] for r in self._routes], dtype=np.float64).reshape(-1, 2),
            "skew": np.array([self._skew[r] for r in self._routes], dtype=np.float64).reshape(-1, 2),
        }  # fmt: skip
        for name in ("rest", "usual"):  # a router file holds no NaN
            arrays[f"{name}_known"] = ~np.isnan(arrays[name])
            arrays[name] = np.nan_to_num(arrays[name])
        return State(arrays, {"routes": [str(r) for r in self._routes], "spreads": [list(s) for s in self.spreads]})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the costs that gave this state."""
        arrays: dict[str, Any] = dict(state.arrays)
        for name in ("rest", "usual"):
            arrays[name] = np.where(arrays[f"{name}_known"], arrays[name], np.nan)
        routes = [Route.parse(r) for r in state.meta["routes"]]
        usual, skew = (_by_route(routes, arrays[name]) for name in ("usual", "skew"))
        return cls(usual, skew, [Spread(*map(float, s)) for s in state.meta["spreads"]], arrays)

    def _runs(self, task: Task) -> list[Run]:
        """List the runs on a task: by its id, else by its text."""
        for label in _labels(task):
            found = [run for number in self._numbers(label) for run in self._of(number)] + [
                *(self._more.get(label) or ())
            ]
            if found:
                return found
        return []

    def _numbers(self, label: int) -> list[int]:
        labels, at = self._arrays["label"], np.array([label], dtype=np.uint64)
        first, last = int(labels.searchsorted(at)[0]), int(labels.searchsorted(at, "right")[0])
        found: list[int] = self._arrays["label_task"][first:last].tolist()
        return found

    def _of(self, number: int) -> list[Run]:
        a = self._arrays
        own = slice(*np.searchsorted(a["task"], [number, number + 1]))
        rows = zip(a["route"][own].tolist(), a["rest"][own].tolist(), a["runs"][own].tolist(), strict=True)
        return [(self._routes[r], rest[0], rest[1], n) for r, rest, n in rows]

    def _factor(
        self, which: int, runs: Sequence[tuple[Route, float, float]], routes: Sequence[Route], text: float
    ) -> Floats:
        """Compute the factors of dollars (`which` is 0) or of seconds (1)."""
        known, spread = [run for run in runs if not np.isnan(run[1])], self.spreads[which]
        if not known:
            return np.ones(len(routes))
        ran = [r for r, _, _ in known]
        seen = spread.task + spread.pair * np.array([[r == s for s in ran] for r in ran], dtype=np.float64)
        seen[np.diag_indices_from(seen)] += spread.noise / np.array([n for _, _, n in known])
        across = spread.task + spread.pair * np.array([[r == s for s in ran] for r in routes], dtype=np.float64)
        weights = np.linalg.solve(seen, across.T).T
        mean = weights @ (np.array([rest for _, rest, _ in known]) - text)
        skews = [of[which] for of in self._skew.values()]
        usual = float(np.mean(skews)) if skews else 0.0
        skew = np.array([self._skew[r][which] if r in self._skew else usual for r in routes])
        return np.asarray(np.exp(mean - skew * (weights * across).sum(axis=1) / 2.0))


def _by_route(routes: Sequence[Route], values: Floats) -> dict[Route, tuple[float, float]]:
    return {r: (float(dollars), float(seconds)) for r, (dollars, seconds) in zip(routes, values, strict=True)}


def _route_means(route: Ints, values: Floats, n: int) -> Floats:
    known = ~np.isnan(values)
    total = np.bincount(route[known], weights=values[known], minlength=n)
    runs = np.bincount(route[known], minlength=n)
    return np.where(runs > 0, total / np.maximum(runs, 1), np.nan)


def _labels(task: Task) -> list[int]:
    """Give the hashes that a task is known by: of its id, and of its text if it has one."""
    text = text_key(task)
    return [task_key(task)] if text is None else [task_key(task), text]
