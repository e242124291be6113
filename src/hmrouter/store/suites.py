"""Settings of suites: how fast evidence fades and how long texts are kept; texts that are too old are dropped here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, delete, select, update

from hmrouter.errors import UsageError
from hmrouter.store.database import insert
from hmrouter.store.schema import decisions, suites, tasks

_DAY_US = 24 * 3600 * 1_000_000
_LONGEST = 1e6  # days; beyond that a database has no number for the date


class _Sentinel(Enum):
    UNCHANGED = "unchanged"


UNCHANGED: Final = _Sentinel.UNCHANGED
"""Leave a setting as it is; None would switch it off."""
Days = float | None | _Sentinel


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """Settings of a suite; None where one is off."""

    half_life_days: float | None = None
    """After so many days an outcome counts for half."""
    text_days: float | None = None
    """So many days after they were added, texts are dropped."""


def settings(conn: Connection) -> dict[str, SuiteSettings]:
    """Read the settings of the suites that have any."""
    rows = conn.execute(select(suites).order_by(suites.c.suite))
    return {row.suite: SuiteSettings(row.half_life_days, row.text_days) for row in rows}


def change(conn: Connection, suite: str, half_life_days: Days, text_days: Days) -> None:
    """Change the settings that are given; `UNCHANGED` leaves one as it is, None switches it off."""
    old = settings(conn).get(suite, SuiteSettings())
    new = SuiteSettings(
        _checked("half_life_days", old.half_life_days if half_life_days is UNCHANGED else half_life_days),
        _checked("text_days", old.text_days if text_days is UNCHANGED else text_days),
    )
    conn.execute(delete(suites).where(suites.c.suite == suite))
    if new != SuiteSettings():
        values = {"half_life_days": new.half_life_days, "text_days": new.text_days}
        conn.execute(insert(conn, suites).values(suite=suite, **values))


def drop_texts(conn: Connection, older_than_days: float, suite: str | None, now: int) -> int:
    """Drop texts that have been here so long and return how many were dropped."""
    if not older_than_days >= 0:  # also refuses NaN
        raise UsageError(f"older_than_days {older_than_days} is not a number of days; give at least 0")
    old = _old(older_than_days, now)
    _drop_logged(conn, suite, older_than_days, now)
    return _drop(conn, old if suite is None else and_(old, tasks.c.suite == suite), wait=True)


def drop_expired_texts(conn: Connection, now: int) -> None:
    """Drop texts that have been here for longer than their suite allows.

    An import does so at its end, holding much that others wait for; so it waits for nobody. A text that another
    writer is busy with is left to the next import.
    """
    limits = select(suites.c.suite, suites.c.text_days).where(suites.c.text_days.is_not(None))
    for suite, days in conn.execute(limits).all():
        _drop(conn, and_(tasks.c.suite == suite, _old(days, now)), wait=False)
        _drop_logged(conn, suite, days, now)


def _drop_logged(conn: Connection, suite: str | None, days: float, now: int) -> None:
    """Drop the texts of decisions that were made so long ago."""
    which = [decisions.c.text != "", decisions.c.made_us <= _limit(days, now)]
    which += [] if suite is None else [decisions.c.suite == suite]
    conn.execute(update(decisions).where(*which).values(text=""))


def _limit(days: float, now: int) -> int:
    return now - round(min(days, _LONGEST) * _DAY_US)


def _old(days: float, now: int) -> ColumnElement[bool]:
    return tasks.c.added_us <= _limit(days, now)


def _drop(conn: Connection, which: ColumnElement[bool], wait: bool) -> int:
    # Locked in the order in which imports take them. SQLite has one writer at a time and ignores this.
    found = (
        select(tasks.c.id)
        .where(tasks.c.text != "", which)
        .order_by(tasks.c.suite, tasks.c.task)
        .with_for_update(key_share=True, skip_locked=not wait)
    )
    return conn.execute(update(tasks).where(tasks.c.id.in_(found)).values(text="")).rowcount


def _checked(name: str, days: float | None) -> float | None:
    if days is None:
        return None
    # Texts may be kept for no time at all; evidence that halves in no time would be none.
    if not math.isfinite(days) or days < 0 or (days == 0 and name == "half_life_days"):
        least = "more than 0" if name == "half_life_days" else "at least 0"
        raise UsageError(f"{name} {days} is not a number of days; give {least}, or None to switch it off")
    return float(days)
