"""The database behind a store: its address, its connections and transactions, its errors in clear words.

This is the one place where SQLite and PostgreSQL differ in manner, and where a password is kept out of messages.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from hmrouter.errors import MissingExtra, StoreError, UsageError

FORMS = "sqlite:///runs.db or postgresql+psycopg://user@host/database"

# `postgres` and `postgresql` are what hosting services hand out; without a driver they would mean psycopg 2.
_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}

# A part of the database's message -> the next step.
_NEXT_STEPS = {
    "file is not a database": "give the path of another file",
    "unable to open database file": "its folder must exist and be writable",
    "malformed": "restore it from a copy, or import the logs again into a new one",
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

_MIGRATION_LOCK = 0x686D7274  # any constant that other applications on the same server are unlikely to use
_CONNECT_SECONDS = 10


# -- addresses --------------------------------------------------------------------------------------------------------


def parse(text: str) -> URL:
    """Read a store's address; one that is none is refused with the right form.

    >>> parse("postgres://me@db.example/runs").drivername
    'postgresql+psycopg'
    >>> parse("runs.db")
    Traceback (most recent call last):
    hmrouter.errors.UsageError: 'runs.db' is not a store address; write sqlite:///runs.db
    """
    if "://" not in text:
        if "@" in text:  # may be an address with its password
            raise UsageError(f"the store address has no scheme; write {FORMS}")
        raise UsageError(f"{text!r} is not a store address; write sqlite:///{text or 'runs.db'}")
    scheme = text.partition("://")[0]
    if scheme not in _DRIVERS:
        raise StoreError(f"{scheme!r} is not a database that a store can be in; write {FORMS}")
    try:
        url = make_url(text).set(drivername=_DRIVERS[scheme])
    except (ArgumentError, ValueError):
        # Nothing of the address is repeated here: the part that did not parse may be of the password.
        raise UsageError(f"the {scheme} address cannot be read; write {FORMS}") from None
    if url.drivername == "sqlite" and url.host:
        raise UsageError(f"{shown(url)} has two slashes; write sqlite:///{url.host} (four for an absolute path)")
    if url.drivername != "sqlite" and "@" in f"{url.host}{url.database}":
        raise UsageError("the password in the store address contains an '@'; write it as %40")
    return url


def shown(url: URL) -> str:
    """Write the address for messages, never with a password.

    >>> shown(parse("postgresql://me:secret@db.example/runs?sslpassword=secret"))
    'postgresql+psycopg://me:***@db.example/runs'
    """
    query = {key: value for key, value in url.query.items() if not _secret(key)}
    return url.set(query=query).render_as_string(hide_password=True)


def without_secrets(message: str, url: URL) -> str:
    """Blot out any password of the address in a database's message.

    >>> without_secrets("no entry for me:secret", parse("postgresql://me:secret@db.example/runs"))
    'no entry for me:***'
    """
    said = [value for key, value in url.query.items() if _secret(key)]
    secrets = [url.password or "", *(part for value in said for part in ([value] if isinstance(value, str) else value))]
    for secret in filter(None, secrets):
        message = message.replace(secret, "***")
    return message


def sqlite_file(url: URL) -> Path | None:
    """The file that a SQLite address names; None for PostgreSQL and for a store in memory."""
    if url.drivername != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def _secret(key: str) -> bool:
    return any(word in key.lower() for word in ("pass", "secret", "token", "key", "credential"))


# -- connections and transactions -------------------------------------------------------------------------------------


class TransactionKind(StrEnum):
    """The purpose of a transaction, which decides what it locks."""

    PLAIN = "plain"
    """Write; readers and, until the first write to the store, other writers go on."""
    ALONE = "alone"
    """Look first, then write, and let nobody else do so meanwhile."""
    SNAPSHOT = "snapshot"
    """Read, with all queries seeing the same state of the store."""
    NOT = "not"
    """There is none: each statement stands by itself."""


def open_engine(url: URL, timeout: float) -> Engine:
    """Open an engine for the address; `timeout` is how many seconds it waits for another writer."""
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url, timeout)
    return _postgresql_engine(url, timeout)


@contextmanager
def transaction(engine: Engine, begin: TransactionKind = TransactionKind.PLAIN) -> Iterator[Connection]:
    """Run one transaction on a connection of its own; committed at the end, rolled back by an exception."""
    with engine.connect().execution_options(hmrouter_begin=begin) as conn, conn.begin():
        yield conn


@contextmanager
def outside_transaction(engine: Engine) -> Iterator[Connection]:
    """Open a connection for statements that cannot be part of a transaction."""
    options: dict[str, Any] = {"hmrouter_begin": TransactionKind.NOT}
    if engine.dialect.name == "postgresql":  # the driver of SQLite begins nothing by itself, see below
        options["isolation_level"] = "AUTOCOMMIT"
    with engine.connect().execution_options(**options) as conn:
        yield conn


def insert(conn: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """Make an INSERT that knows ON CONFLICT, which both databases spell alike."""
    return postgresql.insert(table) if conn.dialect.name == "postgresql" else sqlite.insert(table)


def enable_wal(engine: Engine, timeout: float) -> None:
    """Let readers and a writer of a SQLite file work side by side; the file remembers it."""
    give_up = time.monotonic() + timeout
    raw = engine.raw_connection()
    try:
        while True:
            try:
                raw.cursor().execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                # SQLite does not wait here by itself when several processes make the same new store.
                if "locked" not in str(error) or time.monotonic() > give_up:
                    raise
                time.sleep(0.02)
    finally:
        raw.close()


def _sqlite_engine(url: URL, timeout: float) -> Engine:
    engine = create_engine(_unchanging(url), connect_args={"timeout": timeout})

    @event.listens_for(engine, "connect")
    def connect(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # the driver would commit before CREATE TABLE; `begin` does it all
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # a text that is dropped is not left in free pages
        connection.execute("PRAGMA temp_store = FILE")  # staged rows go to disk, whatever the build's default

    @event.listens_for(engine, "begin")
    def begin(conn: Connection) -> None:
        if _kind(conn) is not TransactionKind.NOT:
            conn.exec_driver_sql("BEGIN IMMEDIATE" if _kind(conn) is TransactionKind.ALONE else "BEGIN")

    return engine


def _unchanging(url: URL) -> URL:
    """Mark a file that nobody can change from here, so that SQLite does not try to make its files beside it."""
    file = sqlite_file(url)
    if file is None or url.query or not file.is_file() or os.access(file.absolute().parent, os.W_OK):
        return url
    log = file.with_name(f"{file.name}-wal")
    if log.exists() and log.stat().st_size:  # it holds what is not yet in the file
        return url
    return url.set(database=file.absolute().as_uri(), query={"mode": "ro", "immutable": "1", "uri": "true"})


def _postgresql_engine(url: URL, timeout: float) -> Engine:
    arguments: dict[str, Any] = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_SECONDS}
    try:
        engine = create_engine(url, pool_pre_ping=True, connect_args=arguments)
    except ImportError as error:
        raise MissingExtra("PostgreSQL", "postgres") from error

    @event.listens_for(engine, "begin")
    def begin(conn: Connection) -> None:
        if _kind(conn) is TransactionKind.NOT:
            return
        if _kind(conn) is TransactionKind.SNAPSHOT:
            conn.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return
        conn.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(timeout * 1000))}")  # 0 would be for ever
        if _kind(conn) is TransactionKind.ALONE:
            conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")

    return engine


def _kind(conn: Connection) -> TransactionKind:
    return conn.get_execution_options().get("hmrouter_begin", TransactionKind.PLAIN)  # type: ignore[no-any-return]


# -- errors -----------------------------------------------------------------------------------------------------------


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
