"""Suggest the next executions to buy on a suite, and say how its routes stand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from hmrouter.costs import ExpectedCosts, RouteCosts, nearest
from hmrouter.decide.policy import show_dollars
from hmrouter.errors import InputError, NoRoute, UsageError
from hmrouter.evidence.dataset import Dataset, hash_rank
from hmrouter.probe.aims import Best, Frontier
from hmrouter.probe.batch import Batch, ProbeGoal, Suggestion
from hmrouter.probe.curves import Ability, Calibrate, Curves
from hmrouter.probe.orders import CellKey
from hmrouter.probe.posterior import Posterior
from hmrouter.probe.select import MOST, CellChoice, choose
from hmrouter.probe.standing import Rate, Standing, Worth, gain_of
from hmrouter.scorers.base import Belief
from hmrouter.scorers.safe.memory.index import families_within
from hmrouter.state import Bools
from hmrouter.types import Route

OUTLOOK = (10, 20, 40, 80)
"""Lengths of the batches whose worth decides whether the advice is to go on or to stop."""

MUCH = 1e12
"""The most dollars and the most tasks that are accepted: more than this is a slip."""
GUESSES = ("model+harness", "model", "harness", "history estimate")
"""Bases of a cost that is estimated from other pairs: the pair itself was priced neither here nor in other suites."""


class Prober:
    """Suggests executions on one suite.

    >>> from hmrouter.types import Outcome, Task
    >>> routes = [Route("big", "a"), Route("small", "a")]
    >>> tasks = [Task(f"t{i}") for i in range(20)]
    >>> data = Dataset([Outcome(t, routes[0], 1.0, cost=0.5) for t in tasks[:4]], routes=routes, tasks=tasks)
    >>> batch = Prober(data).suggest(runs=3)
    >>> {str(s.route) for s in batch.suggestions}
    {'a:small'}
    """

    def __init__(
        self,
        data: Dataset,
        pool: Sequence[Route] | None = None,
        belief: Belief | None = None,
        elsewhere: RouteCosts | None = None,
        max_cost: float | None = None,
    ) -> None:
        """`data`: one suite's outcomes, with all tasks that may be run. `pool`: any routes; those of the data if None.

        `elsewhere`: what routes cost on other suites, for those without a cost here. `max_cost`: routes that are
        expected to cost more per run are neither run nor asked about.
        """
        if not data.tasks:
            raise InputError("there is no task to run", hint="name_tasks")
        if max_cost is not None and not (max_cost >= 0.0 and np.isfinite(max_cost)):
            raise UsageError("is not a finite number of at least 0", argument="max_cost", value=max_cost)
        asked = data.routes if pool is None else tuple(dict.fromkeys(pool))
        if not asked:
            raise NoRoute("the pool is empty", hint="widen_pool")
        self.data, self._belief = data, belief
        self.routes = tuple(dict.fromkeys((*data.routes, *asked)))
        self.posterior = Posterior.of(data, belief, self.routes, families_within(data.tasks))
        self._at = {r: j for j, r in enumerate(self.routes)}
        self._task_at = {t.key: i for i, t in enumerate(data.tasks)}
        here, there = ExpectedCosts.fit(data).of_all(self.routes), (elsewhere or RouteCosts()).of_all(self.routes)
        self.costs = [nearest(*costs) for costs in zip(here, there, strict=True)]
        self._dollars = np.array([np.nan if c.dollars is None else c.dollars for c in self.costs], dtype=np.float64)
        # A cost that nobody knows may be high: of what tells the same, what is known to be cheap comes first.
        known = self._dollars[np.isfinite(self._dollars)]
        self._price = np.where(np.isnan(self._dollars), known.max() if len(known) else np.nan, self._dollars)
        self.excluded: dict[str, int] = {}
        self.among = self._feasible([self._at[r] for r in asked], max_cost)
        self._order = np.argsort(
            sorted(range(len(data.tasks)), key=lambda i: hash_rank("probe", *data.tasks[i].key))
        ).astype(np.int64)  # fmt: skip

    # -- what to run --------------------------------------------------------------------------------------------

    def suggest(
        self,
        *,
        budget: float | None = None,
        runs: int | None = None,
        goal: ProbeGoal = ProbeGoal.BEST,
        pairs: Sequence[Route] = (),
        out: Collection[CellKey] = (),
        value: float = 1.0,
        horizon: int = 1000,
    ) -> Batch:
        """Suggest the next executions, best first, for so many dollars or runs.

        `pairs`: those that the goal `pair` asks about. `out`: cells that are being run already. `value` and `horizon`:
        dollars that a solved task is worth, and how many tasks the choice will serve.
        """
        _require_limits(budget, runs)
        _require_stakes(value, horizon)
        start = self._start(goal, pairs, out)
        if budget is not None:
            self._require_payable(start, budget)
        gained = self._gained(start.aim)
        chosen = choose(start.aim, start.free, self._order, self._price, budget, MOST if runs is None else runs)
        worth = None
        if gained is not None:
            points = max((self._gained(start.aim) or 0.0) - gained, 0.0)
            worth = Worth(len(chosen), points, self._sum(chosen), value, horizon)
        return Batch(
            goal, tuple(map(self._suggestion, chosen)), worth, start.rates, self._rates(start.aim),
            self._notes(start, chosen, runs), self.excluded,
        )  # fmt: skip

    def outlook(
        self, out: Collection[CellKey] = (), value: float = 1.0, horizon: int = 1000, goal: ProbeGoal = ProbeGoal.BEST
    ) -> list[Worth]:
        """Say how much longer and longer batches are worth; empty where nothing is left to run.

        A few runs may be worth nothing where many are worth their price: alone they would not change the choice.
        """
        _require_stakes(value, horizon)
        start, have, ahead = self._start(goal, (), out), list[CellChoice](), list[Worth]()
        gained, budget = self._gained(start.aim) or 0.0, None if np.isnan(self._price).all() else np.inf
        for runs in OUTLOOK:
            more = choose(start.aim, start.free, self._order, self._price, budget, runs - len(have))
            for cell in more:
                start.free[cell.task, cell.route] = False
            have += more
            if more:
                points = max((self._gained(start.aim) or 0.0) - gained, 0.0)
                ahead.append(Worth(len(have), points, self._sum(have), value, horizon))
        return ahead

    def standing(self) -> Standing:
        """Say which route of the pool leads, and how sure that is."""
        return Standing.of(self.posterior, self.routes, self.among)

    def frontier(self) -> list[tuple[Standing, float]]:
        """List the routes that lead all that cost no more, with their dollars per run, cheapest first."""
        best, out = -np.inf, []
        for j in sorted(self._priced(self.among), key=lambda j: (self._dollars[j], -self.posterior.mean[j])):
            if self.posterior.mean[j] > best:
                best = float(self.posterior.mean[j])
                as_cheap = [i for i in self._priced(self.among) if self._dollars[i] <= self._dollars[j]]
                out.append((Standing.of(self.posterior, self.routes, as_cheap), float(self._dollars[j])))
        return out

    # -- inside -------------------------------------------------------------------------------------------------

    def _start(self, goal: ProbeGoal, pairs: Sequence[Route], out: Collection[CellKey]) -> _Start:
        """Set up the aim as if the cells that are being run had come back, and mark the cells that are left to run."""
        asked = self.among
        if goal is ProbeGoal.PAIR:
            if not pairs:
                raise UsageError("the goal 'pair' asks about certain pairs", hint="name_pairs")
            asked = [j for r in pairs if (j := self._at[r]) in self.among]
            if not asked:
                raise NoRoute(
                    f"of {_named(pairs)}, none is known to keep the cap on the cost",
                    argument="max_cost",
                    hint="raise_or_leave_out",
                )
        aim, free = self._aim(goal, asked), np.zeros(self.posterior.run.shape, dtype=bool)
        free[:, asked] = self.posterior.run[:, asked] == 0.0
        rates = self._rates(aim)  # before what is still out is imagined to have come back
        for suite, name, pair in out:
            task, route = self._task_at.get((suite, name)), self._at.get(pair)
            if task is not None and route is not None and free[task, route]:
                free[task, route] = False
                aim.imagine(task, route)
        return _Start(aim, free, asked, rates)

    def _aim(self, goal: ProbeGoal, asked: list[int]) -> Best | Frontier | Calibrate:
        if goal is ProbeGoal.PAIR:
            return Calibrate(self._abilities(asked))
        if goal is ProbeGoal.BEST:
            return Best(self.posterior, asked)
        if not self._priced(asked):
            raise InputError("no cost of any pair is known, so there is no frontier of cost and success to ask for")
        return Frontier(self.posterior, self._dollars, asked)

    def _abilities(self, asked: list[int]) -> dict[int, Ability]:
        """Estimate the ability of each pair: first from all other runs, then from its own, on the tasks' curves."""
        cells, shape = self.data.cells, (len(self.data.tasks), len(self.routes))
        whole, out = None, {}
        for j in asked:
            mine = cells.route == j
            if mine.any():
                curves = Curves.fit(cells.take(~mine), *shape)
                others = Posterior.of(self.data.keep(~mine), self._belief, self.routes)
            else:
                curves, others = whole or Curves.fit(cells, *shape), self.posterior
                whole = curves
            out[j] = Ability.of(curves, cells.take(mine), float(others.mean[j]), float(np.sqrt(others.cov[j, j])))
        return out

    def _rates(self, aim: Best | Frontier | Calibrate) -> tuple[Rate, ...]:
        if not isinstance(aim, Calibrate):
            return ()
        return tuple(Rate.of(self.routes[j], *ability.estimate()) for j, ability in aim.abilities.items())

    def _gained(self, aim: Best | Frontier | Calibrate) -> float | None:
        """Return how much the choice is expected to gain by the runs that the aim imagines; None without a choice."""
        if isinstance(aim, Calibrate):
            return None
        return float(np.mean([gain_of(self.posterior, aim.posterior, level.tolist()) for level in aim.levels]))

    def _priced(self, some: Sequence[int]) -> list[int]:
        """Return those of `some` routes that have a known cost."""
        return [j for j in some if np.isfinite(self._dollars[j])]

    def _sum(self, chosen: Sequence[CellChoice]) -> float | None:
        dollars = self._dollars[[c.route for c in chosen]]
        return None if np.isnan(dollars).any() else float(dollars.sum())

    def _suggestion(self, cell: CellChoice) -> Suggestion:
        cost = self.costs[cell.route]
        return Suggestion(self.data.tasks[cell.task], self.routes[cell.route], cell.gain, cost.dollars, cost.basis)

    def _require_payable(self, start: _Start, budget: float) -> None:
        if not self._priced(start.asked):
            these = "this pair" if len(start.asked) == 1 else f"any of these {len(start.asked)} pairs"
            raise InputError(
                f"no cost of {these} is known, so ${budget:g} cannot be turned into runs", hint="count_runs"
            )
        left = np.flatnonzero(start.free.any(axis=0))
        if len(left) and self._price[left].min() > budget:
            cheapest = int(left[self._price[left].argmin()])
            raise NoRoute(
                f"${budget:g} buys no run: the cheapest that is left, of {self.routes[cheapest]}, costs about "
                f"{show_dollars(float(self._price[cheapest]))}; raise the budget or widen the pool"
            )

    def _feasible(self, asked: list[int], max_cost: float | None) -> list[int]:
        """Return the routes that keep the cap; those not known to keep it are left out and counted in `excluded`."""
        if max_cost is None:
            return asked
        left = [j for j in asked if self._dollars[j] <= max_cost]
        unknown = sum(bool(np.isnan(self._dollars[j])) for j in asked)
        self.excluded = {"over max_cost": len(asked) - len(left) - unknown, "cost unknown": unknown}
        self.excluded = {reason: n for reason, n in self.excluded.items() if n}
        if not left:
            known = self._priced(asked)
            if not known:
                raise NoRoute(
                    f"no cost of any of {len(asked)} pairs is known, so none is known to keep the cap of "
                    f"${max_cost:g}; leave the cap out, or import outcomes with costs"
                )
            cheapest = min(known, key=lambda j: self._dollars[j])
            raise NoRoute(
                f"no pair of {len(asked)} costs at most ${max_cost:g} per run; the cheapest is {self.routes[cheapest]} "
                f"at about {show_dollars(float(self._dollars[cheapest]))}: raise the cap or widen the pool"
            )
        return left

    def _notes(self, start: _Start, chosen: Sequence[CellChoice], runs: int | None) -> tuple[str, ...]:
        out, unknown = [], int(np.isnan(self._dollars[start.asked]).sum())
        if not start.free.any():
            out.append("every cell of these pairs and tasks was run or is being run; there is nothing left to suggest")
        elif len(chosen) == MOST and (runs is None or runs > MOST):
            out.append(f"only the first {MOST:,} runs are listed: what they show will change what comes next")
        if unknown and np.isfinite(self._price).any():
            have = "1 pair has" if unknown == 1 else f"{unknown} pairs have"
            out.append(f"{have} no known cost and count{'s' * (unknown == 1)} as dear as the dearest that has one")
        guessed = sorted({self.routes[c.route] for c in chosen if self.costs[c.route].basis in GUESSES})
        if guessed:
            names = _named(guessed)
            out.append(f"what {names} costs is a guess from other pairs; a few runs first, such as 5, will tell")
        return tuple(out)


class _Start(NamedTuple):
    """The state from which a batch is chosen."""

    aim: Best | Frontier | Calibrate
    free: Bools
    """(tasks, routes): the cells that may be run."""
    asked: list[int]
    rates: tuple[Rate, ...]
    """Success rates of the pairs that are asked about, as they are known now; empty for other goals."""


def _named(routes: Sequence[Route]) -> str:
    """Name the first three routes, and say how many more there are."""
    more = f" and {len(routes) - 3} more" if len(routes) > 3 else ""
    return ", ".join(str(r) for r in routes[:3]) + more


def _require_limits(budget: float | None, runs: int | None) -> None:
    if budget is None and runs is None:
        raise UsageError("it is not said how many runs to suggest", hint="limit_runs")
    if budget is not None and not (budget > 0.0 and np.isfinite(budget)):
        raise UsageError("is not a number of dollars above 0", argument="budget", value=budget)
    if runs is not None and runs < 1:
        raise UsageError("is not a number of at least 1", argument="runs", value=runs)


def _require_stakes(value: float, horizon: int) -> None:
    if not 0.0 <= value <= MUCH:
        raise UsageError(f"is not a number of dollars from 0 to {MUCH:g}", argument="value", value=value)
    if not 1 <= horizon <= MUCH:
        raise UsageError(f"is not a number of tasks from 1 to {MUCH:g}", argument="horizon", value=horizon)
