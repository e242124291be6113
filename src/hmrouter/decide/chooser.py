"""Turn predictions into decisions: ranking, the incumbent, and how sure the choice is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from hmrouter.costs import Cost
from hmrouter.decide.budgets import Spending, weight_for
from hmrouter.decide.policy import Policy
from hmrouter.decide.ranking import Ranking, known_dollars, name_ranks
from hmrouter.decide.uncertainty import Draws, probability_above
from hmrouter.recent import Recent
from hmrouter.scorers.base import Prediction, Scorer
from hmrouter.state import Floats
from hmrouter.types import Candidate, Candidates, Decision, Evidence, Route, Task

MOST_COMPARED = 50
"""How many of the best candidates are compared jointly; the others are too far behind to matter."""
KEPT_DRAWS = 8
"""Sets of candidates whose draws are kept: the same few lead in task after task. A set takes up to a megabyte."""

Compared = tuple[tuple[Route, ...], tuple[int, ...]]
"""A pool, and the places of the routes in it that are compared."""


OwnFactors = Callable[[Task, Sequence[Route], tuple[float, float]], tuple[Floats, Floats] | None]


@dataclass(frozen=True, slots=True)
class Chooser:
    """Chooses routes from a pool by a policy and a scorer."""

    scorer: Scorer
    policy: Policy
    routes: tuple[Route, ...]
    costs: Sequence[Cost]
    """The expected cost of each route on a usual task."""
    factors: Callable[[Floats], tuple[Floats, Floats]]
    """Gives, for vectors of tasks, how many times the usual dollars and seconds they take."""
    own_factors: OwnFactors
    """Gives the same per route for a task that was run before, beyond those of its vector; None if it never was."""
    observed: AbstractSet[Route]
    evidence: Callable[[Route], Evidence]
    draws: Recent[Compared, Draws] = field(default_factory=lambda: Recent(KEPT_DRAWS))
    snapshot: str = ""
    fitted_at: datetime | None = None
    """When the router was fitted; every decision carries this and the id of the snapshot."""

    def spending(self, x: Floats) -> Spending:
        """Find the cost weight that keeps the policy's budget on reference tasks with vectors x (tasks, dims)."""
        if self.policy.budget_per_task is None:
            return Spending(self.policy.cost_weight, 0.0)
        return self._solved(x, self.scorer.predict(x, self.routes))

    def decide(
        self, tasks: Sequence[Task], x: Floats, top: int | None, spending: Spending | None = None
    ) -> list[Decision]:
        """Decide each task, with vectors x (tasks, dims); without `spending`, the budget is solved on these tasks."""
        said = self.scorer.predict_tasks(x, self.routes, tasks)
        budget = self.policy.budget_per_task
        if spending is None:
            spending = Spending(self.policy.cost_weight, 0.0) if budget is None else self._solved(x, said)
        weight, usual, names = spending.cost_weight, known_dollars(self.costs), name_ranks(self.routes)
        evidence, observed = [self.evidence(r) for r in self.routes], [r in self.observed for r in self.routes]
        reliability, out = self.scorer.reliability(), []
        near_draws: dict[tuple[int, ...], Draws | None] = {}  # most tasks of a batch compare the same routes
        for i, (task, by_text) in enumerate(zip(tasks, np.stack(self.factors(x), axis=1).tolist(), strict=True)):
            own = self.own_factors(task, self.routes, (by_text[0], by_text[1]))
            factors = by_text if own is None else [by_text[0] * own[0], by_text[1] * own[1]]
            dollars = usual * factors[0]
            ranking = self.policy.rank_dollars(self.routes, said.merit[i], dollars, weight, names)
            order = ranking.order.tolist()
            p_best, regret = self._weigh(i, said, ranking, order, dollars, weight, near_draws)

            def candidate(
                j: int, i: int = i, factors: Any = factors, known: bool = own is not None,
                value: Floats = ranking.value, p_best: dict[int, float] = p_best,
            ) -> Candidate:  # fmt: skip
                cost = self.costs[j].times(*(float(f[j]) if known else f for f in factors))
                bounds = None if said.interval is None else tuple(float(bound[i, j]) for bound in said.interval)
                return Candidate(
                    route=self.routes[j], success=float(said.success[i, j]), score=float(said.score[i, j]),
                    merit=float(said.merit[i, j]), value=float(value[j]), cost=cost.dollars, cost_basis=cost.basis,
                    cost_interval=cost.interval, seconds=cost.seconds, seconds_interval=cost.seconds_interval,
                    observed=observed[j], evidence=evidence[j],
                    interval=None if bounds is None else (bounds[0], bounds[1]), p_best=p_best.get(j),
                )  # fmt: skip

            out.append(
                Decision(
                    task, Candidates(order[:top], candidate), weight, self.policy.max_cost, ranking.excluded,
                    self.scorer.name, expected_regret=regret, n_candidates=len(order),
                    incumbent=self.policy.incumbent, calibration=reliability, budget_per_task=budget,
                    spend_per_task=None if budget is None else spending.per_task,
                    snapshot=self.snapshot, fitted_at=self.fitted_at, earlier=said.earlier.get(i, ()),
                )
            )  # fmt: skip
        return out

    def _solved(self, x: Floats, said: Prediction) -> Spending:
        dollars = np.outer(self.factors(x)[0], known_dollars(self.costs))
        cap = np.inf if self.policy.max_cost is None else self.policy.max_cost
        budget = self.policy.budget_per_task or 0.0
        return weight_for(budget, self.routes, said.merit, np.where(dollars <= cap, dollars, np.nan))

    def _weigh(
        self,
        task: int,
        said: Prediction,
        ranking: Ranking,
        order: list[int],
        dollars: Floats,
        weight: float,
        near_draws: dict[tuple[int, ...], Draws | None],
    ) -> tuple[dict[int, float], float | None]:
        """Move the incumbent first in `order` unless there is a reason to leave it; return how sure the choice is."""
        home = -1 if self.policy.incumbent is None else self.routes.index(self.policy.incumbent)
        near = list(dict.fromkeys([*order[:MOST_COMPARED], *([home] if home in order else [])]))
        # The calibrated success is what is ranked and shown; the joint model says how it varies together.
        mean = said.success[task, near] - weight * np.nan_to_num(dollars[near])
        if home in order:
            cov = _covariance(said, task, near)
            first = home
            for j in order[: order.index(home)]:
                gain = float(ranking.value[j] - ranking.value[home])
                sure = None if cov is None or j not in near else probability_above(
                    mean, cov, near.index(j), near.index(home))  # fmt: skip
                if self.policy.leaves_incumbent(gain, sure):
                    first = j
                    break
            order.remove(first)
            order.insert(0, first)
        if said.contrasts is None or task in said.earlier:
            draws = self._draws(said, task, near)
        elif (key := tuple(near)) in near_draws:
            draws = near_draws[key]
        else:
            draws = near_draws[key] = self._draws(said, task, near)
        if draws is None:
            return {}, None
        p_best, regret = draws.best_and_regret(mean, near.index(order[0]))
        return dict(zip(near, p_best.tolist(), strict=True)), regret

    def _draws(self, said: Prediction, task: int, near: list[int]) -> Draws | None:
        if said.contrasts is not None and task not in said.earlier:  # the same for every other task
            contrasts = said.contrasts
            return self.draws((self.routes, tuple(near)), lambda: Draws(contrasts(near)))
        cov = _covariance(said, task, near)
        return None if cov is None else Draws(cov)


def _covariance(said: Prediction, task: int, near: Sequence[int]) -> Floats | None:
    """Give a covariance from which the differences of some routes' values on a task follow; None if unknown."""
    if said.contrasts is not None and task not in said.earlier:
        return said.contrasts(near)
    return None if said.joint is None else said.joint(task, near)
