"""One task, from a plan to a verified result: attempts in order, each in a fresh checkout, each learned from."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hmrouter.errors import NoRoute
from hmrouter.plan import Goal
from hmrouter.plan.document import recorded
from hmrouter.router import Router
from hmrouter.run.attempt import run_harness
from hmrouter.run.drivers.base import Driver, Ended, HarnessResult, Job, Usage
from hmrouter.run.planning import plan_attempts
from hmrouter.run.results import AttemptResult, TaskEnd, TaskResult, from_detail, to_detail
from hmrouter.run.spending import Spending
from hmrouter.run.trees.baseline import Baselines
from hmrouter.run.trees.checkout import Cancelled, Checkouts
from hmrouter.run.trees.in_tree import in_own_tree, in_place
from hmrouter.run.trees.repository import changes_of, keep_diff
from hmrouter.run.trees.verify import Verifier
from hmrouter.run.work_folder import WorkFolder
from hmrouter.store import AttemptState, LedgerEntry, OutcomeStore
from hmrouter.types import DecisionRecord, LoggedDecision, Plan, Report, Route, Status, Task

BROKEN = 2
"""After so many attempts in which machinery failed, a task is given up for now."""


class Watcher(Protocol):
    """Whoever shows what goes on; called from the threads that work."""

    def planned(self, task: Task, plan: Plan) -> None:
        """Plan attempts at a task."""

    def started(self, task: Task, number: int, plan: Plan) -> None:
        """Start the first attempt of a plan."""

    def usage(self, task: Task, usage: Usage, seconds: float) -> None:
        """Tell what an attempt has used so far."""

    def ended(self, task: Task, attempt: AttemptResult) -> None:
        """End an attempt."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How attempts are made."""

    attempts: int = 3
    goal: Goal | None = None
    max_cost: float | None = None
    """Cap on the expected dollars of an attempt."""
    stop_after: float | None = None
    """Dollars after which a running attempt is stopped."""
    max_seconds: float = 1800.0
    max_turns: int | None = None
    effort: str | None = None
    bypass: bool = False
    in_place: bool = False
    own_files: tuple[str, ...] = ()
    """Files of this program in the tree, such as its store: no change of an attempt."""
    incumbent: Route | None = None
    grace: float = 5.0


@dataclass(frozen=True, slots=True)
class EarlierWork:
    """What an earlier process did for a task before it was killed."""

    decision: LoggedDecision
    entries: tuple[LedgerEntry, ...]


@dataclass
class TaskRunner:
    """Runs tasks of one repository; several threads may do so at once."""

    router: Router
    store: OutcomeStore
    drivers: Mapping[str, Driver]
    pool: Sequence[Route]
    verifier: Verifier
    work: WorkFolder
    watcher: Watcher
    settings: RunSettings = field(default_factory=RunSettings)
    spending: Spending = field(default_factory=Spending)
    baselines: Baselines = field(default_factory=Baselines)
    stop: threading.Event = field(default_factory=threading.Event)
    owner: str = ""
    batch: str = ""

    def run(self, task: Task, base: str, earlier: EarlierWork | None = None) -> TaskResult:
        """Make attempts at a task until one passes, or none is left."""
        course = _Course(self, task, base, earlier)
        return course.run()

    @property
    def checkouts(self) -> Checkouts:
        """Where attempts work."""
        return self.verifier.checkouts


class _Course:
    """One task on its way: what was tried, and what comes next."""

    def __init__(self, runner: TaskRunner, task: Task, base: str, earlier: EarlierWork | None) -> None:
        self.runner, self.task, self.base = runner, task, base
        self.record: DecisionRecord | None = None if earlier is None else earlier.decision.record
        self.known = self.record is not None
        self.reports: list[Report] = []
        self.attempts: list[AttemptResult] = []
        self.earlier: list[Report] = []
        self.number = 0
        self.solution: tuple[Path, str] | None = None
        self.forecast: dict[Route, tuple[float, float | None]] = {}
        if earlier is not None:
            self._take_up(earlier)

    def run(self) -> TaskResult:
        if self.runner.settings.incumbent is not None:
            self._expect(self.runner.settings.incumbent)
        if not self.solution and not self.runner.stop.is_set():
            self.runner.baselines.check(self.runner.verifier, self.base, self.runner.work, self.runner.stop)
        end = TaskEnd.SOLVED if self.solution else None
        while end is None:
            end = self._step()
        diff, base = self.solution or (None, self.base)
        plan = "" if self.record is None else self.record.id
        return TaskResult(self.task, plan, end, tuple(self.attempts), tuple(self.earlier), diff, base, self.forecast)

    # -- what an earlier process left -----------------------------------------------------------------------------

    def _take_up(self, earlier: EarlierWork) -> None:
        """Learn what was finished, verify what was not yet, and give up what was interrupted."""
        told = {revision.report.attempt: revision.report for revision in earlier.decision.current}
        for entry in earlier.entries:
            self.number = max(self.number, entry.attempt)
            folder = Path(entry.folder)
            if entry.state is AttemptState.RAN:
                harness = from_detail(entry.detail["harness"])
                self._conclude(AttemptResult(entry.attempt, entry.route, harness, None, folder), entry.base)
            elif entry.state is AttemptState.STARTED:
                interrupted = HarnessResult(Ended.CANCELLED, Usage(), 0.0, "interrupted: the process that ran it ended")
                self._report(AttemptResult(entry.attempt, entry.route, interrupted, None, folder))
            elif report := told.get(entry.attempt):
                self.earlier.append(report)
                self.reports.append(report)
                if report.passed:
                    self.solution = (folder / "changes.diff", entry.base)

    # -- one attempt ----------------------------------------------------------------------------------------------

    def _step(self) -> TaskEnd | None:
        """Make the next attempt; return why there is none, or that it solved the task."""
        runner, settings = self.runner, self.runner.settings
        if runner.stop.is_set():
            return TaskEnd.CANCELLED
        counted = [r for r in self.reports if r.status is Status.OK]
        if sum(r.status is Status.INFRA_ERROR for r in self.reports) >= BROKEN:
            return TaskEnd.MACHINERY
        plan = self._plan(settings.attempts - len(counted))
        if plan is None:
            return TaskEnd.TRIED
        chosen = plan.attempts[0]
        room = runner.spending.start(settings.stop_after)
        if room is None:
            return TaskEnd.BUDGET
        spent = 0.0
        try:
            self.number += 1
            attempt = self._attempt(plan, chosen.route, room)
            spent = attempt.harness.usage.dollars or 0.0
        finally:
            runner.spending.end(room, spent)
        if attempt.status is Status.UNKNOWN:
            return TaskEnd.CANCELLED
        return TaskEnd.SOLVED if attempt.passed else None

    def _plan(self, left: int) -> Plan | None:
        """Plan the attempts that are left, knowing what failed; None if there is nothing left to try."""
        runner, settings = self.runner, self.runner.settings
        tried = {r.route for r in self.reports if r.status is not Status.UNKNOWN}
        pool = [route for route in runner.pool if route not in tried]
        if left < 1 or not pool:
            return None
        try:
            plan = plan_attempts(runner.router, self.task, pool, left, settings.max_cost, settings.goal)
        except NoRoute:
            if not self.reports:
                raise
            return None
        if self.record is None:
            tags = {"batch": runner.batch} if runner.batch else {}
            self.record = recorded(plan, incumbent=settings.incumbent, snapshot=runner.router.snapshot.id, tags=tags)
            runner.watcher.planned(self.task, plan)
        return plan

    def _expect(self, route: Route) -> None:
        """Note what is expected of the incumbent before anything is known of the task."""
        with suppress(NoRoute):  # nothing is known of it
            decision = self.runner.router.route(self.task, pool=[route])
            self.forecast[route] = (decision.success, decision.cost)

    def _attempt(self, plan: Plan, route: Route, room: float) -> AttemptResult:
        runner, record = self.runner, self.record
        assert record is not None
        folder = runner.work.attempt(record.id, self.number)
        entry = LedgerEntry(
            record.id, self.number, route, str(folder), self.base, runner.batch, detail={"owner": runner.owner}
        )
        runner.store.start_attempt(entry, None if self.known else record)
        self.known = True
        runner.watcher.started(self.task, self.number, plan)
        result, diff = self._work(route, folder, room)
        keep_diff(folder, diff)
        runner.store.advance_attempt(record.id, self.number, AttemptState.RAN, self._detail(result))
        return self._conclude(AttemptResult(self.number, route, result, None, folder), self.base)

    def _work(self, route: Route, folder: Path, room: float) -> tuple[HarnessResult, bytes]:
        """Let the harness work in a tree of its own; return its result and its changes."""
        runner, settings = self.runner, self.runner.settings
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with self._place(folder) as (tree, start):
                job = Job(
                    route, self.task.text, tree, folder / "harness", settings.max_seconds,
                    max_dollars=None if room == float("inf") else room, max_turns=settings.max_turns,
                    effort=settings.effort, bypass=settings.bypass,
                    sandbox=runner.checkouts.shell.around(tree, folder),
                )  # fmt: skip
                result = run_harness(
                    runner.drivers[route.harness], job,
                    lambda usage, seconds: runner.watcher.usage(self.task, usage, seconds), runner.stop,
                    settings.grace,
                )  # fmt: skip
                without = settings.own_files if settings.in_place else ()
                return result, changes_of(tree, start, folder / "index", without)
        except Cancelled:
            return HarnessResult(Ended.CANCELLED, Usage(), 0.0, "cancelled"), b""

    def _place(self, folder: Path) -> AbstractContextManager[tuple[Path, str]]:
        runner = self.runner
        if runner.settings.in_place:
            return in_place(runner.checkouts, self.base, runner.settings.own_files)
        assert self.record is not None
        place = runner.work.tree(self.record.id, self.number)
        return in_own_tree(runner.checkouts, self.base, place, folder / "setup", runner.stop)

    def _conclude(self, ran: AttemptResult, base: str) -> AttemptResult:
        """Verify what a harness left, if that says something about its route, and report the attempt."""
        runner, record = self.runner, self.record
        assert record is not None
        done = ran
        if ran.harness.status is Status.OK:
            diff = (ran.folder / "changes.diff").read_bytes()
            tree = runner.work.tree(record.id, ran.number, "-verify")
            verdict = runner.verifier.verify(base, diff, tree, ran.folder / "check", runner.stop)
            done = AttemptResult(ran.number, ran.route, ran.harness, verdict, ran.folder)
            if verdict.cancelled:
                return done  # it ran; the next process verifies it
        return self._report(done, base)

    def _report(self, attempt: AttemptResult, base: str = "") -> AttemptResult:
        """Keep and learn what came of an attempt."""
        runner, record = self.runner, self.record
        assert record is not None
        report = attempt.report(record.id)
        told = runner.store.finish_attempt(report, self._detail(attempt.harness))
        self.reports.append(report)
        self.attempts.append(attempt)
        outcome = next(o for o in told.decision.outcomes() if o.trial == str(attempt.number))
        runner.router.observe(outcome)
        if attempt.passed:
            self.solution = (attempt.folder / "changes.diff", base)
        runner.watcher.ended(self.task, attempt)
        return attempt

    def _detail(self, harness: HarnessResult) -> dict[str, object]:
        return {"owner": self.runner.owner, "harness": to_detail(harness)}
