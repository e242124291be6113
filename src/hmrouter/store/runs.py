"""The runs that outcomes came with: listing them, and forgetting one."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, case, delete, exists, func, literal, select

from hmrouter.errors import UnknownName, UsageError
from hmrouter.store.database import insert
from hmrouter.store.schema import (
    attempts,
    decisions,
    embeddings,
    moment,
    now_us,
    outcomes,
    replaced,
    reports,
    routes,
    runs,
    staged_outcomes,
    tasks,
)
from hmrouter.types.reports import SOURCE

_SUGGESTED = 10_000


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run of a source, in numbers."""

    source: str
    run: str
    suites: tuple[str, ...]
    outcomes: int
    routes: int
    """Routes by the names that they are stored under."""
    first: datetime | None
    """When the first of its outcomes with a time happened."""
    last: datetime | None
    added: datetime | None
    """When the store first got it; None if a version added it that did not note that."""


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """Counts of what was removed with a run."""

    outcomes: int
    tasks: int
    """Tasks that no other run has, with their texts and vectors."""
    routes: int
    """Routes that no other run has."""


def keys(conn: Connection) -> set[tuple[str, str]]:
    """List source and run of all runs; unlike `all_runs` it looks at no outcome."""
    return {(row.source, row.run) for row in conn.execute(select(runs.c.source, runs.c.run))}


def all_runs(conn: Connection) -> list[RunInfo]:
    """List all runs with their counts, by source and run."""
    table = outcomes.c
    suites: dict[int, list[str]] = defaultdict(list)
    pairs = select(table.run_id, tasks.c.suite).join_from(outcomes, tasks, tasks.c.id == table.task_id).distinct()
    for run_id, suite in conn.execute(pairs.order_by(tasks.c.suite)):
        suites[run_id].append(suite)
    counted = (
        select(
            table.run_id,
            func.count().label("outcomes"),
            func.count(table.route_id.distinct()).label("routes"),
            func.min(table.when_us).label("first"),
            func.max(table.when_us).label("last"),
        )
        .group_by(table.run_id)
        .subquery()
    )
    rows = conn.execute(
        select(runs, counted).join(counted, counted.c.run_id == runs.c.id).order_by(runs.c.source, runs.c.run)
    )
    return [
        RunInfo(
            row.source, row.run, tuple(suites[row.id]), row.outcomes, row.routes,
            moment(row.first), moment(row.last), moment(row.added_us),
        )
        for row in rows
    ]  # fmt: skip


def make_runs(conn: Connection, **only: str) -> None:
    """Make the runs of staged outcomes that the store does not have, or one of them, in one order for all imports."""
    key = (staged_outcomes.c.source, staged_outcomes.c.run)
    found = (
        select(*key, literal(now_us()), func.min(case((staged_outcomes.c.spelled, 1), else_=0)) == 1)
        .where(staged_outcomes.c.run_id.is_(None), *(staged_outcomes.c[name] == value for name, value in only.items()))
        .group_by(*key)
        .order_by(*key)
    )
    columns = ["source", "run", "added_us", "spelled"]
    conn.execute(insert(conn, runs).from_select(columns, found).on_conflict_do_nothing())


def forget(conn: Connection, run: str, source: str | None, where: str) -> ForgetReport:
    """Remove a run's outcomes, and what nothing else uses then."""
    lock(conn)
    run_id = _find(conn, run, source, where)
    gone = conn.execute(delete(outcomes).where(outcomes.c.run_id == run_id)).rowcount
    conn.execute(delete(replaced).where(replaced.c.run_id == run_id))
    if source in (None, SOURCE):  # the run of a report is its decision
        for table, of in ((attempts, attempts.c.plan), (reports, reports.c.decision), (decisions, decisions.c.id)):
            conn.execute(delete(table).where(of == run))
    return ForgetReport(gone, *sweep(conn))


def lock(conn: Connection) -> None:
    """Wait until no import is under way: it would count on tasks that go here.

    The order of the tables is that of imports, which hold the first of them from their first change on.
    """
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql("LOCK TABLE tasks, routes, runs, outcomes IN SHARE ROW EXCLUSIVE MODE")


def sweep(conn: Connection) -> tuple[int, int]:
    """Remove the tasks, routes, runs and vectors that no outcome uses; return how many tasks and routes went."""
    used = exists().where(outcomes.c.task_id == tasks.c.id)
    _forget_vectors(conn, used)
    n_tasks = conn.execute(delete(tasks).where(~used)).rowcount
    n_routes = conn.execute(delete(routes).where(routes.c.id.not_in(select(outcomes.c.route_id).distinct()))).rowcount
    conn.execute(delete(runs).where(~exists().where(outcomes.c.run_id == runs.c.id)))
    return n_tasks, n_routes


def _forget_vectors(conn: Connection, used: ColumnElement[bool]) -> None:
    """Remove the vectors of unused tasks' texts; those of other texts, such as a harness's description, stay."""
    hashes = select(tasks.c.text_hash).where(~used).except_(select(tasks.c.text_hash).where(used))
    conn.execute(delete(embeddings).where(embeddings.c.text_hash.in_(hashes)))


def _find(conn: Connection, run: str, source: str | None, where: str) -> int:
    found = {row.source: row.id for row in conn.execute(select(runs.c.source, runs.c.id).where(runs.c.run == run))}
    if not found:
        # A service gives each of its decisions a run: enough are looked at to suggest one, not millions.
        names = conn.scalars(select(runs.c.run).distinct().order_by(runs.c.run).limit(_SUGGESTED))
        raise UnknownName("run", run, names, where)
    if source is None:
        if len(found) > 1:
            raise UsageError(f"run {run!r} is in the sources {', '.join(sorted(found))}; say of which one")
        (source,) = found
    elif source not in found:
        raise UnknownName("source", source, found, f"those that have run {run!r}")
    return int(found[source])
