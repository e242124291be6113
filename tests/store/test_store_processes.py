"""Several processes at once, killed ones, and large imports."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine

from hmrouter.store import AddReport, OutcomeStore
from hmrouter.types import Outcome

Worker = Callable[..., "subprocess.Popen[str]"]
Numbered = Callable[..., Outcome]
Report = Callable[["subprocess.Popen[str]"], dict[str, Any]]


@pytest.mark.parametrize("tasks", ["new", "known"])
def test_processes_that_write_at_once_lose_and_double_nothing(
    url: str, worker: Worker, worker_outcome: Numbered, report_of: Report, tasks: str
) -> None:
    if tasks == "known":  # then the processes meet at the outcomes; else at the making of the store and at the tasks
        with OutcomeStore(url) as store:
            store.add(worker_outcome(i, trial="0") for i in range(9500))
    # Each overlaps with the next ones and has its own order; more than two batches each.
    windows = [(start, start + 5000) for start in range(0, 6000, 1500)]
    processes = [worker(url, "--start", str(a), "--stop", str(b), "--shuffle", str(a), "--wait") for a, b in windows]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    reports = [report_of(process) for process in processes]
    assert [report["new"] + report["known"] for report in reports] == [5000] * 4
    assert sum(report["new"] for report in reports) == 9500
    with OutcomeStore(url, create=False) as store:
        found = [outcome for outcome in store.outcomes() if not outcome.trial]
        assert {outcome.cost for outcome in found} == {i / 1000 for i in range(9500)}
        assert len(found) == 9500
        assert store.summary().tasks == store.summary().texts == 950


@pytest.mark.parametrize("moment", ["reading", "writing"])
def test_a_killed_import_leaves_nothing_and_a_rerun_completes(
    url: str, engine: Engine, worker: Worker, worker_outcome: Numbered, moment: str
) -> None:
    with OutcomeStore(url) as store:
        assert store.add(map(worker_outcome, range(500))).new == 500
    killed = worker(url, "--stop", "6000", "--die", moment)
    killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL
    with OutcomeStore(url) as store:
        assert store.count() == 500
        assert store.summary().tasks == 50
        assert store.add(map(worker_outcome, range(6000))) == AddReport(new=5500, known=500)
        assert store.count() == 6000
    if url.startswith("sqlite"):
        with engine.connect() as conn:
            assert conn.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
            assert conn.exec_driver_sql("PRAGMA foreign_key_check").all() == []


def test_memory_does_not_grow_with_the_import(sqlite_url: str, worker: Worker, report_of: Report) -> None:
    small = report_of(worker(sqlite_url, "--stop", "10000"))
    large = report_of(worker(sqlite_url, "--stop", "200000"))
    assert large["new"] == 190_000
    assert large["peak_bytes"] - small["peak_bytes"] < 60_000_000  # held in memory they would be 200 MB and more


def test_memory_does_not_grow_with_what_a_server_holds(postgres_url: str, worker: Worker, report_of: Report) -> None:
    small = report_of(worker(postgres_url, "--stop", "10", "--read"))
    engine = create_engine(postgres_url)
    with engine.begin() as conn:
        conn.exec_driver_sql(
            "INSERT INTO outcomes SELECT task_id, route_id, run_id, n::text, score, n_trials, status, cost,"
            " cost_is_route_mean, n, n, n, n, n FROM outcomes, generate_series(1, 10000) n"
        )
    engine.dispose()
    large = report_of(worker(postgres_url, "--stop", "10", "--read"))
    assert large["read"] == 100_010
    assert large["peak_bytes"] - small["peak_bytes"] < 12_000_000
