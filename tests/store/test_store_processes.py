"""Several processes at once, killed ones, and large imports."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine

from hmrouter.store import OutcomeStore
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
    _start_together(processes)
    reports = [report_of(process) for process in processes]
    assert [report["new"] + report["known"] for report in reports] == [5000] * 4
    assert sum(report["new"] for report in reports) == 9500
    with OutcomeStore(url, create=False) as store:
        found = [outcome for outcome in store.outcomes() if not outcome.trial]
        assert {outcome.cost for outcome in found} == {i / 1000 for i in range(9500)}
        assert len(found) == 9500
        assert store.summary().tasks == store.summary().texts == 950


def test_eight_processes_one_of_them_killed(
    postgres_url: str, worker: Worker, worker_outcome: Numbered, report_of: Report
) -> None:
    # Texts expire as they come, so that every import also ends by changing tasks, its own and those of others.
    with OutcomeStore(postgres_url) as store:
        store.add([worker_outcome(0)])
        store.set_suite("world", text_days=0)
    windows = [(start, start + 3000) for start in range(0, 4000, 500)]
    options = [["--die", "writing"] if a == 1500 else [] for a, _ in windows]
    processes = [
        worker(postgres_url, "--start", str(a), "--stop", str(b), "--shuffle", str(a), "--wait", *more)
        for (a, b), more in zip(windows, options, strict=True)
    ]
    _start_together(processes)
    killed = processes.pop(3)
    killed.communicate(timeout=600)
    assert killed.returncode == -signal.SIGKILL
    reports = [report_of(process) for process in processes]
    assert sum(report["new"] for report in reports) == 6500 - 1
    rerun = report_of(worker(postgres_url, "--start", "1500", "--stop", "4500"))
    assert (rerun["new"], rerun["known"]) == (0, 3000)  # the others overlap with all of it
    with OutcomeStore(postgres_url, create=False) as store:
        found = list(store.outcomes())
        assert sorted(outcome.key for outcome in found) == sorted(worker_outcome(i).key for i in range(6500))
        assert {outcome.cost for outcome in found} == {i / 1000 for i in range(6500)}
        assert store.summary().texts == 0


def test_forgetting_while_others_import_loses_nothing_of_theirs(
    url: str, worker: Worker, worker_outcome: Numbered, report_of: Report
) -> None:
    with OutcomeStore(url) as store:
        store.add(replace(worker_outcome(i), run="old") for i in range(4000))  # the tasks and routes of the others
        processes = [worker(url, "--stop", "4000", "--trial", trial, "--wait") for trial in "abc"]
        _start_together(processes)
        gone = store.forget("old")
        assert gone.outcomes == 4000
        assert [report_of(process)["new"] for process in processes] == [4000] * 3
        assert store.count() == 12_000
        assert sum(1 for _ in store.outcomes()) == 12_000


def _start_together(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()


@pytest.mark.parametrize("moment", ["reading", "writing"])
def test_a_killed_import_leaves_nothing_and_a_rerun_completes(
    url: str, engine: Engine, worker: Worker, worker_outcome: Numbered, moment: str
) -> None:
    with OutcomeStore(url) as store:
        assert store.add(map(worker_outcome, range(500))).new == 500
    killed = worker(url, "--stop", "6000", "--die", moment)
    killed.communicate(timeout=600)
    assert killed.returncode == -signal.SIGKILL
    with OutcomeStore(url) as store:
        assert store.count() == 500
        assert store.summary().tasks == 50
        again = store.add(map(worker_outcome, range(6000)))
        assert (again.new, again.known, again.differing) == (5500, 500, 0)
        assert store.count() == 6000
    if url.startswith("sqlite"):
        with engine.connect() as conn:
            assert conn.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
            assert conn.exec_driver_sql("PRAGMA foreign_key_check").all() == []


def test_memory_does_not_grow_with_the_import(sqlite_url: str, worker: Worker, report_of: Report) -> None:
    small = report_of(worker(sqlite_url, "--stop", "50000"))
    large = report_of(worker(sqlite_url, "--stop", "200000", "--trial", "2"))
    assert large["new"] == 200_000
    # Held in memory, 150,000 more would be 150 MB and more.
    assert large["peak_bytes"] - small["peak_bytes"] < 30_000_000
    assert large["peak_bytes"] < 300_000_000


def test_memory_does_not_grow_with_what_a_server_holds(postgres_url: str, worker: Worker, report_of: Report) -> None:
    small = report_of(worker(postgres_url, "--stop", "10", "--read"))
    engine = create_engine(postgres_url)
    with engine.begin() as conn:
        conn.exec_driver_sql(
            "INSERT INTO outcomes SELECT task_id, route_id, run_id, n::text, score, n_trials, status, cost,"
            " cost_is_route_mean, n, n, n, n, n, n, '', '', '' FROM outcomes, generate_series(1, 10000) n"
        )
    engine.dispose()
    large = report_of(worker(postgres_url, "--stop", "10", "--read"))
    assert large["read"] == 100_010
    assert large["peak_bytes"] - small["peak_bytes"] < 12_000_000
