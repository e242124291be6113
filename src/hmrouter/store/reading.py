"""Outcomes out, one at a time."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from hmrouter.store import rows
from hmrouter.store.merges import merged_routes
from hmrouter.store.schema import outcomes, routes, runs, tasks
from hmrouter.types import Outcome, Route

_FETCHED = 2000


def stream(conn: Connection, suite: str | None, merged: bool = True) -> Iterator[Outcome]:
    """Outcomes in the order of suite, task, model, harness, source, run and trial.

    Tasks come in a stream of their own beside the outcomes, so that the database does not sort a copy of the text with
    every outcome, and so that the outcomes of a task share one `Task`.
    """
    conn = conn.execution_options(yield_per=_FETCHED)
    read_as = merged_routes() if merged else routes
    some_tasks = select(tasks).order_by(tasks.c.suite, tasks.c.task)
    some_outcomes = (
        select(outcomes, read_as.c.model, read_as.c.harness, runs.c.source, runs.c.run)
        .select_from(tasks)
        .join(outcomes, outcomes.c.task_id == tasks.c.id)
        .join(read_as, read_as.c.id == outcomes.c.route_id)
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
