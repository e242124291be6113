"""A store moves forward from every version, once, whole, and never backward."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, inspect

from hmrouter.errors import StoreError
from hmrouter.store import OutcomeStore
from hmrouter.store.database import open_engine, parse
from hmrouter.store.migrations import MIGRATIONS, migrate, version_of
from hmrouter.store.schema import KEPT
from hmrouter.types import Outcome, Route, Status, Task

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
        indexes = {i["name"]: i["column_names"] for i in database.get_indexes(table.name) if not i["unique"]}
        assert indexes == {index.name: index.columns.keys() for index in table.indexes}


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
    log = {"routes", "incumbent", "snapshot", "tags", "document", "note", "folder", "base", "detail"}
    assert names == {"text", "meta", "status", "what", *log}


@pytest.mark.parametrize("start", range(len(MIGRATIONS) + 1))
def test_a_store_of_any_version_comes_up_to_date(url: str, engine: Engine, start: int) -> None:
    migrate(engine, create=True, timeout=30, steps=MIGRATIONS[:start])
    assert version(engine) == start
    with OutcomeStore(url) as store:
        assert store.add([OUTCOME]).new == 1
        assert list(store.outcomes()) == [OUTCOME]
    assert version(engine) == len(MIGRATIONS)


V1_ROWS = (
    "INSERT INTO tasks VALUES (1, 's', 'a', 'Fix it', '1f', '{\"n\": 1}'), (2, 's', 'b', '', NULL, NULL)",
    "INSERT INTO routes VALUES (1, 'gpt-5', 'codex'), (2, 'o3', 'aider')",
    "INSERT INTO runs VALUES (1, 'csv', 'r1')",
    """INSERT INTO outcomes VALUES
        (1, 1, 1, '', 0.5, 4, 'ok', 0.25, true, 100, 60, 7, 1.5, 86400000000),
        (1, 2, 1, 't2', NULL, 1, 'infra_error', NULL, false, NULL, NULL, NULL, NULL, NULL),
        (2, 1, 1, '', 1.0, 1, 'ok', 0.0, false, NULL, NULL, NULL, NULL, NULL)""",
)
A, B = Task("a", "s", "Fix it"), Task("b", "s")
ORIGIN: dict[str, Any] = {"source": "csv", "run": "r1"}
V1_OUTCOMES = [
    Outcome(
        A, Route("gpt-5", "codex"), 0.5, 4, cost=0.25, cost_is_route_mean=True, input_tokens=100, cached_tokens=60,
        output_tokens=7, seconds=1.5, when=datetime(1970, 1, 2, tzinfo=UTC), **ORIGIN,
    ),
    Outcome(A, Route("o3", "aider"), None, status=Status.INFRA_ERROR, trial="t2", **ORIGIN),
    Outcome(B, Route("gpt-5", "codex"), 1.0, cost=0.0, **ORIGIN),
]  # fmt: skip


def test_what_version_1_stored_is_read_by_this_one(url: str, engine: Engine) -> None:
    migrate(engine, create=True, timeout=30, steps=MIGRATIONS[:1])
    with engine.begin() as conn:
        for statement in V1_ROWS:
            conn.exec_driver_sql(statement)
    with OutcomeStore(url) as store:
        assert list(store.outcomes()) == V1_OUTCOMES
        assert [outcome.task.meta for outcome in store.outcomes()] == [{"n": 1}, {"n": 1}, {}]
        assert store.add(V1_OUTCOMES).known == 3
        (run,) = store.runs()
        assert run.added is None  # that version did not note it
        assert store.drop_texts(1) == 0  # the days count from the migration
        assert store.drop_texts(0) == 1


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
