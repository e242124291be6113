"""Router: fit on outcomes, route tasks, observe what came of it, save and load."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy, deepcopy
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hmrouter.costs import ExpectedCosts
from hmrouter.decide.budgets import reference_sample
from hmrouter.decide.document import Elsewhere
from hmrouter.decide.policy import Policy
from hmrouter.errors import EmbedderMismatch, InputError, NotFitted, PluginError, RouterFileError, UnknownName
from hmrouter.evidence.dataset import Dataset
from hmrouter.features.base import EMBEDDERS, Embedder, embedder_named
from hmrouter.features.cache import VectorCache, embed_cached, embed_tasks
from hmrouter.features.descriptions import HarnessDescriptions
from hmrouter.history.families import own_families
from hmrouter.history.public import believe
from hmrouter.history.records import Record
from hmrouter.plan import ATTEMPTS, Goal, VerifierErrors
from hmrouter.plan.difficulty import Difficulty
from hmrouter.router.file import brief, read_router_file, write_router_file
from hmrouter.router.report import FitReport
from hmrouter.router.snapshot import PoolRequest, Snapshot
from hmrouter.scorers.base import SCORERS, Scorer, Training
from hmrouter.state import State
from hmrouter.types import Decision, Evidence, HistorySources, Outcome, Plan, Route, Task
from hmrouter.workload import Workload

if TYPE_CHECKING:
    from hmrouter.evidence.fading import HalfLife
    from hmrouter.store import OutcomeStore

Progress = Callable[[int, int], None]


class Router:
    """Chooses a (model, harness) pair for each task.

    Any number of threads may ask it while another learns: questions read the current `Snapshot`, and learning puts
    another in its place.

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
        self._scorer: Scorer = SCORERS.load(scorer)() if isinstance(scorer, str) else scorer
        self._embedder: Embedder = embedder_named(embedder) if isinstance(embedder, str) else embedder
        self.policy = policy or Policy()
        self.descriptions = descriptions or HarnessDescriptions()
        self._snapshot: Snapshot | None = None
        self._learning = threading.RLock()
        """Held while the next snapshot is made, so that none is lost; questions do not wait for it."""

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

        `history`: results of routes on other suites, for scorers that use them. Its records of the data's own suites,
        or of suites that share their tasks, are left out. With it there may be no outcome at all.
        """
        own = own_families(data.suites, history)
        return self.learn(Workload(data, tuple(r for r in history if r.family not in own)), cache, progress)

    def fit_store(
        self,
        store: OutcomeStore,
        *,
        suites: Collection[str] = (),
        history: HistorySources | str = HistorySources.ALL,
        half_life: HalfLife | str = "store",
        old_versions: float | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from the outcomes in a store, as `hmrouter train` does, number for number.

        By default all suites are one workload, published results are used, and evidence fades as the store has it set.
        """
        if history not in set(HistorySources):
            raise UnknownName("history", str(history), HistorySources)
        sources = HistorySources(history) if self._scorer.listens else HistorySources.NONE
        workload = Workload.of_store(
            store, suites=suites, history=sources, half_life=half_life, old_versions=old_versions
        )
        return self.learn(workload, store, progress)

    def learn(self, workload: Workload, cache: VectorCache | None = None, progress: Progress | None = None) -> Self:
        """Learn from a workload; `cache` keeps vectors of texts that are dear to embed."""
        data = workload.data
        scorer, embedder = self._scorer, self._embedder
        if self._snapshot is not None:  # which goes on answering with what it has
            scorer, embedder = deepcopy(self._snapshot.scorer), copy(self._snapshot.embedder)
        belief = believe(workload.records) if workload.records and scorer.listens else None
        if not len(data.cells) and belief is None:
            without = f" ({sum(data.ignored.values())} have status infra_error or unknown)" if data.ignored else ""
            raise InputError(f"there is no outcome with a score to learn from{without}", hint="add_outcomes")
        with self._learning:
            embedder.fit([t.text for t in data.tasks])
            described = embed_cached(embedder, [self.descriptions.text(h) for h in data.harnesses], cache)
            scorer.progress = progress
            try:
                x = embed_tasks(embedder, data.tasks, cache)
                scorer.fit(Training(data, x, dict(zip(data.harnesses, described, strict=True)), belief))
            finally:
                scorer.progress = None
            records = () if belief is None else belief.records
            trials = np.bincount(data.cells.route, weights=data.cells.trials, minlength=len(data.routes))
            self._snapshot = Snapshot(
                scorer, embedder, self.descriptions, frozenset(data.harnesses), ExpectedCosts.fit(data, x),
                Difficulty.fit(data), data.routes or tuple(sorted({r.route for r in records})),
                Counter({r: int(n) for r, n in zip(data.routes, trials, strict=True)}),
                frozenset(r for r, seen in zip(data.routes, data.observed, strict=True) if seen),
                reference_sample(x), tuple(records), FitReport.of(data, records), datetime.now(UTC),
            )  # fmt: skip
        return self

    @classmethod
    def from_history(cls, records: Sequence[Record], *, suite: str | None = None, **settings: Any) -> Self:
        """Make a router for a suite without outcomes from the results of other suites; their routes are the pool.

        Records of the suite itself are left out. `settings` are those of the constructor.

        >>> from hmrouter.history.public import shipped
        >>> router = Router.from_history(shipped())
        >>> decision = router.route("Fix the failing CI job", allow=["harness=codex,openhands"], max_cost=2.0)
        >>> decision.observed, router.elsewhere(decision).background.note
        (False, 'public evidence only')
        """
        own = own_families([suite], records) if suite is not None else ()
        return cls(**settings).fit(Dataset([]), history=[r for r in records if r.family not in own])

    def observe(self, outcome: Outcome, *, refit: bool = False) -> None:
        """Learn from one more outcome. `save` keeps it in the file; the store is kept separately.

        With `refit`, variances and calibration are learned again if that is due (`refit_due`), which may take seconds.
        """
        with self._learning:  # an outcome is taken in whole or not at all
            now = self.snapshot.after(outcome)
            self._snapshot = now.refitted(datetime.now(UTC)) if refit and now.scorer.refit_due else now

    @property
    def refit_due(self) -> bool:
        """Whether enough was observed since the fit for `refit` to pay."""
        return self.snapshot.scorer.refit_due

    def refit(self) -> None:
        """Learn variances and calibration again from all outcomes; meanwhile questions are answered as before."""
        with self._learning:
            self._snapshot = self.snapshot.refitted(datetime.now(UTC))

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
        """Choose a route for each of many tasks at once; see `route`.

        A budget is met in expectation over the `reference` tasks: by default those of the training data (a sample of
        them), and where there were none the tasks themselves.
        """
        policy = self.policy.given(
            cost_weight=cost_weight, max_cost=max_cost, budget_per_task=budget_per_task, incumbent=incumbent,
            margin=margin,
        )  # fmt: skip
        return self.snapshot.route_all(tasks, policy, PoolRequest(pool, allow, deny), reference, top)

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
        verifier: VerifierErrors | None = None,
    ) -> Plan:
        """Plan attempts at a task in order: try one, check it with the verifier, stop at the first that passes.

        The text may be empty where the task is not known. By default the goal is the policy's cost weight or budget and
        the verifier is never wrong; the rest as in `route`. `max_cost` caps each attempt.
        """
        policy = self.policy.given(max_cost=max_cost)
        budget = policy.budget_per_task
        default = Goal(policy.cost_weight) if budget is None else Goal(budget=budget)
        asked = PoolRequest(pool, allow, deny)
        return self.snapshot.plan(task, policy, asked, goal or default, verifier or VerifierErrors(), attempts)

    def evidence(self, route: Route) -> Evidence:
        """Count the executions of the pair, of its model and of its harness that the router knows."""
        return self.snapshot.evidence(route)

    def elsewhere(self, decision: Decision) -> Elsewhere | None:
        """Give the results of other suites that a decision used; None if it used none."""
        return self.snapshot.elsewhere(decision)

    # -- looking ------------------------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that decides now. It never changes; learning puts another in its place."""
        if self._snapshot is None:
            raise NotFitted("this router is not fitted; call fit(data) or Router.load(path) first")
        return self._snapshot

    @property
    def scorer(self) -> Scorer:
        """The scorer, as it is now."""
        return self._scorer if self._snapshot is None else self._snapshot.scorer

    @property
    def embedder(self) -> Embedder:
        """The embedder."""
        return self._embedder if self._snapshot is None else self._snapshot.embedder

    @property
    def pool_(self) -> tuple[Route, ...]:
        """The routes that are chosen from unless a call gives a pool."""
        return self.snapshot.pool

    @property
    def report_(self) -> FitReport:
        """Counts of the data that the router was fitted on."""
        return self.snapshot.report

    @property
    def known_routes(self) -> tuple[Route, ...]:
        """Routes that were run here or on other suites, without harnesses that were written for one benchmark."""
        return self.snapshot.known_routes

    # -- keeping ------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Save the router to one file, replacing an old one in one step."""
        with self._learning:  # a scorer's ledger belongs to its newest state
            state = self._state()
        write_router_file(path, state)

    @classmethod
    def load(cls, path: str | Path, *, embedder: Embedder | None = None) -> Self:
        """Load a router from a file that `save` wrote. An `embedder` given here must be the one it was trained with."""
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
            self._snapshot = replace(self.snapshot, embedder=embedder.expect(identity["dims"]))
        return self

    # -- inside -------------------------------------------------------------------------------------------------

    def _state(self) -> State:
        """Collect everything that `save` keeps."""
        now = self.snapshot
        own: dict[str, Any] = {
            "scorer": now.scorer.name, "embedder": now.embedder.name, "embedder_identity": now.embedder.identity(),
            "policy": asdict(self.policy) | {"incumbent": self.policy.incumbent and str(self.policy.incumbent)},
            "descriptions": dict(now.descriptions.extra), "described": sorted(now.described),
            "pool": [str(r) for r in now.pool], "runs": {str(r): n for r, n in now.runs.items()},
            "observed": sorted(str(r) for r in now.observed), "report": asdict(now.report), "snapshot": now.id,
            "fitted_at": None if now.fitted_at is None else now.fitted_at.isoformat(),
        }  # fmt: skip
        parts = {"scorer": now.scorer.state(), "embedder": now.embedder.state(), "costs": now.costs.state(),
                 "reference": State({"x": now.reference}), "difficulty": now.difficulty.state()}  # fmt: skip
        return State.join(router=State(meta=own), **parts)

    @classmethod
    def _from_state(cls, state: State) -> tuple[Self, dict[str, Any]]:
        """Restore the router, and the identity of the embedder that it was trained with."""
        own = state.part("router").meta
        scorer = SCORERS.load(own["scorer"]).from_state(state.part("scorer"))
        embedder = EMBEDDERS.load(own["embedder"]).from_state(state.part("embedder"))
        incumbent = own["policy"]["incumbent"]
        policy = Policy(**(own["policy"] | {"incumbent": Route.parse(incumbent) if incumbent else None}))
        self = cls(scorer, embedder, policy, HarnessDescriptions(own["descriptions"]))
        # Parts that do not fit together show when they meet. What this computes is kept for the first task. An
        # embedder that asks elsewhere is not asked: whether its file is whole does not depend on a network.
        x = embedder.embed(["" if embedder.cacheable else "any task"])
        # A scorer that listens to other suites keeps what it heard.
        heard = getattr(scorer, "belief_", None)
        fitted_at = own.get("fitted_at")  # files of the first versions say neither when nor which
        now = Snapshot(
            scorer, embedder, self.descriptions, frozenset(map(str, own["described"])),
            ExpectedCosts.from_state(state.part("costs")), Difficulty.from_state(state.part("difficulty")),
            tuple(Route.parse(r) for r in own["pool"]),
            Counter({Route.parse(r): int(n) for r, n in own["runs"].items()}),
            frozenset(Route.parse(r) for r in own["observed"]), state.part("reference").arrays["x"],
            () if heard is None else heard.records, FitReport.from_dict(own["report"]),
            None if fitted_at is None else datetime.fromisoformat(fitted_at),
        )  # fmt: skip
        self._snapshot = replace(now, id=str(own["snapshot"])) if "snapshot" in own else now
        made, kept = _shapes(self._state()), _shapes(state)
        if {name: made.get(name) for name in kept} != kept or now.reference.shape[1:] != x.shape[1:]:
            raise ValueError("its arrays have other shapes than its settings say")
        if not now.pool or not np.isfinite(scorer.score(x, now.pool)).all():
            raise ValueError("it does not score its own pool")
        if not np.isfinite(now.costs.factors(x)).all():
            raise ValueError("it does not know what a task costs")
        return self, dict(own["embedder_identity"])


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
