"""Points in time as the store keeps them: microseconds since 1970 in UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now_us() -> int:
    """The present."""
    return time.time_ns() // 1000


def microseconds(when: datetime) -> int:
    """A time as it is kept; one without a zone is taken as UTC.

    >>> microseconds(datetime(1970, 1, 2))
    86400000000
    """
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (aware.astimezone(UTC) - _EPOCH) // _MICROSECOND


def moment(us: int | None) -> datetime | None:
    """The time that was kept, in UTC, if there is one."""
    return None if us is None else _EPOCH + timedelta(microseconds=us)
