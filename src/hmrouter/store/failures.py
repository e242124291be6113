"""What a database says -> one clear line with the next step."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from hmrouter.errors import StoreError
from hmrouter.store.url import shown, without_secrets

# A part of the database's message -> what to do about it.
_NEXT_STEPS = {
    "file is not a database": "give the path of another file",
    "unable to open database file": "its folder must exist and be writable",
    "readonly database": "the file and its folder must be writable",
    "disk is full": "free some space and run it again; nothing was added",
    "disk I/O error": "the disk may be full or failing",
    "database is locked": "another process kept it busy for too long; run it again when that is done",
    "lock timeout": "another process kept it busy for too long; run it again when that is done",
    "already exists": "the database has other tables of that name; give the store a database of its own",
    "No space left on device": "the server's disk is full; nothing was added",
    "connection failed": "check the address and that the server runs",
    "failed to resolve host": "check the address",
    "could not connect": "check the address and that the server runs",
    "connection timeout expired": "check the address and that the server runs",
}


@contextmanager
def clear_errors(url: URL) -> Iterator[None]:
    """Turn the database's exceptions into `StoreError`s of one line, without credentials."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise StoreError(_line(error, url)) from error


def _line(error: Exception, url: URL) -> str:
    # `str` of SQLAlchemy's own wrapper would add the statement and its values.
    said = str(error.orig if isinstance(error, DBAPIError) and error.orig is not None else error)
    first = next((line.strip() for line in said.splitlines() if line.strip()), type(error).__name__)
    steps = [step for part, step in _NEXT_STEPS.items() if part in first]
    return "; ".join([f"store {shown(url)}: {without_secrets(first, url)}", *steps[:1]])
