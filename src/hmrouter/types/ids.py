"""Ids of decisions and plans: UUIDs of version 7, which sort by the time at which they were made."""

from __future__ import annotations

import secrets
import time
import uuid


def new_id() -> str:
    """Make a UUID of version 7 (RFC 9562): milliseconds, then fractions of one, then 62 random bits.

    >>> first, second = new_id(), new_id()
    >>> uuid.UUID(first).version, len(first), first[:8] <= second[:8]
    (7, 36, True)
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = rest * 4096 // 1_000_000  # 12 bits below the millisecond keep the order of ids made in one process
    high = (milliseconds & (2**48 - 1)) << 16 | 7 << 12 | fraction
    return str(uuid.UUID(int=high << 64 | 2 << 62 | secrets.randbits(62)))
