"""Many tasks: read them, run several at once, take up what an earlier process left."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from hmrouter.errors import HMRouterError, InputError
from hmrouter.run.cleanup import end_processes
from hmrouter.run.results import TaskResult
from hmrouter.run.task_runner import EarlierWork, TaskRunner
from hmrouter.run.trees.repository import Repository
from hmrouter.store import AttemptState, OutcomeStore
from hmrouter.types import DEFAULT_SUITE, Task

LOOK = 0.2
"""Seconds between two looks at an interrupt while tasks run."""


@dataclass(frozen=True, slots=True)
class BatchTask:
    """A task of a file, and the command that verifies it."""

    task: Task
    verify: str


def read_tasks(path: Path, verify: str, suite: str = DEFAULT_SUITE) -> list[BatchTask]:
    """Read tasks from a file with one JSON object per line: `text`, and if wanted `id`, `family`, `verify`."""
    found: dict[str, BatchTask] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read the tasks {path}: {reason}", argument="tasks") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            text, command = row["text"], row.get("verify", verify)
            if not isinstance(text, str) or not isinstance(command, str) or not text.strip():
                raise TypeError("text and verify are texts")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f'{path} line {number} is not a task such as {{"text": "Fix it"}} ({error})') from error
        if not command:
            raise InputError(
                f"{path} line {number} has no verify command, and none was given for all", argument="verify"
            )
        plain = Task.of_text(text, suite)
        meta = {"family": str(row["family"])} if row.get("family") else {}
        task = Task(str(row.get("id") or plain.id), suite, text, meta)
        if task.id in found:
            raise InputError(f"{path} line {number} repeats the task {task.id!r}; ids are unique")
        found[task.id] = BatchTask(task, command)
    if not found:
        raise InputError(f"{path} holds no tasks", argument="tasks")
    return list(found.values())


def batch_id(repository: Repository, tasks: Path) -> str:
    """Name a batch by its repository and its file: running the file again goes on with it."""
    return hashlib.sha256(f"{repository.common}\0{tasks.resolve()}".encode()).hexdigest()[:16]


def earlier_work(store: OutcomeStore, batch: str) -> dict[str, EarlierWork]:
    """Collect what earlier processes did for the tasks of a batch, by task; what they left running is ended."""
    entries = defaultdict(list)
    for entry in store.attempts(batch):
        if entry.state is not AttemptState.ENDED:
            end_processes(entry)
        entries[entry.plan].append(entry)
    found = {}
    for plan, of_plan in entries.items():
        decision = store.decision(plan)
        found[decision.record.task.id] = EarlierWork(decision, tuple(of_plan))
    return found


def run_all(
    tasks: Sequence[BatchTask],
    runner_of: Callable[[BatchTask], TaskRunner],
    base: str,
    earlier: dict[str, EarlierWork],
    concurrency: int,
    stop: threading.Event,
    done: Callable[[TaskResult], None],
) -> None:
    """Run tasks, several at a time; `done` is told each result in this thread.

    An interrupt of this thread ends all attempts, which are recorded, and is raised again. An error of one task stops
    the others before it is raised.
    """
    failure: BaseException | None = None
    with ThreadPoolExecutor(concurrency, thread_name_prefix="task") as threads:
        pending: set[Future[TaskResult]] = set()
        for item in tasks:
            run = runner_of(item).run
            pending.add(threads.submit(run, item.task, base, earlier.get(item.task.id)))
        while pending:
            try:
                finished, pending = wait(pending, LOOK, FIRST_COMPLETED)
                failure = _tell(finished, done) or failure
            except BaseException as error:  # an interrupt: everything ends, then it goes on
                failure = error
            if failure is not None:
                stop.set()
                for future in pending:
                    future.cancel()
                pending = {future for future in pending if not future.cancelled()}
    if failure is not None:
        raise failure


def _tell(finished: Iterable[Future[TaskResult]], done: Callable[[TaskResult], None]) -> BaseException | None:
    failure: BaseException | None = None
    for future in finished:
        if future.cancelled():
            continue
        error = future.exception()
        if error is None:
            done(future.result())
        elif failure is None or isinstance(error, HMRouterError):
            failure = error
    return failure
