"""Outcomes as masked arrays: tasks x routes, a missing cell stays missing.

A `Dataset` holds only the cells that were run (sorted by task, then route), so a million outcomes on 10^5 tasks
and 10^3 routes fit in memory; `matrix()` gives the masked dense view where it is small enough to look at. Tasks
and routes are sorted, so the order in which outcomes arrive never changes anything. Where a suite has a half-life, old
outcomes count less than new ones; so may outcomes of older versions.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from hmrouter.errors import UnknownName, UsageError
from hmrouter.evidence.cells import Cells, average_trials, ratio
from hmrouter.evidence.fading import HalfLife, days_of, half_lives, remaining_weight
from hmrouter.evidence.versions import Versions
from hmrouter.state import Bools, Floats, Ints
from hmrouter.types import Outcome, Route, Status, Task

TRAINING_SHARE = 0.7
"""The paper's splits: 70% of the tasks train."""


@dataclass(frozen=True, slots=True)
class Split:
    """A fixed partition of the tasks; both sides keep every route."""

    number: int
    train: Dataset
    test: Dataset


class Dataset:
    """Outcomes of tasks on routes.

    >>> a, b = Route("gpt-5", "codex"), Route("gpt-5", "openhands")
    >>> data = Dataset([Outcome(Task("t1"), a, 1.0), Outcome(Task("t1"), a, 0.0), Outcome(Task("t2"), b, 1.0)])
    >>> data
    Dataset(2 tasks, 2 routes, 2 cells)
    >>> print(data.matrix())
    [[0.5 --]
     [-- 1.0]]
    """

    def __init__(
        self,
        outcomes: Iterable[Outcome],
        *,
        routes: Iterable[Route] = (),
        tasks: Iterable[Task] = (),
        half_life: HalfLife = None,
        now: datetime | None = None,
        old_versions: float | None = None,
    ) -> None:
        """Collect outcomes; `routes` and `tasks` add ones that were never run.

        `half_life`: after so many days an outcome counts half, by suite or for all of them. Ages are counted up to
        `now`, by default the date of the newest outcome that counts, so that what is not fed does not forget.

        `old_versions`: outcomes of older versions of a route's harness or model count, together, as at most so many of
        its newest version (see `hmrouter.evidence.versions`); None: as all others.
        """
        versions = None if old_versions is None else Versions(old_versions)
        known_tasks: dict[tuple[str, str], Task] = {}
        for t in tasks:
            known_tasks[t.key] = _fuller(known_tasks.get(t.key, t), t)
        task_at = {key: i for i, key in enumerate(known_tasks)}
        route_at = {route: i for i, route in enumerate(dict.fromkeys(routes))}
        ignored: Counter[Status] = Counter()
        index, numbers, dates = array("q"), array("d"), array("d")
        for o in outcomes:
            key = o.task.key
            if known_tasks.setdefault(key, o.task) is not o.task:
                known_tasks[key] = _fuller(known_tasks[key], o.task)
            if o.status is not Status.OK or o.score is None:
                # The machinery failed or the log does not tell: the route is known, its success is not.
                ignored[o.status] += 1
                route_at.setdefault(o.route, len(route_at))
                task_at.setdefault(key, len(task_at))
                continue
            index.extend(
                (task_at.setdefault(key, len(task_at)), route_at.setdefault(o.route, len(route_at)), o.n_trials,
                 o.cost_is_route_mean, o.attempt == 1)
            )  # fmt: skip
            numbers.extend((o.score, _nan(o.cost), _nan(o.seconds)))
            if half_life is not None or versions is not None:
                dates.append(days_of(o.when))
            if versions is not None:
                versions.add(o)
        task_list = [known_tasks[key] for key in task_at]
        task_order, task_rank = _sorted_order([t.key for t in task_list])
        route_list = list(route_at)
        route_order, route_rank = _sorted_order(route_list)
        ints = np.array(index, dtype=np.int64).reshape(-1, 5)
        reals = np.array(numbers, dtype=np.float64).reshape(-1, 3)
        fading = half_lives(half_life, {t.suite for t in task_list})
        fade = None
        if fading:
            days = np.array([fading.get(t.suite, np.inf) for t in task_list])
            fade = remaining_weight(_ages(np.array(dates), now), days[ints[:, 0]])
        if versions is not None:
            left = versions.remaining_weight(ints[:, 0], ints[:, 1], np.array(dates))
            fade = left if fade is None else fade * left
        at_task, at_route = task_rank[ints[:, 0]], route_rank[ints[:, 1]]
        cells = average_trials(at_task, at_route, ints[:, 2], ints[:, 3] != 0, ints[:, 4] != 0, reals, fade)
        in_order = tuple(task_list[i] for i in task_order)
        self._set(in_order, tuple(route_list[i] for i in route_order), cells, ignored, fading)

    def _set(
        self,
        tasks: tuple[Task, ...],
        routes: tuple[Route, ...],
        cells: Cells,
        ignored: Mapping[Status, int],
        half_life: Mapping[str, float],
    ) -> None:
        self.tasks = tasks
        self.routes = routes
        self.cells = cells
        self.ignored = dict(ignored)
        self.half_life = half_lives(half_life, self.suites) if half_life else {}
        self.models = tuple(sorted({r.model for r in routes}))
        self.harnesses = tuple(sorted({r.harness for r in routes}))

    def __repr__(self) -> str:
        return f"Dataset({len(self.tasks)} tasks, {len(self.routes)} routes, {len(self.cells)} cells)"

    # -- views ------------------------------------------------------------------------------------------------

    @cached_property
    def starts(self) -> Ints:
        """Where each task's cells begin: task i owns cells starts[i] to starts[i + 1]."""
        return np.searchsorted(self.cells.task, np.arange(len(self.tasks) + 1)).astype(np.int64)

    @cached_property
    def route_model(self) -> Ints:
        """Per route, the position of its model in `models`."""
        at = {m: i for i, m in enumerate(self.models)}
        return np.array([at[r.model] for r in self.routes], dtype=np.int64)

    @cached_property
    def route_harness(self) -> Ints:
        """Per route, the position of its harness in `harnesses`."""
        at = {h: i for i, h in enumerate(self.harnesses)}
        return np.array([at[r.harness] for r in self.routes], dtype=np.int64)

    @cached_property
    def observed(self) -> Bools:
        """Per route, whether it has at least one outcome."""
        return np.bincount(self.cells.route, minlength=len(self.routes)) > 0

    @cached_property
    def suites(self) -> tuple[str, ...]:
        """The suites that the tasks come from."""
        return tuple(sorted({t.suite for t in self.tasks}))

    @property
    def density(self) -> float:
        """Share of the tasks x routes grid that was run."""
        return len(self.cells) / max(1, len(self.tasks) * len(self.routes))

    def matrix(self, field: str = "score") -> np.ma.MaskedArray[Any, np.dtype[np.float64]]:
        """Give the dense masked view, tasks x routes, of `score`, `trials`, `cost` or `seconds`."""
        if field not in (valid := ("score", "trials", "cost", "seconds")):
            raise UnknownName("field", field, valid)
        values = getattr(self.cells, field).astype(np.float64)
        dense = np.full((len(self.tasks), len(self.routes)), np.nan)
        dense[self.cells.task, self.cells.route] = values
        return np.ma.MaskedArray(dense, mask=np.isnan(dense))

    def route_means(self) -> Floats:
        """Average the scores of each route over its tasks, with less weight on what has faded; NaN without any."""
        n = np.bincount(self.cells.route, weights=self.cells.fade, minlength=len(self.routes))
        total = np.bincount(self.cells.route, weights=self.cells.fade * self.cells.score, minlength=len(self.routes))
        return ratio(total, n)

    # -- parts ------------------------------------------------------------------------------------------------

    def restrict(
        self,
        *,
        tasks: Collection[tuple[str, str]] | None = None,
        routes: Collection[Route] | None = None,
        suites: Collection[str] | None = None,
    ) -> Dataset:
        """Keep only these tasks (by key), routes, suites."""
        keys = [t.key for t in self.tasks]
        wanted = _known("task", tasks, keys, "/".join)
        wanted_suites = _known("suite", suites, self.suites, str)
        wanted_routes = _known("route", routes, self.routes, str)
        keep_task = np.array([key in wanted and key[0] in wanted_suites for key in keys], dtype=bool)
        keep_route = np.array([r in wanted_routes for r in self.routes], dtype=bool)
        cells = self.cells.take(keep_task[self.cells.task] & keep_route[self.cells.route])
        new_task, new_route = np.cumsum(keep_task) - 1, np.cumsum(keep_route) - 1
        new = object.__new__(Dataset)
        new._set(
            tuple(t for t, keep in zip(self.tasks, keep_task, strict=True) if keep),
            tuple(r for r, keep in zip(self.routes, keep_route, strict=True) if keep),
            replace(cells, task=new_task[cells.task], route=new_route[cells.route]),
            self.ignored,
            self.half_life,
        )
        return new

    def keep(self, which: Bools) -> Dataset:
        """Keep only these cells (a mask); tasks and routes stay, as not yet run."""
        return self.with_cells(self.cells.take(which))

    def with_cells(self, cells: Cells) -> Dataset:
        """Give the same tasks and routes other cells, sorted by task and route."""
        new = object.__new__(Dataset)
        new._set(self.tasks, self.routes, cells, self.ignored, self.half_life)
        return new

    def with_tasks(self, change: Callable[[Task], Task]) -> Dataset:
        """Change what is said of the tasks; each stays the task that it is, by suite and id."""
        new = object.__new__(Dataset)
        new._set(tuple(map(change, self.tasks)), self.routes, self.cells, self.ignored, self.half_life)
        return new

    def joined(self, other: Dataset) -> Dataset:
        """Put other tasks beside these, on the same routes."""
        keys = [t.key for t in (*self.tasks, *other.tasks)]
        order, rank = _sorted_order(keys)
        tasks = (*self.tasks, *other.tasks)
        cells = self.cells.and_(replace(other.cells, task=other.cells.task + len(self.tasks)))
        cells = replace(cells, task=rank[cells.task])
        new = object.__new__(Dataset)
        new._set(
            tuple(tasks[i] for i in order), self.routes, cells.take(np.lexsort((cells.route, cells.task))),
            Counter(self.ignored) + Counter(other.ignored), self.half_life,
        )  # fmt: skip
        return new

    def splits(self, n: int = 5, seed: int = 0, train: float = TRAINING_SHARE) -> list[Split]:
        """Make fixed task splits, the same on every machine: tasks are ordered by a hash of seed, split and task.

        Every suite is divided in the same proportion.
        """
        if not 0.0 < train < 1.0:
            raise UsageError(f"the training share {train} is not between 0 and 1")
        out = []
        for number in range(n):
            chosen: set[tuple[str, str]] = set()
            for suite in self.suites:
                keys = [t.key for t in self.tasks if t.suite == suite]
                keys.sort(key=lambda key: hash_rank(seed, number, *key))
                chosen.update(keys[: _share(len(keys), train)])
            rest = {t.key for t in self.tasks} - chosen
            out.append(Split(number, self.restrict(tasks=chosen), self.restrict(tasks=rest)))
        return out

    def withhold(
        self,
        *,
        routes: Collection[Route] = (),
        model: str | None = None,
        harness: str | None = None,
        fraction: float = 0.0,
        reveal: int = 0,
        seed: int = 0,
    ) -> Dataset:
        """Hide outcomes but keep the routes in the pool: of routes, of a model, of a harness, or of a random
        `fraction` of all cells. `reveal` shows k tasks of what was hidden; a larger k contains a smaller one.
        """
        _known("model", None if model is None else [model], self.models, str)
        _known("harness", None if harness is None else [harness], self.harnesses, str)
        listed = _known("route", routes, self.routes, str)
        if reveal < 0:
            raise UsageError(f"the number of tasks to reveal, {reveal}, is negative")
        hidden_route = np.array(
            [r in listed or r.model == model or r.harness == harness for r in self.routes], dtype=bool
        )
        hidden = hidden_route[self.cells.route]
        if fraction:
            if not 0.0 <= fraction <= 1.0:
                raise UsageError(f"the fraction {fraction} is not between 0 and 1")
            order = sorted(range(len(self.cells)), key=lambda i: self._cell_rank(seed, i))
            hidden[order[: round(fraction * len(order))]] = True
        if reveal:
            touched = np.unique(self.cells.task[hidden])
            first = sorted(touched, key=lambda i: hash_rank(seed, "reveal", *self.tasks[i].key))[:reveal]
            hidden &= ~np.isin(self.cells.task, first)
        return self.keep(~hidden)

    def _cell_rank(self, seed: int, i: int) -> bytes:
        task, route = self.tasks[self.cells.task[i]], self.routes[self.cells.route[i]]
        return hash_rank(seed, *task.key, str(route))


def _fuller(a: Task, b: Task) -> Task:
    """Choose, of two records of one task, the one with the longer text, whichever came first."""
    return a if (len(a.text), a.text) >= (len(b.text), b.text) else b


def _known(kind: str, asked: Collection[Any] | None, valid: Collection[Any], text: Callable[[Any], str]) -> set[Any]:
    """Check the names asked for (None: all of them); one that is not there is an error, not an empty result."""
    everything = set(valid)
    if asked is None:
        return everything
    for item in asked:
        if item not in everything:
            raise UnknownName(kind, text(item), map(text, everything), "the outcomes")
    return set(asked)


def _ages(dates: Floats, now: datetime | None) -> Floats:
    """Count the days from each date to now, or to the newest of them; NaN where there is no date."""
    known = dates[~np.isnan(dates)]
    return np.asarray((known.max(initial=-np.inf) if now is None else days_of(now)) - dates)


def _nan(value: float | None) -> float:
    return np.nan if value is None else value


def hash_rank(*parts: object) -> bytes:
    """Make a sort key that is random but the same on every machine and in every order of arrival."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()


def _share(n: int, share: float) -> int:
    """round(n * share), but both sides get a task as soon as there are two."""
    return min(max(round(n * share), 1), n - 1) if n > 1 else n


def _sorted_order(keys: Sequence[Any]) -> tuple[list[int], Ints]:
    order = sorted(range(len(keys)), key=keys.__getitem__)
    rank = np.empty(len(keys), dtype=np.int64)
    rank[order] = np.arange(len(keys))
    return order, rank
