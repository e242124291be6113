"""Snapshot: everything that decisions rest on, as it was at one moment. Nothing in it ever changes.

Deciding reads a snapshot; learning makes the next one (`after`, `refitted`) and whoever keeps the current one puts it
in the other's place, in one assignment. So any number of threads may ask while another learns, and every answer is of
one state. What is remembered between questions is bounded, safe under threads, and follows from the snapshot alone.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from hmrouter.costs import Cost, ExpectedCosts, RouteCosts, nearest
from hmrouter.decide.budgets import Spending
from hmrouter.decide.chooser import KEPT_DRAWS, Chooser, Compared
from hmrouter.decide.document import Elsewhere
from hmrouter.decide.known import KnownNames
from hmrouter.decide.policy import Policy
from hmrouter.decide.pool import select
from hmrouter.decide.uncertainty import Draws
from hmrouter.errors import UnknownName, UsageError
from hmrouter.features.base import Embedder
from hmrouter.features.descriptions import HarnessDescriptions
from hmrouter.history.public import SuiteCounts, count_suites
from hmrouter.history.records import Record
from hmrouter.names.models import ModelTable
from hmrouter.plan import ATTEMPTS, Goal, Planner, VerifierErrors
from hmrouter.plan.difficulty import Difficulty
from hmrouter.recent import Recent
from hmrouter.router.report import FitReport
from hmrouter.scorers.base import Scorer
from hmrouter.state import Floats
from hmrouter.types import Decision, Evidence, Outcome, Plan, Route, Status, Task, UnknownRoute

KEPT_POOLS = 8
"""How many pools' costs, solved budgets and scorers are remembered: few pools are asked about, often."""


@dataclass(frozen=True)
class PoolRequest:
    """The routes that a call allows to choose from."""

    pool: Sequence[Route] | None = None
    """The routes to choose from; None: the snapshot's own pool."""
    allow: Iterable[str] = ()
    deny: Iterable[str] = ()


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A fitted scorer with its embedder, costs, difficulty and counts of evidence, ready to decide."""

    scorer: Scorer
    embedder: Embedder
    descriptions: HarnessDescriptions
    described: frozenset[str]
    """Harnesses that the scorer knows the description of."""
    costs: ExpectedCosts
    difficulty: Difficulty
    pool: tuple[Route, ...]
    """The routes that are chosen from unless a call gives a pool."""
    runs: Counter[Route]
    """The number of known executions of each route."""
    observed: frozenset[Route]
    reference: Floats
    """Vectors of the tasks on which the cost weight of a budget is found."""
    records: tuple[Record, ...]
    """The results of other suites that were used in the fit."""
    report: FitReport
    fitted_at: datetime | None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    # -- deciding -----------------------------------------------------------------------------------------------

    def route_all(
        self,
        tasks: Sequence[str | Task],
        policy: Policy,
        asked: PoolRequest,
        reference: Sequence[str | Task] = (),
        top: int | None = None,
    ) -> list[Decision]:
        """Choose a route for each task; see `Router.route_all`."""
        if top is not None and top < 1:
            raise UsageError("is not at least 1; a decision shows at least the chosen route", argument="top", value=top)
        routes, unknown = self._routes(asked)
        if policy.incumbent is not None and policy.incumbent not in routes:
            raise UnknownName("incumbent", str(policy.incumbent), map(str, routes), "the pool")
        wanted = [as_task(t) for t in tasks]
        x = self.embedder.embed([t.text for t in wanted])
        chooser = Chooser(
            self._scorer_for(routes), policy, routes, self._costs(routes), self.costs.factors,
            self.costs.own_factors, self.observed, self.evidence, self._draws, self.id, self.fitted_at,
        )  # fmt: skip
        spending = None
        if policy.budget_per_task is not None and reference:
            spending = chooser.spending(self.embedder.embed([as_task(t).text for t in reference]))
        elif policy.budget_per_task is not None and len(self.reference):
            spending = self._spending((routes, policy), lambda: chooser.spending(self.reference))
        decisions = chooser.decide(wanted, x, top, spending)
        return [replace(d, unknown=unknown) for d in decisions] if unknown else decisions

    def plan(
        self,
        task: str | Task,
        policy: Policy,
        asked: PoolRequest,
        goal: Goal,
        verifier: VerifierErrors,
        attempts: int = ATTEMPTS,
    ) -> Plan:
        """Plan attempts at a task in order; see `Router.plan`."""
        (routes, unknown), wanted = self._routes(asked), as_task(task)
        x = self.embedder.embed([wanted.text])
        by_text = float(self.costs.factors(x)[0][0])
        own = self.costs.own_factors(wanted, routes, (by_text, 1.0))
        factors = [by_text] * len(routes) if own is None else (by_text * own[0]).tolist()
        costs = [cost.times(factor) for cost, factor in zip(self._costs(routes), factors, strict=True)]
        planner = Planner(
            self._scorer_for(routes), policy, routes, costs, self.difficulty, self.observed, self.evidence
        )
        made = planner.plan(wanted, x[0], goal, verifier, attempts)
        return replace(made, unknown=unknown) if unknown else made

    def evidence(self, route: Route) -> Evidence:
        """Count the known executions of the pair, of its model and of its harness."""
        of = self._component_runs
        return Evidence(self.runs[route], of["model", route.model], of["harness", route.harness])

    def elsewhere(self, decision: Decision) -> Elsewhere | None:
        """Give the results of other suites that a decision used; None if it used none."""
        if self.report.history is None:
            return None
        background = replace(self.report.history, own_outcomes=self.runs.total())
        return Elsewhere(background, {c.route: self.seen.get(c.route, SuiteCounts(0, 0)) for c in decision.ranked})

    @property
    def known_routes(self) -> tuple[Route, ...]:
        """Routes that were run here or on other suites, without harnesses that were written for one benchmark."""
        return tuple(sorted({*self.runs, *(r for r in self.seen if self.descriptions.general(r.harness))}))

    # -- learning -----------------------------------------------------------------------------------------------

    def after(self, outcome: Outcome) -> Self:
        """Return the next snapshot: this one and one more outcome, without a refit."""
        if outcome.status is not Status.OK and outcome.route in self.pool:
            return self  # it says nothing
        changes: dict[str, Any] = {"costs": self.costs.after(outcome)}
        if outcome.route not in self.pool:
            changes["pool"] = tuple(sorted((*self.pool, outcome.route)))
        if outcome.status is Status.OK:
            x = self.embedder.embed([outcome.task.text])[0]
            changes["scorer"] = self._scorer_for([outcome.route]).after(outcome, x)
            changes["described"] = self.described | {outcome.route.harness}
            changes["runs"] = Counter(self.runs)
            changes["runs"][outcome.route] += outcome.n_trials
            changes["observed"] = self.observed | {outcome.route}
        return self._next(**changes)

    def refitted(self, now: datetime) -> Self:
        """Return the next snapshot: variances and calibration learned again from all outcomes."""
        return self._next(scorer=self.scorer.refitted(), fitted_at=now)

    def _next(self, **changes: Any) -> Self:
        new = replace(self, id=uuid.uuid4().hex, **changes)
        for name in ("seen", "_costs_elsewhere"):  # what other suites say stays as it is
            if name in vars(self):
                vars(new)[name] = vars(self)[name]
        return new

    # -- computed once, remembered -------------------------------------------------------------------------------

    @cached_property
    def seen(self) -> dict[Route, SuiteCounts]:
        """How many other suites ran each route."""
        return count_suites(self.records)

    @cached_property
    def _component_runs(self) -> Counter[tuple[str, str]]:
        runs: Counter[tuple[str, str]] = Counter()
        for route, n in self.runs.items():
            runs["model", route.model] += n
            runs["harness", route.harness] += n
        return runs

    @cached_property
    def _costs_elsewhere(self) -> RouteCosts:
        costs = RouteCosts()
        for record in self.records:
            if record.cost is not None:
                costs.add(record.route, record.cost)
        return costs

    @cached_property
    def _costs_of(self) -> Recent[tuple[Route, ...], list[Cost]]:
        return Recent(KEPT_POOLS)

    @cached_property
    def _spending(self) -> Recent[tuple[tuple[Route, ...], Policy], Spending]:
        return Recent(KEPT_POOLS)

    @cached_property
    def _scorers(self) -> Recent[frozenset[str], Scorer]:
        return Recent(KEPT_POOLS)

    @cached_property
    def _draws(self) -> Recent[Compared, Draws]:
        return Recent(KEPT_DRAWS)

    def _costs(self, routes: tuple[Route, ...]) -> list[Cost]:
        def costs() -> list[Cost]:
            here, there = self.costs.of_all(routes), self._costs_elsewhere.of_all(routes)
            return [nearest(*pair) for pair in zip(here, there, strict=True)]

        return self._costs_of(routes, costs)

    def _routes(self, asked: PoolRequest) -> tuple[tuple[Route, ...], tuple[UnknownRoute, ...]]:
        """Give the routes that are ranked, and those of the pool of which nothing is known."""
        if asked.pool is None:
            return select(self.pool, asked.allow, asked.deny), ()
        return self._known_names.divide(select(tuple(dict.fromkeys(asked.pool)), asked.allow, asked.deny))

    @cached_property
    def _known_names(self) -> KnownNames:
        ran = (*self.pool, *self.runs, *self.seen)
        return KnownNames.of(ran, ModelTable.shipped().known, self.descriptions.known())

    def _scorer_for(self, routes: Sequence[Route]) -> Scorer:
        """Return the scorer, told the descriptions of harnesses that it does not know yet, if it uses them."""
        new = frozenset(r.harness for r in routes) - self.described
        if not new or type(self.scorer).describe is Scorer.describe:
            return self.scorer

        def told() -> Scorer:
            names = sorted(new)
            vectors = self.embedder.embed([self.descriptions.text(harness) for harness in names])
            return self.scorer.told(dict(zip(names, vectors, strict=True)))

        return self._scorers(new, told)


def as_task(task: str | Task) -> Task:
    """Make a task of a text; a task stays as it is."""
    return Task.of_text(task) if isinstance(task, str) else task
