"""Make a plan for a task from a scorer, costs and the difficulty of tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np

from hmrouter.costs import Cost
from hmrouter.decide.policy import Policy
from hmrouter.decide.uncertainty import square_root
from hmrouter.plan.difficulty import Difficulty, Scenarios
from hmrouter.plan.goal import Goal
from hmrouter.plan.search import LEAST_WEIGHT
from hmrouter.plan.steps import Steps
from hmrouter.plan.verifier import VerifierErrors
from hmrouter.scorers.base import Z90, Scorer
from hmrouter.state import Floats
from hmrouter.types import Attempt, Evidence, Plan, Route, Task

ATTEMPTS = 3
DRAWS = 200
TAILS = (0.05, 0.95)


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans attempts at a task with the routes of a pool and their costs on it."""

    scorer: Scorer
    policy: Policy
    routes: Sequence[Route]
    costs: Sequence[Cost]
    difficulty: Difficulty
    observed: AbstractSet[Route]
    evidence: Callable[[Route], Evidence]

    def plan(self, task: Task, x: Floats, goal: Goal, verifier: VerifierErrors, attempts: int = ATTEMPTS) -> Plan:
        """Plan the attempts at a task with vector x (dims,).

        The numbers of a plan come from the predicted success, and so does the search for a budget or a target. With a
        cost weight, the search goes by what a choice is ranked by (`Prediction.merit`: careful with pairs never run).
        """
        # A weight of next to nothing: for a budget or a target, costs have to be known too.
        weight = goal.cost_weight or (LEAST_WEIGHT if goal.needs_cost else 0.0)
        policy = replace(self.policy, cost_weight=weight, budget_per_task=None)
        said = self.scorer.predict_tasks(x[None, :], self.routes, [task])
        merit = said.merit[0]
        ranking = policy.rank(self.routes, merit, self.costs)
        order = ranking.order.tolist()  # the policy's: a tie between sequences goes to what it would choose
        routes, costs = [self.routes[j] for j in order], [self.costs[j] for j in order]
        success = said.success[0, order]
        scenarios = self.difficulty.scenarios(routes)
        if earlier := said.earlier.get(0):
            before = self.scorer.predict(x[None, :], self.routes).success[0, order]
            scenarios = scenarios.given(routes, before, earlier)
        steps = self._steps(scenarios, routes, success, costs, verifier, attempts)
        promised = goal.budget is not None or goal.target is not None or np.array_equal(success, merit[order])
        seen = steps if promised else self._steps(scenarios, routes, merit[order], costs, verifier, attempts)
        found = goal.serve(seen, attempts)
        chosen = [routes[i] for i in found.routes]
        priced = [all(costs[j].dollars is not None for j in found.routes[: i + 1]) for i in range(len(chosen))]
        bounded = [all(costs[j].interval is not None for j in found.routes[: i + 1]) for i in range(len(chosen))]
        own = list(dict.fromkeys(found.routes))
        cov = None if said.joint is None else said.joint(0, [order[j] for j in own])
        spans = self._intervals(
            scenarios.of(own), cov, chosen, success[list(found.routes)], [costs[i] for i in found.routes], verifier
        )
        prefixes = steps.prefixes(found.routes)
        made = tuple(
            Attempt(
                route=routes[j], success=float(success[j]), cost=costs[j].dollars, cost_basis=costs[j].basis,
                observed=routes[j] in self.observed, evidence=self.evidence(routes[j]), reached=prefixes[i].reached,
                plan_success=prefixes[i].success, plan_cost=prefixes[i].cost if priced[i] else None,
                plan_interval=spans[i][0], plan_cost_interval=spans[i][1] if bounded[i] else None,
            )
            for i, j in enumerate(found.routes)
        )  # fmt: skip
        return Plan(
            task, made, verifier.false_pass, verifier.false_fail, goal.cost_weight, goal.budget, goal.target,
            policy.max_cost, ranking.excluded, self.scorer.name, len(order),
        )  # fmt: skip

    def _steps(
        self,
        scenarios: Scenarios,
        routes: Sequence[Route],
        success: Floats,
        costs: Sequence[Cost],
        verifier: VerifierErrors,
        attempts: int,
    ) -> Steps:
        most = np.array([attempts if r in self.difficulty.repeated else 1 for r in routes], dtype=np.int64)
        return Steps.of(
            scenarios.weights, scenarios.success(success), scenarios.dollars(_dollars(costs)), verifier, most,
            self.difficulty.likeness,
        )  # fmt: skip

    def _intervals(
        self,
        scenarios: Scenarios,
        cov: Floats | None,
        routes: Sequence[Route],
        success: Floats,
        costs: Sequence[Cost],
        verifier: VerifierErrors,
    ) -> list[tuple[tuple[float, float] | None, tuple[float, float] | None]]:
        """Give the 90% intervals of success and cost of each prefix, from draws of the scorer's and the costs' errors.

        `scenarios` and `cov`, the covariance of success rates: of the distinct routes, in the order of their first
        attempts.
        """
        own = list(dict.fromkeys(routes))
        if cov is None:
            return [(None, None)] * len(routes)
        at = [own.index(r) for r in routes]
        first = [at.index(j) for j in range(len(own))]
        normal = np.random.default_rng(0).standard_normal((DRAWS // 2, 2 * len(own)))
        normal = np.concatenate([normal, -normal])
        moved = normal[:, : len(own)] @ square_root(cov)
        drawn = np.clip(success[first] + moved, 0.001, 0.999)
        p = scenarios.success(drawn, within=1e-5)  # (draws, routes, scenarios)
        spread = np.array([_log_sd(costs[i]) for i in first])
        factor = np.exp(spread * normal[:, len(own) :] - spread**2 / 2.0)  # (draws, routes)
        dollars = scenarios.dollars(_dollars([costs[i] for i in first]))
        # The draws lie side by side along the axis of scenarios.
        n, flat = len(scenarios.weights), (len(own), -1)
        steps = Steps.of(
            np.tile(scenarios.weights, DRAWS), p.transpose(1, 0, 2).reshape(flat),
            (factor.T[:, :, None] * dollars[:, None, :]).reshape(flat), verifier,
            np.full(len(own), len(routes), dtype=np.int64), self.difficulty.likeness,
        )  # fmt: skip
        delivered, spent, _ = steps.along(at)
        return [
            (_span(delivered[: i + 1].reshape(i + 1, DRAWS, n)), _span(spent[: i + 1].reshape(i + 1, DRAWS, n)))
            for i in range(len(routes))
        ]


def _dollars(costs: Sequence[Cost]) -> Floats:
    """Return the dollars of each cost; an unknown one counts as the largest known one, so that it wins no tie."""
    known = [c.dollars for c in costs if c.dollars is not None]
    return np.array([max(known, default=1.0) if c.dollars is None else c.dollars for c in costs], dtype=np.float64)


def _log_sd(cost: Cost) -> float:
    """Turn a cost's 90% interval into the standard deviation of log dollars; 0 where there is none."""
    if cost.interval is None or cost.interval[0] <= 0.0:
        return 0.0
    return float(np.log(cost.interval[1] / cost.interval[0]) / (2.0 * Z90))


def _span(parts: Floats) -> tuple[float, float]:
    """Return the 90% interval over draws of the sum of `parts` (attempts, draws, scenarios)."""
    low, high = np.quantile(parts.sum(axis=(0, 2)), TAILS).tolist()
    return low, high
