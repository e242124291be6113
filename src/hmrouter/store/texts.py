"""Texts of tasks that are not kept for ever: the text goes, its hash stays."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, and_, select, update

from hmrouter.errors import UsageError
from hmrouter.store.schema import suites, tasks

_DAY_US = 24 * 3600 * 1_000_000
_LONGEST = 1e6  # days; beyond that a database has no number for the date


def drop(conn: Connection, older_than_days: float, suite: str | None, now: int) -> int:
    """Drop texts that have been here so long; how many."""
    if not older_than_days >= 0:  # also refuses NaN
        raise UsageError(f"older_than_days {older_than_days} is not a number of days; give at least 0")
    old = _old(older_than_days, now)
    return _drop(conn, old if suite is None else and_(old, tasks.c.suite == suite), wait=True)


def drop_expired(conn: Connection, now: int) -> None:
    """Drop texts that have been here for longer than their suite allows.

    An import does so at its end, holding much that others wait for; so it waits for nobody. A text that another
    writer is busy with is left to the next import.
    """
    limits = select(suites.c.suite, suites.c.text_days).where(suites.c.text_days.is_not(None))
    for suite, days in conn.execute(limits).all():
        _drop(conn, and_(tasks.c.suite == suite, _old(days, now)), wait=False)


def _old(days: float, now: int) -> ColumnElement[bool]:
    return tasks.c.added_us <= now - round(min(days, _LONGEST) * _DAY_US)


def _drop(conn: Connection, which: ColumnElement[bool], wait: bool) -> int:
    # Locked in the order in which imports take them. SQLite has one writer at a time and ignores this.
    found = (
        select(tasks.c.id)
        .where(tasks.c.text != "", which)
        .order_by(tasks.c.suite, tasks.c.task)
        .with_for_update(key_share=True, skip_locked=not wait)
    )
    return conn.execute(update(tasks).where(tasks.c.id.in_(found)).values(text="")).rowcount
