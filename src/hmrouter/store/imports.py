"""Imports that can be undone: what each of them added, and what it replaced."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, select, update

from hmrouter.errors import UsageError
from hmrouter.store.database import insert
from hmrouter.store.runs import lock, sweep
from hmrouter.store.schema import KEY, MEASURED, imports, moment, now_us, outcomes, replaced, staged_outcomes

_VALUES = (*MEASURED, "content")


@dataclass(frozen=True, slots=True)
class ImportInfo:
    """An import that can be undone."""

    what: str
    added: datetime
    outcomes: int
    """Outcomes that it added and that are still there."""
    replaced: int
    """Outcomes whose values it replaced."""


@dataclass(frozen=True, slots=True)
class UndoReport:
    """What undoing an import did."""

    undone: ImportInfo
    tasks: int
    """Tasks that nothing else uses, removed with it."""
    routes: int


def begin(conn: Connection, token: str, what: str) -> int:
    """Note an import, or find it noted with an earlier log of it, and return its number."""
    statement = insert(conn, imports).values(token=token, what=what, added_us=now_us())
    conn.execute(statement.on_conflict_do_nothing(index_elements=["token"]))
    return int(conn.scalar(select(imports.c.id).where(imports.c.token == token)) or 0)


def drop_empty(conn: Connection, import_id: int) -> None:
    """Forget an import that changed nothing: there would be nothing to undo."""
    used = (exists().where(outcomes.c.import_id == import_id), exists().where(replaced.c.import_id == import_id))
    conn.execute(delete(imports).where(imports.c.id == import_id, *(~each for each in used)))


def replace_differing(conn: Connection, import_id: int | None, differs: ColumnElement[bool]) -> int:
    """Give stored outcomes the values of the staged ones that differ; keep the old values with the import."""
    staged, kept = staged_outcomes.c, outcomes.c
    same_key = and_(*(kept[name] == staged[name] for name in KEY))
    # Of two staged rows that are one outcome, the first counts, as it does where the outcome is new.
    earlier = staged_outcomes.alias("earlier")
    again = exists().where(earlier.c.position < staged.position, *(earlier.c[name] == staged[name] for name in KEY))
    columns = (*KEY, *_VALUES)
    chosen = and_(differs, ~again)
    if import_id is not None:
        old = select(func.coalesce(import_id, 0), *(kept[name] for name in columns)).select_from(
            staged_outcomes.join(outcomes, same_key)
        )
        statement = insert(conn, replaced).from_select(["import_id", *columns], old.where(chosen))
        conn.execute(statement.on_conflict_do_nothing())  # of two changes by one import, the first knows the old values
    values = {name: staged[name] for name in _VALUES}
    return conn.execute(update(outcomes).where(same_key, chosen).values(values)).rowcount


def last(conn: Connection) -> ImportInfo | None:
    """Describe the last import that can be undone; None if there is none."""
    row = conn.execute(select(imports).order_by(imports.c.id.desc()).limit(1)).one_or_none()
    return None if row is None else _info(conn, row.id, row.what, row.added_us)


def undo(conn: Connection, where: str) -> UndoReport:
    """Take the last import back: what it added goes, what it replaced is as it was."""
    lock(conn)
    row = conn.execute(select(imports).order_by(imports.c.id.desc()).limit(1)).one_or_none()
    if row is None:
        raise UsageError(f"{where} has no import that could be undone", hint="forget_instead")
    undone = _info(conn, row.id, row.what, row.added_us)
    same_key = and_(*(outcomes.c[name] == replaced.c[name] for name in KEY))
    old = {name: replaced.c[name] for name in _VALUES}
    conn.execute(update(outcomes).where(same_key, replaced.c.import_id == row.id).values(old))
    conn.execute(delete(replaced).where(replaced.c.import_id == row.id))
    conn.execute(delete(outcomes).where(outcomes.c.import_id == row.id))
    conn.execute(delete(imports).where(imports.c.id == row.id))
    return UndoReport(undone, *sweep(conn))


def _info(conn: Connection, import_id: int, what: str, added_us: int) -> ImportInfo:
    added = conn.scalar(select(func.count()).select_from(outcomes).where(outcomes.c.import_id == import_id)) or 0
    changed = conn.scalar(select(func.count()).select_from(replaced).where(replaced.c.import_id == import_id)) or 0
    when = moment(added_us)
    assert when is not None, "every import has its time"
    return ImportInfo(what, when, added, changed)
