"""Counts of what a store holds, the room it takes, and giving back what it no longer needs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine, func, select

from hmrouter.store.database import TransactionKind, outside_transaction, transaction
from hmrouter.store.merges import merged_routes
from hmrouter.store.schema import KEPT, moment, outcomes, runs, tasks


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of what a store holds; merged names count as one."""

    outcomes: int
    tasks: int
    texts: int
    """Tasks whose text is kept."""
    routes: int
    cells: int
    """(task, route) pairs with at least one outcome."""
    runs: int
    with_cost: int
    """Outcomes with a reported cost."""
    with_token_cost: int
    """Outcomes with a cost recomputed from tokens."""
    first: datetime | None
    """When the first outcome with a time happened."""
    last: datetime | None
    bytes: int
    """Room that the store takes, without what a database keeps beside it for a while."""
    suites: dict[str, int]
    """Outcomes per suite."""
    statuses: dict[str, int]
    """Outcomes per status."""


def summary(conn: Connection) -> Summary:
    """Count everything in the store."""
    table, route = outcomes.c, merged_routes()
    counted = select(
        func.count().label("outcomes"),
        func.count(table.cost).label("with_cost"),
        func.count(table.token_cost).label("with_token_cost"),
        func.min(table.when_us).label("first"),
        func.max(table.when_us).label("last"),
    ).select_from(outcomes)
    all_of_them = conn.execute(counted).one()
    per_status = select(table.status, func.count().label("number")).group_by(table.status).order_by(table.status)
    distinct_routes = select(route.c.model, route.c.harness).distinct().subquery()
    pairs = select(table.task_id, route.c.model, route.c.harness).join(route, route.c.id == table.route_id)
    distinct_cells = pairs.distinct().subquery()
    n_tasks, n_texts = conn.execute(
        select(func.count(), func.count(func.nullif(tasks.c.text, ""))).select_from(tasks)
    ).one()
    return Summary(
        outcomes=all_of_them.outcomes,
        tasks=n_tasks,
        texts=n_texts,
        routes=conn.scalar(select(func.count()).select_from(distinct_routes)) or 0,
        cells=conn.scalar(select(func.count()).select_from(distinct_cells)) or 0,
        runs=conn.scalar(select(func.count()).select_from(runs)) or 0,
        with_cost=all_of_them.with_cost,
        with_token_cost=all_of_them.with_token_cost,
        first=moment(all_of_them.first),
        last=moment(all_of_them.last),
        bytes=size(conn),
        suites=suites(conn),
        statuses={row.status: row.number for row in conn.execute(per_status)},
    )


def suites(conn: Connection) -> dict[str, int]:
    """Count the outcomes of each suite."""
    per_suite = (
        select(tasks.c.suite, func.count().label("number"))
        .join_from(tasks, outcomes, outcomes.c.task_id == tasks.c.id)
        .group_by(tasks.c.suite)
        .order_by(tasks.c.suite)
    )
    return {row.suite: row.number for row in conn.execute(per_suite)}


def count(conn: Connection) -> int:
    """Count all outcomes."""
    return conn.scalar(select(func.count()).select_from(outcomes)) or 0


def size(conn: Connection) -> int:
    """Measure the bytes of a SQLite database's pages or, on a server, of the store's own tables with their indexes."""
    if conn.dialect.name == "sqlite":
        pages, of_bytes = (conn.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size"))
        return int(pages * of_bytes)
    tables = (f"pg_total_relation_size('{table.name}')" for table in KEPT)
    return int(conn.exec_driver_sql(f"SELECT {' + '.join(tables)}").scalar_one())


def vacuum(engine: Engine) -> tuple[int, int]:
    """Give back the room of what was removed; return the bytes before and after.

    SQLite writes the file anew. PostgreSQL, which others may be working with, makes room inside its tables and gives
    back only what lies free at their ends.
    """
    before = _size_now(engine)
    if engine.dialect.name == "sqlite":
        statements = ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"]  # the second ends the log that the first filled
    else:
        statements = [f"VACUUM (ANALYZE) {', '.join(table.name for table in KEPT)}"]
    with outside_transaction(engine) as conn:
        for statement in statements:
            conn.exec_driver_sql(statement).close()
    return before, _size_now(engine)


def _size_now(engine: Engine) -> int:
    with transaction(engine, TransactionKind.SNAPSHOT) as conn:
        return size(conn)
