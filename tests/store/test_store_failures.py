"""What goes wrong with a database is one clear line, without the password, and the store stays as it was."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from hmrouter.errors import HMRouterError, MissingExtra, StoreError, UsageError
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task

Worker = Callable[..., "subprocess.Popen[str]"]
Report = Callable[["subprocess.Popen[str]"], dict[str, Any]]


def world(n: int) -> Iterator[Outcome]:
    for i in range(n):
        yield Outcome(Task(f"t{i}", text=f"text {i}"), Route("m", "h"), score=1.0)


def refusal(store: OutcomeStore, kind: type[HMRouterError] = StoreError) -> str:
    with store, pytest.raises(kind) as refused:
        store.add(world(1))
    line = str(refused.value)
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("address", "kind", "says"),
    [
        ("runs.db", UsageError, "'runs.db' is not a store address; write sqlite:///runs.db"),
        ("", UsageError, "write sqlite:///runs.db"),
        ("sqlite://runs.db", UsageError, "write sqlite:///runs.db"),
        ("postgresql://host:port/db", UsageError, "cannot be read"),
        ("mysql://localhost/db", StoreError, "'mysql' is not a database that a store can be in"),
        ("postgresql+psycopg2://localhost/db", StoreError, "write sqlite:///runs.db or postgresql"),
    ],
)
def test_a_wrong_address_is_refused_with_the_right_form(address: str, kind: type[HMRouterError], says: str) -> None:
    with pytest.raises(kind) as refused:
        OutcomeStore(address)
    assert says in str(refused.value)


def test_a_relative_path_is_taken_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with OutcomeStore("sqlite:///relative.db") as store:
        store.add(world(1))
    assert (tmp_path / "relative.db").exists()


def test_a_store_that_is_not_there_is_not_made_by_reading(sqlite_url: str, tmp_path: Path) -> None:
    with (
        OutcomeStore(sqlite_url, create=False) as store,
        pytest.raises(StoreError, match="open it without create=False"),
    ):
        next(store.outcomes())
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_a_store_is_left_alone_by_reading(url: str, engine: Engine) -> None:
    with engine.begin() as conn:
        conn.exec_driver_sql("CREATE TABLE invoices (id INTEGER)")
    with OutcomeStore(url, create=False) as store, pytest.raises(StoreError, match="open it without create=False"):
        store.count()
    with OutcomeStore(url) as store:
        assert store.add(world(1)).new == 1


def test_foreign_tables_of_the_same_name_are_not_touched(url: str, engine: Engine) -> None:
    with engine.begin() as conn:
        conn.exec_driver_sql("CREATE TABLE tasks (id INTEGER)")
    assert "give the store a database of its own" in refusal(OutcomeStore(url))
    with engine.begin() as conn:
        assert conn.exec_driver_sql("SELECT * FROM tasks").keys() == ["id"]


def test_a_file_that_is_not_a_database(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("task,model,harness,score\n" * 100)
    assert refusal(OutcomeStore(sqlite_url)).endswith("file is not a database; give the path of another file")
    assert (tmp_path / "store.db").read_text().startswith("task,model")


@pytest.mark.parametrize("folder", ["missing", "a_file"])
def test_a_folder_that_cannot_hold_a_store(tmp_path: Path, folder: str) -> None:
    (tmp_path / "a_file").write_text("")
    line = refusal(OutcomeStore(f"sqlite:///{tmp_path / folder / 'store.db'}"))
    assert line.endswith("unable to open database file; its folder must exist and be writable")


READ_ONLY = """
import os, sys
from hmrouter.errors import StoreError
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task

outcome = Outcome(Task("t"), Route("m", "h"), 1.0)
OutcomeStore("sqlite://").add([outcome])  # everything is imported before the rights go
if os.geteuid() == 0:
    os.setuid(65534)  # permissions do not bind root
try:
    OutcomeStore(sys.argv[1]).add([outcome])
except StoreError as error:
    print(error)
"""


def test_a_read_only_folder() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        address = f"sqlite:///{folder}/store.db"
        line = subprocess.run([sys.executable, "-c", READ_ONLY, address], capture_output=True, text=True, check=True)
        os.chmod(folder, 0o755)
        assert os.listdir(folder) == []
    assert line.stdout == (f"store {address}: unable to open database file; its folder must exist and be writable\n")


def test_a_full_disk_leaves_the_store_as_it_was(sqlite_url: str) -> None:
    def few_pages(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA max_page_count = 30")

    with OutcomeStore(sqlite_url) as store:
        store.add(world(100))
    event.listen(Engine, "connect", few_pages)
    try:
        with OutcomeStore(sqlite_url) as store:
            with pytest.raises(StoreError, match="database or disk is full; free some space"):
                store.add(world(20_000))
            assert store.count() == 100
    finally:
        event.remove(Engine, "connect", few_pages)
    with OutcomeStore(sqlite_url) as store:
        assert store.add(world(20_000)).new == 19_900


def test_a_disk_that_refuses_to_write_leaves_the_store_as_it_was(
    sqlite_url: str, worker: Worker, worker_outcome: Callable[..., Outcome], report_of: Report
) -> None:
    with OutcomeStore(sqlite_url) as store:
        store.add(map(worker_outcome, range(100)))
    failed = report_of(worker(sqlite_url, "--stop", "10000", "--file-size", "200000"))
    assert "the disk may be full" in failed["error"]
    with OutcomeStore(sqlite_url) as store:
        assert store.count() == 100
        assert store.add(map(worker_outcome, range(10_000))).new == 9900


def test_another_writer_that_takes_too_long(url: str, engine: Engine) -> None:
    with OutcomeStore(url) as store:
        store.add(world(3))
    with engine.connect() as conn:
        if conn.dialect.name == "sqlite":
            conn.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            conn.exec_driver_sql("LOCK TABLE outcomes IN EXCLUSIVE MODE")
        with OutcomeStore(url, timeout=0.1) as store:
            with pytest.raises(StoreError, match="another process kept it busy for too long"):
                store.add(world(5))
            assert store.count() == 3  # readers go on
        conn.rollback()
    with OutcomeStore(url, timeout=0.1) as store:
        assert store.add(world(5)).new == 2


SECRET = "tr0ub4dor"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql+psycopg://me:{SECRET}@127.0.0.1:1/db",
        f"postgres://me:{SECRET}@127.0.0.1:1/db",
        f"postgresql://me@127.0.0.1:1/db?password={SECRET}",
    ],
)
def test_a_server_that_does_not_answer(address: str) -> None:
    store = OutcomeStore(address)
    line = refusal(store)
    assert "check the address and that the server runs" in line
    assert SECRET not in line + repr(store) + str(store)


def test_a_database_that_does_not_exist(postgres_url: str) -> None:
    line = refusal(OutcomeStore(postgres_url.replace("/store_", "/nowhere_")))
    assert "does not exist" in line


@pytest.mark.parametrize(
    "address",
    [
        f"me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}",
        f"postgresql://me:x@{SECRET}@host/db",
        f"postgresql://me:x@y/{SECRET}@host/db",
        f"mysql://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}@host:port/db",
    ],
)
def test_the_password_of_a_wrong_address_is_not_repeated(address: str) -> None:
    with pytest.raises(HMRouterError) as refused:
        OutcomeStore(address)
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "pip install '.[postgres]'" in refusal(OutcomeStore("postgresql://localhost/db"), MissingExtra)
