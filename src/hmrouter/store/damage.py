"""Telling a damaged store from a fault: what is read from it must be what could have been put in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from hmrouter.errors import InvalidOutcome, StoreError, UsageError

NEXT_STEP = "restore it from a copy, or import the logs again into a new one"

# What reading rows raises when a cell holds what no import puts there.
_SIGNS = (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, AttributeError, InvalidOutcome, UsageError)


@contextmanager
def telling_damage(conn: Connection | None, where: str) -> Iterator[None]:
    """Turn what goes wrong while rows become values into a `StoreError` that says what the database finds itself.

    Without a connection, as where one is being made, only what went wrong is said.
    """
    try:
        yield
    except StoreError:
        raise
    except _SIGNS as error:
        raise damaged(conn, where, f"{type(error).__name__}: {error}") from error


def damaged(conn: Connection | None, where: str, sign: str) -> StoreError:
    """Make the error of a store in which something is wrong, with what the database's own check says of it."""
    found = ""
    if conn is not None and conn.dialect.name == "sqlite":
        try:
            found = str(conn.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one())
        except SQLAlchemyError as error:
            found = str(error.__cause__ or error)
    more = f"; its own check says: {found.splitlines()[0]}" if found and found != "ok" else ""
    return StoreError(f"{where} is damaged ({' '.join(sign.split())[:200]}){more}; {NEXT_STEP}")
