"""How much room a store takes, and giving back what it no longer needs."""

from __future__ import annotations

from sqlalchemy import Connection, Engine

from hmrouter.store.engine import Begin, outside_transaction, transaction
from hmrouter.store.schema import KEPT


def size(conn: Connection) -> int:
    """Bytes: the pages of a SQLite database; on a server, the store's own tables with their indexes."""
    if conn.dialect.name == "sqlite":
        pages, of_bytes = (conn.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size"))
        return int(pages * of_bytes)
    tables = (f"pg_total_relation_size('{table.name}')" for table in KEPT)
    return int(conn.exec_driver_sql(f"SELECT {' + '.join(tables)}").scalar_one())


def vacuum(engine: Engine) -> tuple[int, int]:
    """Bytes before and after.

    SQLite writes the file anew. PostgreSQL, which others may be working with, makes room inside its tables and gives
    back only what lies free at their ends.
    """
    before = _measured(engine)
    if engine.dialect.name == "sqlite":
        statements = ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"]  # the second ends the log that the first filled
    else:
        statements = [f"VACUUM (ANALYZE) {', '.join(table.name for table in KEPT)}"]
    with outside_transaction(engine) as conn:
        for statement in statements:
            conn.exec_driver_sql(statement).close()
    return before, _measured(engine)


def _measured(engine: Engine) -> int:
    with transaction(engine, Begin.SNAPSHOT) as conn:
        return size(conn)
