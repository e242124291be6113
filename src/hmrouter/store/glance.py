"""How many outcomes a SQLite store holds, read without SQLAlchemy: loading that takes longer than a decision."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

PREFIX = "sqlite:///"
WAIT = 1.0
"""Seconds to wait for a writer."""


def count_outcomes(address: str) -> int | None:
    """Count the outcomes of a SQLite store without changing it: 0 if its file is not there.

    None if only `OutcomeStore` can tell: another database, an address with settings, a file that can't be read.
    """
    if not address.startswith(PREFIX) or "?" in address:
        return None
    file = Path(address.removeprefix(PREFIX))
    if not file.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=WAIT)) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM outcomes").fetchone()[0])
    except (sqlite3.Error, ValueError, OSError):
        return None
