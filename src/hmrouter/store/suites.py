"""What is set for a suite: how fast its evidence fades, how long its texts are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sqlalchemy import Connection, delete, select

from hmrouter.errors import UsageError
from hmrouter.store.engine import insert
from hmrouter.store.schema import suites


class _Unchanged(Enum):
    UNCHANGED = "unchanged"


UNCHANGED: Final = _Unchanged.UNCHANGED
"""Leave a setting as it is; None would switch it off."""
Days = float | None | _Unchanged


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """Settings of a suite; None where one is off."""

    half_life_days: float | None = None
    """After so many days an outcome counts for half."""
    text_days: float | None = None
    """So many days after they were added, texts are dropped."""


def settings(conn: Connection) -> dict[str, SuiteSettings]:
    """The suites for which something is set."""
    rows = conn.execute(select(suites).order_by(suites.c.suite))
    return {row.suite: SuiteSettings(row.half_life_days, row.text_days) for row in rows}


def change(conn: Connection, suite: str, half_life_days: Days, text_days: Days) -> None:
    """Change what is given."""
    old = settings(conn).get(suite, SuiteSettings())
    new = SuiteSettings(
        _checked("half_life_days", old.half_life_days if half_life_days is UNCHANGED else half_life_days),
        _checked("text_days", old.text_days if text_days is UNCHANGED else text_days),
    )
    conn.execute(delete(suites).where(suites.c.suite == suite))
    if new != SuiteSettings():
        values = {"half_life_days": new.half_life_days, "text_days": new.text_days}
        conn.execute(insert(conn, suites).values(suite=suite, **values))


def _checked(name: str, days: float | None) -> float | None:
    if days is None:
        return None
    # Texts may be kept for no time at all; evidence that halves in no time would be none.
    if not math.isfinite(days) or days < 0 or (days == 0 and name == "half_life_days"):
        least = "more than 0" if name == "half_life_days" else "at least 0"
        raise UsageError(f"{name} {days} is not a number of days; give {least}, or None to switch it off")
    return float(days)
