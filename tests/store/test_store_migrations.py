"""A store moves forward from every version, once, whole, and never backward."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, Engine, create_engine, inspect

from hmrouter.errors import StoreError
from hmrouter.store import OutcomeStore
from hmrouter.store.engine import open_engine
from hmrouter.store.migrations import MIGRATIONS, migrate, version_of
from hmrouter.store.schema import KEPT
from hmrouter.store.url import parse
from hmrouter.types import Outcome, Route, Task

OUTCOME = Outcome(Task("t", text="text"), Route("m", "h"), score=1.0)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = open_engine(parse(url), timeout=30)
    yield engine
    engine.dispose()


def version(engine: Engine) -> int:
    with engine.connect() as conn:
        return version_of(conn)


def test_the_migrated_tables_are_those_of_the_schema(url: str, engine: Engine) -> None:
    with OutcomeStore(url) as store:
        store.count()
    database = inspect(engine)
    assert set(database.get_table_names()) == {table.name for table in KEPT}
    for table in KEPT:
        found = {column["name"]: column["nullable"] for column in database.get_columns(table.name)}
        # SQLite calls an INTEGER PRIMARY KEY nullable, though it never is.
        expected = {c.name: c.nullable or (found[c.name] and c.name == "id") for c in table.columns}
        assert found == expected
        key = database.get_pk_constraint(table.name)["constrained_columns"]
        assert key == [column.name for column in table.primary_key.columns]


def test_postgresql_sorts_names_by_their_bytes_whatever_its_locale(postgres_url: str) -> None:
    with OutcomeStore(postgres_url) as store:
        store.count()
    engine = create_engine(postgres_url)
    with engine.connect() as conn:
        found = conn.exec_driver_sql(
            "SELECT column_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'"
        )
        names = set(found.scalars())
    engine.dispose()
    assert names == {"text", "meta", "status"}


@pytest.mark.parametrize("start", range(len(MIGRATIONS) + 1))
def test_a_store_of_any_version_comes_up_to_date(url: str, engine: Engine, start: int) -> None:
    migrate(engine, create=True, timeout=30, steps=MIGRATIONS[:start])
    assert version(engine) == start
    with OutcomeStore(url) as store:
        assert store.add([OUTCOME]).new == 1
        assert list(store.outcomes()) == [OUTCOME]
    assert version(engine) == len(MIGRATIONS)


def add_note(conn: Connection) -> None:
    conn.exec_driver_sql("ALTER TABLE outcomes ADD COLUMN note TEXT")


def fail(conn: Connection) -> None:
    conn.exec_driver_sql("CREATE TABLE half_done (id INTEGER)")
    raise StoreError("this step fails")


def test_a_later_step_keeps_what_is_stored(url: str, engine: Engine) -> None:
    with OutcomeStore(url) as store:
        store.add([OUTCOME])
    for _ in range(2):  # the second time there is nothing left to do
        migrate(engine, create=False, timeout=30, steps=[*MIGRATIONS, add_note])
    assert version(engine) == len(MIGRATIONS) + 1
    with engine.connect() as conn:
        assert conn.exec_driver_sql("SELECT score, note FROM outcomes").all() == [(1.0, None)]


def test_a_step_that_fails_leaves_the_version_before(url: str, engine: Engine) -> None:
    with OutcomeStore(url) as store:
        store.add([OUTCOME])
        with pytest.raises(StoreError, match="this step fails"):
            migrate(engine, create=True, timeout=30, steps=[*MIGRATIONS, add_note, fail])
        assert version(engine) == len(MIGRATIONS)
        assert "half_done" not in inspect(engine).get_table_names()
        assert list(store.outcomes()) == [OUTCOME]


def test_a_newer_store_is_refused(url: str, engine: Engine) -> None:
    with OutcomeStore(url) as store:
        store.add([OUTCOME])
    with engine.begin() as conn:
        conn.exec_driver_sql("INSERT INTO schema_version VALUES (99, 0)")
    with OutcomeStore(url) as store, pytest.raises(StoreError, match="schema version 99, this hmrouter knows up to"):
        store.count()


def test_many_may_open_a_new_store_at_once(url: str) -> None:
    def first_use(_: int) -> int:
        with OutcomeStore(url) as store:
            return store.count()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(first_use, range(16))) == [0] * 16


def test_sqlite_lets_readers_and_a_writer_work_side_by_side(sqlite_url: str) -> None:
    with OutcomeStore(sqlite_url) as store:
        store.count()
    engine = create_engine(sqlite_url)
    with engine.connect() as conn:
        mode = conn.exec_driver_sql("PRAGMA journal_mode").scalar()
    engine.dispose()
    assert mode == "wal"
