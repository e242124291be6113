"""From what a scorer says to decisions: ranking, the incumbent, and how sure the choice is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from hmrouter.costs import Cost
from hmrouter.policy import Policy, Ranking
from hmrouter.scorers.base import Scorer
from hmrouter.state import Floats
from hmrouter.types import Candidate, Decision, Evidence, Route, Task
from hmrouter.uncertainty import best_and_regret, probability_above

MOST_COMPARED = 50
"""How many of the best candidates are compared jointly; the others are too far behind to matter."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A pool, a policy and a scorer, ready to decide."""

    scorer: Scorer
    policy: Policy
    routes: Sequence[Route]
    costs: Sequence[Cost]
    observed: AbstractSet[Route]
    evidence: Callable[[Route], Evidence]

    def decide(self, tasks: Sequence[Task], x: Floats, top: int | None) -> list[Decision]:
        """One decision per task with vectors x (tasks, dims)."""
        score, success = self.scorer.score(x, self.routes), self.scorer.success(x, self.routes)
        merit, interval = self.scorer.merit(x, self.routes), self.scorer.interval(x, self.routes)
        reliability = self.scorer.reliability()
        out = []
        for i, task in enumerate(tasks):
            ranking = self.policy.rank(self.routes, merit[i], self.costs)
            order = ranking.order.tolist()
            p_best, regret = self._weigh(x[i], success[i], ranking, order)
            ranked = tuple(
                Candidate(
                    route=self.routes[j], success=float(success[i, j]), score=float(score[i, j]),
                    merit=float(merit[i, j]), value=float(ranking.value[j]),
                    cost=self.costs[j].dollars, cost_basis=self.costs[j].basis,
                    observed=self.routes[j] in self.observed, evidence=self.evidence(self.routes[j]),
                    interval=None if interval is None else (float(interval[0][i, j]), float(interval[1][i, j])),
                    p_best=p_best.get(j),
                )
                for j in order[:top]
            )  # fmt: skip
            out.append(
                Decision(
                    task, ranked, self.policy.cost_weight, self.policy.max_cost, ranking.excluded, self.scorer.name,
                    expected_regret=regret, n_candidates=len(order), incumbent=self.policy.incumbent,
                    calibration=reliability,
                )
            )  # fmt: skip
        return out

    def _weigh(
        self, x: Floats, success: Floats, ranking: Ranking, order: list[int]
    ) -> tuple[dict[int, float], float | None]:
        """Put the incumbent first in `order` unless there is a reason to leave it; then say how sure the choice is."""
        home = -1 if self.policy.incumbent is None else self.routes.index(self.policy.incumbent)
        near = list(dict.fromkeys([*order[:MOST_COMPARED], *([home] if home in order else [])]))
        joint = self.scorer.joint(x, [self.routes[j] for j in near])
        values = None
        if joint is not None:
            # The calibrated success is what is ranked and shown; the joint model says how it varies together.
            dollars = np.array([self.costs[j].dollars or 0.0 for j in near])
            values = (success[near] - self.policy.cost_weight * dollars, joint[1])
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
