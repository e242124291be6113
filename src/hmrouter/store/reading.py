"""Outcomes out, one at a time, and how many there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from hmrouter.store import rows
from hmrouter.store.schema import outcomes, routes, runs, tasks
from hmrouter.types import Outcome, Route

_FETCHED = 2000


@dataclass(frozen=True, slots=True)
class Summary:
    """What a store holds."""

    outcomes: int
    tasks: int
    texts: int
    """Tasks whose text is known."""
    routes: int
    suites: dict[str, int]
    """Outcomes per suite."""
    statuses: dict[str, int]
    """Outcomes per status."""


def stream(conn: Connection, suite: str | None) -> Iterator[Outcome]:
    """Outcomes in the order of suite, task, model, harness, source, run and trial.

    Tasks come in a stream of their own beside the outcomes, so that the database does not sort a copy of the text with
    every outcome, and so that the outcomes of a task share one `Task`.
    """
    conn = conn.execution_options(yield_per=_FETCHED)
    some_tasks = select(tasks).order_by(tasks.c.suite, tasks.c.task)
    some_outcomes = (
        select(outcomes, routes.c.model, routes.c.harness, runs.c.source, runs.c.run)
        .select_from(tasks)
        .join(outcomes, outcomes.c.task_id == tasks.c.id)
        .join(routes, routes.c.id == outcomes.c.route_id)
        .join(runs, runs.c.id == outcomes.c.run_id)
        .order_by(
            tasks.c.suite, tasks.c.task,
            routes.c.model, routes.c.harness, runs.c.source, runs.c.run, outcomes.c.trial,
        )
    )  # fmt: skip
    if suite is not None:
        some_tasks = some_tasks.where(tasks.c.suite == suite)
        some_outcomes = some_outcomes.where(tasks.c.suite == suite)
    known_routes: dict[int, Route] = {}
    task_id = task = None
    with conn.execute(some_tasks) as task_rows, conn.execute(some_outcomes) as outcome_rows:
        for row in outcome_rows:
            while task is None or task_id != row.task_id:
                task_row = next(task_rows)
                task_id, task = task_row.id, rows.task_of(task_row)
            if (route := known_routes.get(row.route_id)) is None:
                route = known_routes[row.route_id] = Route(model=row.model, harness=row.harness)
            yield rows.outcome_of(row, task, route)


def suites(conn: Connection) -> dict[str, int]:
    """Outcomes per suite."""
    per_suite = (
        select(tasks.c.suite, func.count().label("number"))
        .join_from(tasks, outcomes, outcomes.c.task_id == tasks.c.id)
        .group_by(tasks.c.suite)
        .order_by(tasks.c.suite)
    )
    return {row.suite: row.number for row in conn.execute(per_suite)}


def count(conn: Connection) -> int:
    """All outcomes."""
    return conn.scalar(select(func.count()).select_from(outcomes)) or 0


def summary(conn: Connection) -> Summary:
    """What the store holds, in numbers."""
    status = outcomes.c.status
    per_status = select(status, func.count().label("number")).group_by(status).order_by(status)
    n_tasks, n_texts = conn.execute(select(func.count(), func.count(tasks.c.text_hash)).select_from(tasks)).one()
    return Summary(
        outcomes=count(conn),
        tasks=n_tasks,
        texts=n_texts,
        routes=conn.scalar(select(func.count()).select_from(routes)) or 0,
        suites=suites(conn),
        statuses={row.status: row.number for row in conn.execute(per_status)},
    )
