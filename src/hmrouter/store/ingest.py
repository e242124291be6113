"""Adding many outcomes, all or nothing, and the report of it.

Outcomes are first staged in temporary tables, batch by batch, so that memory stays constant and nobody waits for a
slow reader of logs. Then four statements merge them into the store. Each inserts in the order of its table's key, and
every import takes the tables in the same order: two imports can wait for each other, but never in a circle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, case, func, literal, or_, select, true

from hmrouter.store import rows, suites
from hmrouter.store.database import insert
from hmrouter.store.schema import (
    MEASURED,
    STAGED,
    now_us,
    outcomes,
    routes,
    runs,
    staged_found,
    staged_outcomes,
    staged_tasks,
    tasks,
)
from hmrouter.types import Outcome

BATCH = 1000
_REMEMBERED = 200_000  # tasks; some 40 MB
_COMPARED = ("score", "status", "cost", "input_tokens", "cached_tokens", "output_tokens", "seconds", "n_trials")


@dataclass(frozen=True, slots=True)
class AddReport:
    """Counts after adding outcomes. All but `new`, `known` and `differing` are of everything given, new or known.

    The database counts, so that memory does not grow with their number.
    """

    new: int
    """Outcomes that the store did not have."""
    known: int
    """Outcomes that it had, or that came twice; the first one stays."""
    differing: int
    """Of the known ones, those that say something else than the one that stays: score, status, cost, tokens, ..."""
    tasks: int
    routes: int
    cells: int
    """Distinct (task, route)."""
    with_cost: int
    """Outcomes with a reported cost."""
    with_token_cost: int
    """Outcomes with a cost recomputed from tokens."""
    statuses: dict[str, int]
    """Outcomes per status."""


def batches(incoming: Iterable[Outcome]) -> Iterator[list[Outcome]]:
    """Cut a stream of outcomes into lists that are small beside the program itself."""
    iterator = iter(incoming)
    while batch := list(itertools.islice(iterator, BATCH)):
        yield batch


def add(
    conn: Connection,
    incoming: Iterable[list[Outcome]],
    progress: Callable[[int], None] | None = None,
    keep_text: bool = True,
) -> AddReport:
    """Stage and merge batches in the transaction that `conn` is in."""
    for table in STAGED:
        table.create(conn, checkfirst=False)
    total = 0
    seen: set[tuple[str, str, bool, bool]] = set()
    for batch in incoming:
        staged = [rows.outcome_row(outcome, total + i) for i, outcome in enumerate(batch)]
        conn.execute(staged_outcomes.insert(), staged)
        _stage_tasks(conn, batch, seen, keep_text)
        total += len(batch)
        if progress:
            progress(len(batch))
    new = _merge(conn) if total else 0
    added = _report(conn, total, new)
    for table in STAGED:
        table.drop(conn, checkfirst=False)
    return added


def _stage_tasks(
    conn: Connection, batch: list[Outcome], seen: set[tuple[str, str, bool, bool]], keep_text: bool
) -> None:
    """Send each task once; its text may be long, and comes with every one of its outcomes."""
    if len(seen) > _REMEMBERED:
        seen.clear()  # forgetting only costs a second sending
    staged = []
    for task in (outcome.task for outcome in batch):
        brings = (task.suite, task.id, bool(task.text or task.text_hash), bool(task.meta))
        if brings not in seen:
            seen.add(brings)
            staged.append(rows.task_row(task, keep_text))
    if staged:
        statement = insert(conn, staged_tasks)
        conn.execute(
            statement.on_conflict_do_update(
                index_elements=["suite", "task"],
                set_=_filled(staged_tasks.c, statement.excluded),
                where=_has_gap(staged_tasks.c, statement.excluded),
            ),
            staged,
        )


def _merge(conn: Connection) -> int:
    """Move what is staged to its place and return the number of outcomes that are new."""
    if conn.dialect.name == "postgresql":
        for table in STAGED:
            conn.exec_driver_sql(f"ANALYZE {table.name}")  # nobody else does it for temporary tables
    now = now_us()
    _merge_tasks(conn, now)
    _merge_names(conn, routes, ("model", "harness"))
    _merge_names(conn, runs, ("source", "run"), added_us=now)
    new = _merge_outcomes(conn)
    suites.drop_expired_texts(conn, now)
    return new


def _merge_tasks(conn: Connection, now: int) -> None:
    staged = staged_tasks.c
    same = and_(tasks.c.suite == staged.suite, tasks.c.task == staged.task)
    news = (
        select(staged_tasks, literal(now))
        .select_from(staged_tasks.outerjoin(tasks, same))
        .where(or_(tasks.c.id.is_(None), _has_gap(tasks.c, staged)))
        .order_by(staged.suite, staged.task)
    )
    statement = insert(conn, tasks)
    told = and_(tasks.c.text_hash.is_(None), statement.excluded.text_hash.is_not(None))
    since = case((told, statement.excluded.added_us), else_=tasks.c.added_us)
    conn.execute(
        statement.from_select([*staged.keys(), "added_us"], news).on_conflict_do_update(
            index_elements=["suite", "task"],
            set_=_filled(tasks.c, statement.excluded) | {"added_us": since},
            where=_has_gap(tasks.c, statement.excluded),
        )
    )


def _merge_names(conn: Connection, table: Table, key: tuple[str, str], **noted: int) -> None:
    names = [staged_outcomes.c[name] for name in key]
    # WHERE true: without a WHERE, SQLite takes ON CONFLICT for the ON of a join.
    found = select(*names, *map(literal, noted.values())).where(true()).distinct().order_by(*names)
    conn.execute(insert(conn, table).from_select([*key, *noted], found).on_conflict_do_nothing())


def _merge_outcomes(conn: Connection) -> int:
    staged = staged_outcomes.c
    key = (tasks.c.id, routes.c.id, runs.c.id, staged.trial)
    found = (
        select(*key, *(staged[name] for name in MEASURED))
        .select_from(staged_found)
        .where(true())
        .order_by(*key, staged.position)
    )
    columns = ("task_id", "route_id", "run_id", "trial", *MEASURED)
    statement = insert(conn, outcomes).from_select(columns, found).on_conflict_do_nothing()
    return conn.execute(statement, execution_options={"preserve_rowcount": True}).rowcount


def _has_gap(old: Any, new: Any) -> ColumnElement[bool]:
    """Whether a task is known without something that the other row brings."""
    return or_(
        and_(old.text_hash.is_(None), new.text_hash.is_not(None)),
        and_(old.meta.is_(None), new.meta.is_not(None)),
    )


def _filled(old: Any, new: Any) -> dict[str, ColumnElement[Any]]:
    """Keep the known values of a task and take the missing ones from the other row.

    A hash is known for good: a text that was dropped, or never kept, does not come back with the next import.
    """
    return {
        "text": case((old.text_hash.is_(None), new.text), else_=old.text),
        "text_hash": func.coalesce(old.text_hash, new.text_hash),
        "meta": func.coalesce(old.meta, new.meta),
    }


def _report(conn: Connection, total: int, new: int) -> AddReport:
    """Count what is staged, after it was merged into the store."""
    staged = staged_outcomes.c
    with_cost, with_token_cost = conn.execute(select(func.count(staged.cost), func.count(staged.token_cost))).one()
    per_status = select(staged.status, func.count().label("number")).group_by(staged.status).order_by(staged.status)
    return AddReport(
        new=new,
        known=total - new,
        differing=_differing(conn) if new < total else 0,
        tasks=conn.scalar(select(func.count()).select_from(staged_tasks)) or 0,
        routes=_distinct(conn, select(staged.model, staged.harness)),
        cells=_distinct(conn, select(staged.suite, staged.task, staged.model, staged.harness)),
        with_cost=with_cost,
        with_token_cost=with_token_cost,
        statuses={row.status: row.number for row in conn.execute(per_status)},
    )


def _distinct(conn: Connection, rows: Select[Any]) -> int:
    return conn.scalar(select(func.count()).select_from(rows.distinct().subquery())) or 0


def _differing(conn: Connection) -> int:
    """Count staged outcomes that differ from the stored one; a new outcome equals it, so only known ones are found."""
    kept, staged = outcomes.c, staged_outcomes.c
    same_key = and_(
        kept.task_id == tasks.c.id, kept.route_id == routes.c.id, kept.run_id == runs.c.id, kept.trial == staged.trial
    )
    differ = or_(*(kept[name].is_distinct_from(staged[name]) for name in _COMPARED))
    return conn.scalar(select(func.count()).select_from(staged_found.join(outcomes, same_key)).where(differ)) or 0
