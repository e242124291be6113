"""Router: fit on outcomes, route tasks, observe what came of it, save and load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from hmrouter.costs import Cost, ExpectedCosts, RouteCosts, nearest
from hmrouter.decide.budgets import Spending, reference_sample
from hmrouter.decide.chooser import Choice
from hmrouter.decide.document import Elsewhere
from hmrouter.decide.policy import Policy
from hmrouter.decide.pool import select
from hmrouter.errors import (
    EmbedderMismatch,
    InputError,
    NotFitted,
    PluginError,
    RouterFileError,
    UnknownName,
    UsageError,
)
from hmrouter.evidence.dataset import Dataset
from hmrouter.features.base import EMBEDDERS, Embedder, embedder_named
from hmrouter.features.cache import VectorCache, embed_cached, embed_tasks
from hmrouter.features.descriptions import HarnessDescriptions
from hmrouter.history.families import own_families
from hmrouter.history.public import SuiteCounts, believe, count_suites, one_thread
from hmrouter.history.records import Record
from hmrouter.plan import ATTEMPTS, Goal, Planner, Verifier
from hmrouter.plan.difficulty import Difficulty
from hmrouter.router.file import brief, read_router_file, write_router_file
from hmrouter.router.report import FitReport
from hmrouter.scorers.base import SCORERS, Scorer, Training
from hmrouter.state import State
from hmrouter.types import Decision, Evidence, Outcome, Plan, Route, Status, Task

Progress = Callable[[int, int], None]


class Router:
    """Chooses a (model, harness) pair for each task.

    >>> outcomes = [Outcome(Task(f"t{i}", text="fix it"), Route("gpt-5", h), float(h == "codex"), cost=0.5)
    ...             for i in range(4) for h in ("codex", "aider")]
    >>> router = Router(scorer="fixed").fit(Dataset(outcomes))
    >>> str(router.route("Fix the failing CI job").route)
    'codex:gpt-5'
    """

    def __init__(
        self,
        scorer: str | Scorer = "safe",
        embedder: str | Embedder = "lsa",
        policy: Policy | None = None,
        descriptions: HarnessDescriptions | None = None,
    ) -> None:
        self.scorer: Scorer = SCORERS.load(scorer)() if isinstance(scorer, str) else scorer
        self.embedder: Embedder = embedder_named(embedder) if isinstance(embedder, str) else embedder
        self.policy = policy or Policy()
        self.descriptions = descriptions or HarnessDescriptions()

    # -- learning -----------------------------------------------------------------------------------------------

    def fit(
        self,
        data: Dataset,
        *,
        cache: VectorCache | None = None,
        progress: Progress | None = None,
        history: Sequence[Record] = (),
    ) -> Self:
        """Learn from a data set; its routes become the default pool.

        `history`: how routes did on other suites, for scorers that listen to it. What it says of the data's own suites,
        or of suites that share their tasks, has no say. With it there may be no outcome at all.
        """
        belief = believe(history, data.suites) if history and self.scorer.listens else None
        if not len(data.cells) and belief is None:
            raise InputError(
                "there is no outcome with a score to learn from"
                + (f" ({sum(data.ignored.values())} have status infra_error or unknown)" if data.ignored else "")
                + "; import some with: hmrouter import PATH"
            )
        self.embedder.fit([t.text for t in data.tasks])
        self._described = set(data.harnesses)
        described = embed_cached(self.embedder, [self.descriptions.text(h) for h in data.harnesses], cache)
        vectors = dict(zip(data.harnesses, described, strict=True))
        self.scorer.progress = progress
        try:
            x = embed_tasks(self.embedder, data.tasks, cache)
            self.scorer.fit(Training(data, x, vectors, belief))
        finally:
            self.scorer.progress = None
        self.costs_ = ExpectedCosts.fit(data, x)
        self.difficulty_ = Difficulty.fit(data)
        self._reference = reference_sample(x)
        self._hear(() if belief is None else belief.records)
        self.pool_ = data.routes or tuple(sorted(self._seen))
        trials = np.bincount(data.cells.route, weights=data.cells.trials, minlength=len(data.routes))
        self._runs = Counter({r: int(n) for r, n in zip(data.routes, trials, strict=True)})
        self._observed = {r for r, seen in zip(data.routes, data.observed, strict=True) if seen}
        self._refresh()
        self.report_ = FitReport.of(data, () if belief is None else belief.records)
        return self

    @classmethod
    def from_history(cls, records: Sequence[Record], *, suite: str | None = None, **settings: Any) -> Self:
        """A router for a suite without outcomes, of what is known from elsewhere; the pool is every route that is.

        What the records say of the suite itself has no say. `settings` are those of the constructor.

        >>> from hmrouter.history.public import shipped
        >>> router = Router.from_history(shipped())
        >>> decision = router.route("Fix the failing CI job", allow=["harness=codex,openhands"], max_cost=2.0)
        >>> decision.observed, router.elsewhere(decision).background.note
        (False, 'public evidence only')
        """
        own = own_families([suite], records) if suite is not None else ()
        return cls(**settings).fit(Dataset([]), history=[r for r in records if r.family not in own])

    def observe(self, outcome: Outcome) -> None:
        """Take in one more outcome, without a refit. `save` keeps it in the file; the store is kept separately."""
        self._require_fitted()
        counts = outcome.status is Status.OK
        if counts:  # first what may fail: an outcome is taken in whole or not at all
            self._describe([outcome.route])
            x = self.embedder.embed([outcome.task.text])[0]
            self.scorer.observe(outcome, x)
        self.costs_.observe(outcome)
        if counts:
            self._runs[outcome.route] += outcome.n_trials
            self._observed.add(outcome.route)
        if outcome.route not in self.pool_:
            self.pool_ = tuple(sorted((*self.pool_, outcome.route)))
        self._refresh()

    # -- deciding -----------------------------------------------------------------------------------------------

    def route(
        self,
        task: str | Task,
        *,
        pool: Sequence[Route] | None = None,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        max_cost: float | None = None,
        cost_weight: float | None = None,
        budget_per_task: float | None = None,
        incumbent: Route | None = None,
        margin: float | None = None,
        top: int | None = None,
    ) -> Decision:
        """Choose a route for a task, given as text or as a `Task`.

        The pool is by default every route of the training data; routes that were never run may be in it. `allow`
        and `deny` hold rules such as `harness=codex` or `codex:gpt-5`. `max_cost`, `cost_weight`, `budget_per_task`,
        `incumbent` and `margin` override the router's policy. `top` shortens the ranked list.
        """
        return self.route_all(
            [task], pool=pool, allow=allow, deny=deny, max_cost=max_cost, cost_weight=cost_weight,
            budget_per_task=budget_per_task, incumbent=incumbent, margin=margin, top=top,
        )[0]  # fmt: skip

    def route_all(
        self,
        tasks: Sequence[str | Task],
        *,
        pool: Sequence[Route] | None = None,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        max_cost: float | None = None,
        cost_weight: float | None = None,
        budget_per_task: float | None = None,
        reference: Sequence[str | Task] = (),
        incumbent: Route | None = None,
        margin: float | None = None,
        top: int | None = None,
    ) -> list[Decision]:
        """`route` for many tasks at once.

        A budget is met in expectation over the `reference` tasks: by default those of the training data (a sample of
        them), and where there were none the tasks themselves.
        """
        self._require_fitted()
        if top is not None and top < 1:
            raise UsageError(f"top {top} is not at least 1; a decision shows at least the chosen route")
        routes = select(self.pool_ if pool is None else tuple(dict.fromkeys(pool)), allow, deny)
        policy = self.policy.given(
            cost_weight=cost_weight, max_cost=max_cost, budget_per_task=budget_per_task, incumbent=incumbent,
            margin=margin,
        )  # fmt: skip
        if policy.incumbent is not None and policy.incumbent not in routes:
            raise UnknownName("incumbent", str(policy.incumbent), map(str, routes), "the pool")
        wanted = [Task.of_text(t) if isinstance(t, str) else t for t in tasks]
        self._describe(routes)
        x = self.embedder.embed([t.text for t in wanted])
        costs = self._pool_costs(routes)
        choice = Choice(self.scorer, policy, routes, costs, self.costs_.factors, self._observed, self.evidence)
        if policy.budget_per_task is None:
            return choice.decide(wanted, x, top)
        if reference:
            known = [Task.of_text(t) if isinstance(t, str) else t for t in reference]
            return choice.decide(wanted, x, top, choice.spending(self.embedder.embed([t.text for t in known])))
        return choice.decide(wanted, x, top, self._spending(choice) if len(self._reference) else None)

    def plan(
        self,
        task: str | Task = "",
        *,
        attempts: int = ATTEMPTS,
        pool: Sequence[Route] | None = None,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        max_cost: float | None = None,
        goal: Goal | None = None,
        verifier: Verifier | None = None,
    ) -> Plan:
        """Attempts in order for a task, perhaps unknown: try, check with the verifier, stop at the first that passes.

        By default the goal is the policy's cost weight or budget and the verifier is never wrong; the rest as in
        `route`. `max_cost` caps each attempt.
        """
        self._require_fitted()
        routes = select(self.pool_ if pool is None else tuple(dict.fromkeys(pool)), allow, deny)
        policy = self.policy.given(max_cost=max_cost)
        default = Goal(budget=policy.budget_per_task) if policy.budget_per_task else Goal(policy.cost_weight)
        wanted = Task.of_text(task) if isinstance(task, str) else task
        self._describe(routes)
        x = self.embedder.embed([wanted.text])
        factor = float(self.costs_.factors(x)[0][0])
        costs = [cost.times(factor) for cost in self._pool_costs(routes)]
        planner = Planner(self.scorer, policy, routes, costs, self.difficulty_, self._observed, self.evidence)
        return planner.plan(wanted, x[0], goal or default, verifier or Verifier(), attempts)

    def evidence(self, route: Route) -> Evidence:
        """How many executions of the pair, of its model and of its harness the router knows."""
        return Evidence(
            self._runs[route], self._component_runs["model", route.model],
            self._component_runs["harness", route.harness],
        )  # fmt: skip

    def elsewhere(self, decision: Decision) -> Elsewhere | None:
        """What other suites had to do with a decision, None if they had nothing."""
        if self.report_.history is None:
            return None
        background = replace(self.report_.history, own_outcomes=self._runs.total())
        return Elsewhere(background, {c.route: self._seen.get(c.route, SuiteCounts(0, 0)) for c in decision.ranked})

    @property
    def known_routes(self) -> tuple[Route, ...]:
        """What was run here, and what other suites report, but for harnesses that were written for one benchmark."""
        return tuple(sorted({*self._runs, *(r for r in self._seen if self.descriptions.general(r.harness))}))

    # -- keeping ------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write one file, in one step."""
        self._require_fitted()
        write_router_file(path, self._state())

    @classmethod
    def load(cls, path: str | Path, *, embedder: Embedder | None = None) -> Self:
        """Read a file that `save` wrote. An `embedder` given here must be the one it was trained with."""
        state = read_router_file(path)
        try:
            self, identity = cls._from_state(state)
        except UnknownName as e:
            raise RouterFileError(f"{path} needs a plug-in that is not installed here: {brief(str(e))}") from e
        except PluginError as e:
            raise RouterFileError(f"{path} needs a plug-in that does not work here: {brief(str(e))}") from e
        except Exception as e:  # whatever a part raises on content that it did not write is the finding
            reason = brief(repr(e))
            raise RouterFileError(f"the content of {path} is damaged ({reason}); train again or use a copy") from e
        _require_identity(self.embedder, identity)
        if embedder is not None:
            _require_identity(embedder, identity)
            self.embedder = embedder.expect(identity["dims"])
        return self

    # -- inside -------------------------------------------------------------------------------------------------

    def _require_fitted(self) -> None:
        if not hasattr(self, "pool_"):
            raise NotFitted("this router is not fitted; call fit(data) or Router.load(path) first")

    def _state(self) -> State:
        """Everything that `save` keeps."""
        own: dict[str, Any] = {
            "scorer": self.scorer.name, "embedder": self.embedder.name, "embedder_identity": self.embedder.identity(),
            "policy": asdict(self.policy) | {"incumbent": self.policy.incumbent and str(self.policy.incumbent)},
            "descriptions": dict(self.descriptions.extra), "described": sorted(self._described),
            "pool": [str(r) for r in self.pool_], "runs": {str(r): n for r, n in self._runs.items()},
            "observed": sorted(str(r) for r in self._observed),
            "report": asdict(self.report_),
        }  # fmt: skip
        parts = {"scorer": self.scorer.state(), "embedder": self.embedder.state(), "costs": self.costs_.state(),
                 "reference": State({"x": self._reference}), "difficulty": self.difficulty_.state()}  # fmt: skip
        return State.join(router=State(meta=own), **parts)

    @classmethod
    def _from_state(cls, state: State) -> tuple[Self, dict[str, Any]]:
        """The router, and the identity of the embedder that it was trained with."""
        own = state.part("router").meta
        with one_thread() if own["report"].get("history") else nullcontext():
            scorer = SCORERS.load(own["scorer"]).from_state(state.part("scorer"))
        embedder = EMBEDDERS.load(own["embedder"]).from_state(state.part("embedder"))
        incumbent = own["policy"]["incumbent"]
        policy = Policy(**(own["policy"] | {"incumbent": Route.parse(incumbent) if incumbent else None}))
        self = cls(scorer, embedder, policy, HarnessDescriptions(own["descriptions"]))
        self.costs_ = ExpectedCosts.from_state(state.part("costs"))
        known = "difficulty" in state.meta  # files of earlier versions have none: tasks are as difficult as usual
        self.difficulty_ = Difficulty.from_state(state.part("difficulty")) if known else Difficulty()
        self.pool_ = tuple(Route.parse(r) for r in own["pool"])
        self._runs = Counter({Route.parse(r): int(n) for r, n in own["runs"].items()})
        self._observed = {Route.parse(r) for r in own["observed"]}
        self._described = {str(harness) for harness in own["described"]}
        self.report_ = FitReport.from_dict(own["report"])
        # A scorer that listens to other suites keeps what it heard.
        self._hear(() if (belief := getattr(scorer, "belief_", None)) is None else belief.records)
        self._refresh()
        # Parts that do not fit together show when they meet. What this computes is kept for the first task. An
        # embedder that asks elsewhere is not asked: whether its file is whole does not depend on a network.
        x = embedder.embed(["" if embedder.cacheable else "any task"])
        # Files of earlier versions have no reference tasks.
        self._reference = state.part("reference").arrays["x"] if "reference" in state.meta else x[:0]
        now, kept = _shapes(self._state()), _shapes(state)
        if {name: now.get(name) for name in kept} != kept or self._reference.shape[1:] != x.shape[1:]:
            raise ValueError("its arrays have other shapes than its settings say")
        if not self.pool_ or not np.isfinite(scorer.score(x, self.pool_)).all():
            raise ValueError("it does not score its own pool")
        if not np.isfinite(self.costs_.factors(x)).all():
            raise ValueError("it does not know what a task costs")
        return self, dict(own["embedder_identity"])

    def _refresh(self) -> None:
        """Recompute what is derived from the counts."""
        self._component_runs: Counter[tuple[str, str]] = Counter()
        for route, n in self._runs.items():
            self._component_runs["model", route.model] += n
            self._component_runs["harness", route.harness] += n
        self._costs_of: tuple[Sequence[Route], list[Cost]] | None = None
        self._spending_of: tuple[Any, Spending] | None = None

    def _hear(self, records: Sequence[Record]) -> None:
        """Take in what is known of routes from other suites, beside what the scorer makes of it."""
        self._seen = count_suites(records)
        self._costs_elsewhere = RouteCosts()
        for record in records:
            if record.cost is not None:
                self._costs_elsewhere.add(record.route, record.cost)

    def _pool_costs(self, routes: tuple[Route, ...]) -> list[Cost]:
        if self._costs_of is None or self._costs_of[0] != routes:
            here, there = self.costs_.of_all(routes), self._costs_elsewhere.of_all(routes)
            self._costs_of = (routes, [nearest(*costs) for costs in zip(here, there, strict=True)])
        return self._costs_of[1]

    def _spending(self, choice: Choice) -> Spending:
        """What the policy's budget asks for; solved again when the pool or the evidence changes."""
        asked = (choice.routes, choice.policy)
        if self._spending_of is None or self._spending_of[0] != asked:
            self._spending_of = (asked, choice.spending(self._reference))
        return self._spending_of[1]

    def _describe(self, routes: Iterable[Route]) -> None:
        """Tell the scorer about harnesses that were not in the training data."""
        for harness in sorted({r.harness for r in routes} - self._described):
            self.scorer.describe(harness, self.embedder.embed([self.descriptions.text(harness)])[0])
            self._described.add(harness)


def _shapes(state: State) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in state.arrays.items()}


def _require_identity(embedder: Embedder, wanted: dict[str, Any]) -> None:
    identity = embedder.identity()
    if identity.get("dims") is None:  # one that has not embedded anything yet may not know
        identity |= {"dims": wanted.get("dims")}
    if identity != wanted:
        differing = sorted(k for k in {*identity, *wanted} if identity.get(k) != wanted.get(k))
        shown = ", ".join(f"{k} {identity.get(k)!r} instead of {wanted.get(k)!r}" for k in differing)
        raise EmbedderMismatch(f"this router was trained with another embedder: {shown}; use that one, or train again")
