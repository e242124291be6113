"""Connections and transactions of the two databases: the one place where they differ in manner."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite

from hmrouter.errors import MissingExtra

_MIGRATION_LOCK = 0x686D7274  # any constant that other applications on the same server are unlikely to use
_CONNECT_SECONDS = 10


class Begin(StrEnum):
    """What a transaction is for."""

    PLAIN = "plain"
    """Write; readers and, until the first write to the store, other writers go on."""
    ALONE = "alone"
    """Look first, then write, and let nobody else do so meanwhile."""
    SNAPSHOT = "snapshot"
    """Read, with all queries seeing the same state of the store."""
    NOT = "not"
    """There is none: each statement stands by itself."""


def open_engine(url: URL, timeout: float) -> Engine:
    """An engine for the address; `timeout` is how many seconds it waits for another writer."""
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url, timeout)
    return _postgresql_engine(url, timeout)


@contextmanager
def transaction(engine: Engine, begin: Begin = Begin.PLAIN) -> Iterator[Connection]:
    """One transaction on a connection of its own; committed at the end, rolled back by an exception."""
    with engine.connect().execution_options(hmrouter_begin=begin) as conn, conn.begin():
        yield conn


@contextmanager
def outside_transaction(engine: Engine) -> Iterator[Connection]:
    """A connection for statements that cannot be part of a transaction."""
    options: dict[str, Any] = {"hmrouter_begin": Begin.NOT}
    if engine.dialect.name == "postgresql":  # the driver of SQLite begins nothing by itself, see below
        options["isolation_level"] = "AUTOCOMMIT"
    with engine.connect().execution_options(**options) as conn:
        yield conn


def insert(conn: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that knows ON CONFLICT, which both databases spell alike."""
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
    engine = create_engine(url, connect_args={"timeout": timeout})

    @event.listens_for(engine, "connect")
    def connect(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # the driver would commit before CREATE TABLE; `begin` does it all
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # a text that is dropped is not left in free pages
        connection.execute("PRAGMA temp_store = FILE")  # staged rows go to disk, whatever the build's default

    @event.listens_for(engine, "begin")
    def begin(conn: Connection) -> None:
        if _kind(conn) is not Begin.NOT:
            conn.exec_driver_sql("BEGIN IMMEDIATE" if _kind(conn) is Begin.ALONE else "BEGIN")

    return engine


def _postgresql_engine(url: URL, timeout: float) -> Engine:
    arguments: dict[str, Any] = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_SECONDS}
    try:
        engine = create_engine(url, pool_pre_ping=True, connect_args=arguments)
    except ImportError as error:
        raise MissingExtra("PostgreSQL", "postgres") from error

    @event.listens_for(engine, "begin")
    def begin(conn: Connection) -> None:
        if _kind(conn) is Begin.NOT:
            return
        if _kind(conn) is Begin.SNAPSHOT:
            conn.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return
        conn.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(timeout * 1000))}")  # 0 would be for ever
        if _kind(conn) is Begin.ALONE:
            conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")

    return engine


def _kind(conn: Connection) -> Begin:
    return conn.get_execution_options().get("hmrouter_begin", Begin.PLAIN)  # type: ignore[no-any-return]
