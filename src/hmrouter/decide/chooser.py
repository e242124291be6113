"""From what a scorer says to decisions: ranking, the incumbent, and how sure the choice is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from hmrouter.costs import Cost
from hmrouter.decide.budgets import Spending, weight_for
from hmrouter.decide.policy import Policy, Ranking
from hmrouter.decide.uncertainty import best_and_regret, probability_above
from hmrouter.scorers.base import Scorer
from hmrouter.state import Floats
from hmrouter.types import Candidate, Decision, Evidence, Route, Task

MOST_COMPARED = 50
"""How many of the best candidates are compared jointly; the others are too far behind to matter."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A pool, a policy and a scorer, ready to decide."""

    scorer: Scorer
    policy: Policy
    routes: Sequence[Route]
    costs: Sequence[Cost]
    """Of each route on a usual task."""
    factors: Callable[[Floats], tuple[Floats, Floats]]
    """From vectors of tasks to how many times the usual dollars and seconds they take."""
    observed: AbstractSet[Route]
    evidence: Callable[[Route], Evidence]

    def spending(self, x: Floats) -> Spending:
        """The cost weight that the policy's budget asks for, with reference tasks of vectors x (tasks, dims)."""
        if self.policy.budget_per_task is None:
            return Spending(self.policy.cost_weight, 0.0)
        usual = np.array([np.nan if c.dollars is None else c.dollars for c in self.costs], dtype=np.float64)
        dollars = np.outer(self.factors(x)[0], usual)
        cap = np.inf if self.policy.max_cost is None else self.policy.max_cost
        merit = self.scorer.merit(x, self.routes)
        return weight_for(self.policy.budget_per_task, self.routes, merit, np.where(dollars <= cap, dollars, np.nan))

    def decide(
        self, tasks: Sequence[Task], x: Floats, top: int | None, spending: Spending | None = None
    ) -> list[Decision]:
        """One decision per task with vectors x (tasks, dims); `spending`, if not solved yet, is solved on them."""
        spending = self.spending(x) if spending is None else spending
        weight, budget = spending.cost_weight, self.policy.budget_per_task
        factors = np.stack(self.factors(x), axis=1).tolist()
        score, success = self.scorer.score(x, self.routes), self.scorer.success(x, self.routes)
        merit, interval = self.scorer.merit(x, self.routes), self.scorer.interval(x, self.routes)
        reliability = self.scorer.reliability()
        out = []
        for i, task in enumerate(tasks):
            costs = [cost.times(*factors[i]) for cost in self.costs]
            ranking = self.policy.rank(self.routes, merit[i], costs, weight)
            order = ranking.order.tolist()
            p_best, regret = self._weigh(x[i], success[i], ranking, order, costs, weight)
            ranked = tuple(
                Candidate(
                    route=self.routes[j], success=float(success[i, j]), score=float(score[i, j]),
                    merit=float(merit[i, j]), value=float(ranking.value[j]),
                    cost=costs[j].dollars, cost_basis=costs[j].basis, cost_interval=costs[j].interval,
                    seconds=costs[j].seconds, seconds_interval=costs[j].seconds_interval,
                    observed=self.routes[j] in self.observed, evidence=self.evidence(self.routes[j]),
                    interval=None if interval is None else (float(interval[0][i, j]), float(interval[1][i, j])),
                    p_best=p_best.get(j),
                )
                for j in order[:top]
            )  # fmt: skip
            out.append(
                Decision(
                    task, ranked, weight, self.policy.max_cost, ranking.excluded, self.scorer.name,
                    expected_regret=regret, n_candidates=len(order), incumbent=self.policy.incumbent,
                    calibration=reliability, budget_per_task=budget,
                    spend_per_task=None if budget is None else spending.per_task,
                )
            )  # fmt: skip
        return out

    def _weigh(
        self, x: Floats, success: Floats, ranking: Ranking, order: list[int], costs: Sequence[Cost], weight: float
    ) -> tuple[dict[int, float], float | None]:
        """Put the incumbent first in `order` unless there is a reason to leave it; then say how sure the choice is."""
        home = -1 if self.policy.incumbent is None else self.routes.index(self.policy.incumbent)
        near = list(dict.fromkeys([*order[:MOST_COMPARED], *([home] if home in order else [])]))
        joint = self.scorer.joint(x, [self.routes[j] for j in near])
        values = None
        if joint is not None:
            # The calibrated success is what is ranked and shown; the joint model says how it varies together.
            dollars = np.array([costs[j].dollars or 0.0 for j in near])
            values = (success[near] - weight * dollars, joint[1])
        if home in order:
            first = home
            for j in order[: order.index(home)]:
                gain = float(ranking.value[j] - ranking.value[home])
                sure = None if values is None or j not in near else probability_above(
                    *values, near.index(j), near.index(home))  # fmt: skip
                if self.policy.leaves_incumbent(gain, sure):
                    first = j
                    break
            order.remove(first)
            order.insert(0, first)
        if values is None:
            return {}, None
        p_best, regret = best_and_regret(*values, near.index(order[0]))
        return dict(zip(near, p_best.tolist(), strict=True)), regret
