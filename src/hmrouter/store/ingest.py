"""Many outcomes in, all or nothing.

Outcomes are first staged in temporary tables, batch by batch, so that memory stays constant and nobody waits for a
slow reader of logs. Then four statements merge them into the store. Each inserts in the order of its table's key, and
every import takes the tables in the same order: two imports can wait for each other, but never in a circle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, case, func, or_, select, true

from hmrouter.store import rows
from hmrouter.store.engine import insert
from hmrouter.store.schema import MEASURED, STAGED, outcomes, routes, runs, staged_outcomes, staged_tasks, tasks
from hmrouter.types import Outcome

BATCH = 1000
_REMEMBERED = 50_000


@dataclass(frozen=True, slots=True)
class AddReport:
    """What came of adding outcomes."""

    new: int
    """Outcomes that the store did not have."""
    known: int
    """Outcomes that it had, or that came twice; the first one stays."""


def batches(incoming: Iterable[Outcome]) -> Iterator[list[Outcome]]:
    """The outcomes in lists that are small beside the program itself."""
    iterator = iter(incoming)
    while batch := list(itertools.islice(iterator, BATCH)):
        yield batch


def add(
    conn: Connection, incoming: Iterable[list[Outcome]], progress: Callable[[int], None] | None = None
) -> AddReport:
    """Stage and merge batches in the transaction that `conn` is in."""
    for table in STAGED:
        table.create(conn, checkfirst=False)
    total = 0
    seen: set[tuple[str, str, bool, bool]] = set()
    for batch in incoming:
        staged = [rows.outcome_row(outcome, total + i) for i, outcome in enumerate(batch)]
        conn.execute(staged_outcomes.insert(), staged)
        _stage_tasks(conn, batch, seen)
        total += len(batch)
        if progress:
            progress(len(batch))
    new = _merge(conn) if total else 0
    for table in STAGED:
        table.drop(conn, checkfirst=False)
    return AddReport(new=new, known=total - new)


def _stage_tasks(conn: Connection, batch: list[Outcome], seen: set[tuple[str, str, bool, bool]]) -> None:
    """Send each task once; its text may be long, and comes with every one of its outcomes."""
    if len(seen) > _REMEMBERED:
        seen.clear()  # forgetting only costs a second sending
    staged = []
    for task in (outcome.task for outcome in batch):
        brings = (task.suite, task.id, bool(task.text), bool(task.meta))
        if brings not in seen:
            seen.add(brings)
            staged.append(rows.task_row(task))
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
    """Move what is staged to its place; the number of outcomes that are new."""
    if conn.dialect.name == "postgresql":
        for table in STAGED:
            conn.exec_driver_sql(f"ANALYZE {table.name}")  # nobody else does it for temporary tables
    _merge_tasks(conn)
    _merge_names(conn, routes, ("model", "harness"))
    _merge_names(conn, runs, ("source", "run"))
    return _merge_outcomes(conn)


def _merge_tasks(conn: Connection) -> None:
    staged, key = staged_tasks.c, ["suite", "task"]
    same = and_(tasks.c.suite == staged.suite, tasks.c.task == staged.task)
    news = (
        select(staged_tasks)
        .select_from(staged_tasks.outerjoin(tasks, same))
        .where(or_(tasks.c.id.is_(None), _has_gap(tasks.c, staged)))
        .order_by(staged.suite, staged.task)
    )
    statement = insert(conn, tasks)
    conn.execute(
        statement.from_select(staged.keys(), news).on_conflict_do_update(
            index_elements=key,
            set_=_filled(tasks.c, statement.excluded),
            where=_has_gap(tasks.c, statement.excluded),
        )
    )


def _merge_names(conn: Connection, table: Table, key: tuple[str, str]) -> None:
    names = [staged_outcomes.c[name] for name in key]
    # WHERE true: without a WHERE, SQLite takes ON CONFLICT for the ON of a join.
    found = select(*names).where(true()).distinct().order_by(*names)
    conn.execute(insert(conn, table).from_select(key, found).on_conflict_do_nothing())


def _merge_outcomes(conn: Connection) -> int:
    staged = staged_outcomes.c
    key = (tasks.c.id, routes.c.id, runs.c.id, staged.trial)
    found = (
        select(*key, *(staged[name] for name in MEASURED))
        .select_from(staged_outcomes)
        .join(tasks, and_(tasks.c.suite == staged.suite, tasks.c.task == staged.task))
        .join(routes, and_(routes.c.model == staged.model, routes.c.harness == staged.harness))
        .join(runs, and_(runs.c.source == staged.source, runs.c.run == staged.run))
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
    """What is known stays; what is missing comes from the other row."""
    return {
        "text": case((old.text_hash.is_(None), new.text), else_=old.text),
        "text_hash": func.coalesce(old.text_hash, new.text_hash),
        "meta": func.coalesce(old.meta, new.meta),
    }
