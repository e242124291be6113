"""Set up a run as the options say, run it, and say what came of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType

import typer

from hmrouter.cli.asking import asked_pool, asked_router, asked_task
from hmrouter.cli.output import dollars, echo, print_json, say
from hmrouter.cli.run_output import ENDS, LiveLine, document, show_batch, show_dry_run
from hmrouter.cli.run_request import RunRequest
from hmrouter.cli.words import counted
from hmrouter.decide.pool import select
from hmrouter.errors import GitError, UsageError
from hmrouter.router import Router
from hmrouter.run.batch import BatchTask, batch_id, earlier_work, read_tasks, run_all
from hmrouter.run.cleanup import clean
from hmrouter.run.comparison import IncumbentSummary, against, summary
from hmrouter.run.drivers import all_drivers
from hmrouter.run.drivers.base import Driver, Job
from hmrouter.run.planning import plan_attempts
from hmrouter.run.results import TaskResult
from hmrouter.run.runnable import runnable
from hmrouter.run.spending import Spending
from hmrouter.run.task_runner import EarlierWork, RunSettings, TaskRunner
from hmrouter.run.trees.baseline import Baselines
from hmrouter.run.trees.checkout import Checkouts
from hmrouter.run.trees.command import Shell
from hmrouter.run.trees.deliver import branch_name, deliver, require_takeable
from hmrouter.run.trees.protected import ProtectedPaths
from hmrouter.run.trees.repository import Repository
from hmrouter.run.trees.sandbox import sandbox
from hmrouter.run.trees.verify import Verifier
from hmrouter.run.work_folder import WorkFolder
from hmrouter.store import OutcomeStore
from hmrouter.types import DEFAULT_SUITE, Route, Task

PREFIX = "hmrouter/"
"""The beginning of the names of the branches that many tasks become."""
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that runs of one command share."""

    request: RunRequest
    repository: Repository
    settings: RunSettings
    base: str
    work: WorkFolder
    router: Router
    drivers: dict[str, Driver]
    pool: tuple[Route, ...]
    live: LiveLine
    files: tuple[str, ...]
    shell: Shell

    def verifier(self, command: str) -> Verifier:
        """Make the verifier with a command."""
        protected = ProtectedPaths.of(command, self.files, self.request.verify_paths)
        return Verifier(Checkouts(self.repository, self.request.setup, self.shell), command, protected)


def run_one(request: RunRequest) -> None:
    """Run one task and apply what solved it."""
    with OutcomeStore(request.store) as store:
        task = asked_task(request.text, request.suite, request.task_id, request.family)
        ready = prepare(request, store, many=False)
        if not request.verify:
            raise UsageError("a verified result needs a command that verifies; give --verify COMMAND")
        require_takeable(ready.repository, request.branch, request.in_place, ready.settings.own_files)
        (result,) = _run(ready, store, [BatchTask(task, request.verify)], "", {})
        commit = deliver(ready.repository, result, request.branch, _message(task))
    if request.as_json:
        print_json("run", document([result], summary([result]), _beside(ready, [result])))
    else:
        _say_result(result, request.branch, commit)
    if not result.solved:
        raise typer.Exit(1)


def run_many(request: RunRequest) -> None:
    """Run the tasks of a file; those that are solved become branches."""
    assert request.tasks is not None
    with OutcomeStore(request.store) as store:
        tasks = read_tasks(request.tasks, request.verify, request.suite or DEFAULT_SUITE)
        ready = prepare(request, store, many=True)
        batch = batch_id(ready.repository, request.tasks)
        with ready.work.owned(f"batch-{batch}"):
            earlier = earlier_work(store, batch)
            clean(store, ready.repository, ready.work, keep_unfinished=True)
            results = _run(ready, store, tasks, batch, earlier)
    total, beside = summary(results), _beside(ready, results)
    if request.as_json:
        print_json("run", document(results, total, beside))
    else:
        show_batch(results, total, beside)
    if total.solved < total.tasks:
        raise typer.Exit(1)


def dry(request: RunRequest) -> None:
    """Show what would be run."""
    with OutcomeStore(request.store) as store:
        ready = prepare(request, store, many=request.tasks is not None)
        if request.tasks is not None:
            tasks = read_tasks(request.tasks, request.verify, request.suite or DEFAULT_SUITE)
        else:
            task = asked_task(request.text, request.suite, request.task_id, request.family)
            tasks = [BatchTask(task, request.verify)]
    for item in tasks:
        plan = plan_attempts(
            ready.router, item.task, ready.pool, request.attempts, request.max_cost, ready.settings.goal
        )
        folder = ready.work.attempt(plan.id, 1)
        commands = []
        for attempt in plan.attempts:
            tree = ready.work.tree(plan.id, 1)
            job = Job(attempt.route, item.task.text, tree, folder / "harness", request.timeout,
                      max_dollars=request.stop_after or request.budget, max_turns=request.max_turns,
                      effort=request.effort, bypass=ready.settings.bypass)  # fmt: skip
            command = ready.drivers[attempt.route.harness].command(job)
            commands.append([*ready.shell.around(tree, folder), *command.argv])
        show_dry_run(plan, commands, item.verify, request.setup, ready.verifier(item.verify).protected.patterns)


def clean_up(request: RunRequest) -> None:
    """Remove what killed runs left."""
    repository = request.repository()
    with OutcomeStore(request.store) as store:
        removed = clean(store, repository, WorkFolder.of(repository, request.work))
    ended = counted(removed.processes, "process", "processes")
    echo(
        f"Removed {counted(removed.worktrees, 'checkout')}, ended {ended}, "
        f"gave up {counted(removed.attempts, 'attempt')} that {'was' if removed.attempts == 1 else 'were'} under way."
    )


def prepare(request: RunRequest, store: OutcomeStore, many: bool) -> Prepared:
    """Find everything that a run needs, or say in a line what is missing, before anything is started."""
    repository = request.repository()
    settings, base = request.settings(repository), repository.commit()
    if (modules := repository.submodules(base)) and not request.setup:
        raise UsageError(
            f"the repository has submodules ({', '.join(modules[:3])}), which are empty in a checkout; "
            "fill them with --setup 'git submodule update --init'"
        )
    work = WorkFolder.of(repository, request.work)
    store.count()  # a store that cannot be had is said now
    drivers = all_drivers(request.harness)
    router, untrained = asked_router(request.router, request.history, request.suite, request.store)
    candidates = asked_pool(request.pool) or (router.known_routes if untrained else router.pool_)
    found = runnable(select(candidates, request.allow, request.deny), drivers, settings.bypass)
    pool = found.required()
    if found.refused and request.pool is not None:
        route, why = next(iter(found.refused.items()))
        say(f"note: {counted(len(found.refused), 'route')} of the pool cannot be run here, such as {route}: {why}")
    words = () if request.sandbox is None else sandbox(request.sandbox)
    shell = Shell(max_seconds=request.timeout, sandbox=words)
    files = tuple(repository.files(base))
    return Prepared(request, repository, settings, base, work, router, drivers, pool, LiveLine(many), files, shell)


def _run(
    ready: Prepared, store: OutcomeStore, tasks: list[BatchTask], batch: str, earlier: dict[str, EarlierWork]
) -> list[TaskResult]:
    """Run tasks, deliver those of a batch as they are solved, and give the results in the order of the tasks."""
    request, stop = ready.request, threading.Event()
    spending = Spending(request.budget, _spent(earlier), request.concurrency, stop)
    baselines = Baselines(request.baseline, lambda command: ready.live.say(f"note: {command!r} passes already"))
    results: dict[str, TaskResult] = {}

    def done(result: TaskResult) -> None:
        results[result.task.id] = result
        if batch:
            said = _delivered(ready, result) if result.solved else ENDS[result.end.value]
            ready.live.say(
                f"[{result.task.id}] {said} ({len(results)} of {len(tasks)} tasks, {dollars(spending.spent)})"
            )

    with ready.work.owned() as owner:
        shared = TaskRunner(
            ready.router, store, ready.drivers, ready.pool, ready.verifier(tasks[0].verify), ready.work, ready.live,
            ready.settings, spending, baselines, stop, owner, batch,
        )  # fmt: skip
        try:
            with _terminated():
                run_all(
                    tasks, lambda item: replace(shared, verifier=ready.verifier(item.verify)), ready.base, earlier,
                    request.concurrency, stop, done,
                )  # fmt: skip
        except KeyboardInterrupt:
            ready.live.say("stopped: every process of it was ended, and what happened is recorded")
            raise typer.Exit(INTERRUPTED) from None
    return [results[item.task.id] for item in tasks]


def _delivered(ready: Prepared, result: TaskResult) -> str:
    """Make a branch of what solved a task of many, and say which; a refusal is said, and the others go on."""
    branch = branch_name(ready.request.branch or PREFIX, result.task.id)
    try:
        deliver(ready.repository, result, branch, _message(result.task))
    except GitError as error:
        return str(error)
    return f"solved: branch {branch}"


@contextmanager
def _terminated() -> Iterator[None]:
    """Take SIGTERM as Ctrl-C for a while."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _spent(earlier: dict[str, EarlierWork]) -> float:
    """What earlier processes of a batch spent: its budget is for all of them together."""
    return sum(r.report.cost or 0.0 for work in earlier.values() for r in work.decision.current)


def _beside(ready: Prepared, results: list[TaskResult]) -> IncumbentSummary | None:
    incumbent = ready.settings.incumbent
    return None if incumbent is None else against(results, incumbent)


def _message(task: Task) -> str:
    first = (task.text.strip() or task.id).split("\n")[0]
    return first if len(first) <= 72 else f"{first[:69]}..."


def _say_result(result: TaskResult, branch: str, commit: str) -> None:
    spent = f"{dollars(result.dollars)} and {result.seconds:.0f}s in {counted(len(result.reports), 'attempt')}"
    if not result.solved:
        echo(f"{ENDS[result.end.value].capitalize()} ({spent}); nothing was changed.")
    elif branch:
        echo(f"Solved ({spent}): branch {branch}, commit {commit[:12]}.")
    else:
        echo(f"Solved ({spent}): the changes are in the tree, not committed.")
