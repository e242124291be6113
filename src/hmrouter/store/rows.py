"""Outcomes as rows: one outcome as it is staged, all of them as they are read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from hmrouter.errors import InvalidOutcome
from hmrouter.store.merges import merged_routes
from hmrouter.store.schema import microseconds, moment, outcomes, routes, runs, tasks
from hmrouter.store.spellings import named_routes
from hmrouter.types import Outcome, Route, Status, Task, text_hash

Row = dict[str, Any]

_FETCHED = 2000
# Two names of this many bytes fit into one index entry of PostgreSQL (2704 bytes).
_NAME_BYTES = 1000


def task_row(task: Task, keep_text: bool) -> Row:
    """Write a task as a row to stage; without its text where that is not to be kept."""
    text = task.text if keep_text else ""
    _check_text(task, text + task.text_hash)
    return {
        "suite": task.suite,
        "task": task.id,
        "text": text,
        "text_hash": text_hash(task.text) if task.text else task.text_hash or None,
        "meta": _json(task) if task.meta else None,
    }


def outcome_row(outcome: Outcome, position: int) -> Row:
    """Write an outcome as a row to stage; `position` is its place in the import."""
    together = "".join((*outcome.key, outcome.route.model, outcome.route.harness))
    versions = (outcome.model_version, outcome.harness_version, outcome.dataset_version)
    _check_text(outcome.task, "".join((together, *versions)))
    if len(together) > _NAME_BYTES // 4:  # else it cannot be too long in any script
        _check_lengths(outcome)
    suite, source, run, task, model, harness, trial = outcome.key
    return {
        "position": position,
        "suite": suite, "task": task, "model": model, "harness": harness,
        "source": source, "run": run, "trial": trial,
        "score": _float(outcome.score),
        "n_trials": _int(outcome.n_trials),
        "status": outcome.status.value,
        "cost": _float(outcome.cost),
        "cost_is_route_mean": bool(outcome.cost_is_route_mean),
        "input_tokens": _int(outcome.input_tokens),
        "cached_tokens": _int(outcome.cached_tokens),
        "output_tokens": _int(outcome.output_tokens),
        "seconds": _float(outcome.seconds),
        "when_us": None if outcome.when is None else _microseconds(outcome, outcome.when),
        "token_cost": _float(outcome.token_cost),
        "model_version": outcome.model_version,
        "harness_version": outcome.harness_version,
        "dataset_version": outcome.dataset_version,
        "content": outcome.content,
        "source_is_file": outcome.source_is_file,
        "spelled": outcome.route.spelled is not None,
        "attempt": _int(outcome.attempt),
    }  # fmt: skip


def task_of(row: Any) -> Task:
    """Read a task from its row; with the hash of its text where the text was not kept."""
    withheld = row.text_hash if row.text_hash and not row.text else ""
    meta = json.loads(row.meta) if row.meta else {}
    return Task(id=row.task, suite=row.suite, text=row.text, meta=meta, text_hash=withheld)


def outcome_of(row: Any, task: Task, route: Route) -> Outcome:
    """Read an outcome from its row, on a task and a route that it shares with others."""
    return Outcome(
        task, route, row.score,
        n_trials=row.n_trials, status=Status(row.status),
        cost=row.cost, cost_is_route_mean=row.cost_is_route_mean, token_cost=row.token_cost,
        input_tokens=row.input_tokens, cached_tokens=row.cached_tokens, output_tokens=row.output_tokens,
        seconds=row.seconds,
        when=moment(row.when_us),
        source=row.source, run=row.run, trial=row.trial,
        model_version=row.model_version, harness_version=row.harness_version, dataset_version=row.dataset_version,
        attempt=row.attempt,
    )  # fmt: skip


def stream(conn: Connection, suite: str | None, merged: bool = True) -> Iterator[Outcome]:
    """Read all outcomes, or one suite's, in the order of suite, task, model, harness, source, run and trial.

    Tasks come in a stream of their own beside the outcomes, so that the database does not sort a copy of the text with
    every outcome, and so that the outcomes of a task share one `Task`.
    """
    conn = conn.execution_options(yield_per=_FETCHED)
    read_as = merged_routes() if merged else named_routes()
    spelled = (routes.c.model.label("spelled_model"), routes.c.harness.label("spelled_harness"), runs.c.spelled)
    some_tasks = select(tasks).order_by(tasks.c.suite, tasks.c.task)
    some_outcomes = (
        select(outcomes, read_as.c.model, read_as.c.harness, *spelled, runs.c.source, runs.c.run)
        .select_from(tasks)
        .join(outcomes, outcomes.c.task_id == tasks.c.id)
        .join(routes, routes.c.id == outcomes.c.route_id)
        .join(read_as, read_as.c.id == routes.c.id)
        .join(runs, runs.c.id == outcomes.c.run_id)
        .order_by(
            tasks.c.suite, tasks.c.task,
            read_as.c.model, read_as.c.harness, runs.c.source, runs.c.run, outcomes.c.trial,
            outcomes.c.route_id,  # two merged routes may have the same trial of the same run
        )
    )  # fmt: skip
    if suite is not None:
        some_tasks = some_tasks.where(tasks.c.suite == suite)
        some_outcomes = some_outcomes.where(tasks.c.suite == suite)
    known_routes: dict[tuple[int, bool], Route] = {}
    task_id = task = None
    with conn.execute(some_tasks) as task_rows, conn.execute(some_outcomes) as outcome_rows:
        for row in outcome_rows:
            while task is None or task_id != row.task_id:
                task_row = next(task_rows)
                task_id, task = task_row.id, task_of(task_row)
            if (route := known_routes.get((row.route_id, row.spelled))) is None:
                as_spelled = (row.spelled_model, row.spelled_harness) if row.spelled else None
                route = known_routes[row.route_id, row.spelled] = Route(row.model, row.harness, spelled=as_spelled)
            yield outcome_of(row, task, route)


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)  # NumPy's numbers are strangers to the drivers


def _int(value: int | None) -> int | None:
    return None if value is None else int(value)


def _microseconds(outcome: Outcome, when: datetime) -> int:
    try:
        return microseconds(when)
    except OverflowError:
        raise InvalidOutcome(f"task {outcome.task.id!r}: {when} is outside the years 1 to 9999 in UTC") from None


def _json(task: Task) -> str:
    try:
        return json.dumps(dict(task.meta))
    except (TypeError, ValueError) as error:
        raise InvalidOutcome(f"the meta of task {task.id!r} cannot be written as JSON: {error}") from None


def _check_text(task: Task, text: str) -> None:
    """Refuse what one of the databases cannot hold, so that a store can move from one to the other."""
    if "\0" in text:
        raise InvalidOutcome(f"task {task.id!r} has a NUL character in its text or names; a store cannot hold it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidOutcome(f"task {task.id!r} has half a surrogate pair in its text or names") from None


def _check_lengths(outcome: Outcome) -> None:
    kinds = ("suite", "source", "run", "task id", "model", "harness", "trial", "model", "harness")
    for kind, name in zip(kinds, (*outcome.key, outcome.route.model, outcome.route.harness), strict=True):
        size = len(name.encode())
        if size > _NAME_BYTES:
            raise InvalidOutcome(f"{kind} {name[:40]!r}... has {size} bytes; a name has at most {_NAME_BYTES}")
