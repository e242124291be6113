"""What runs there are, and forgetting one takes what is its own and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, event, func, select

from hmrouter.errors import StoreError, UnknownName, UsageError
from hmrouter.store import ForgetReport, OutcomeStore, RunInfo
from hmrouter.store.schema import outcomes, routes, runs, tasks
from hmrouter.types import Outcome, Route, Task, text_hash

DAY = datetime(2025, 6, 1, tzinfo=UTC)


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as opened:
        yield opened


def of_run(run: str, task: str, model: str = "m", source: str = "csv", **more: object) -> Outcome:
    return Outcome(Task(task, suite=f"suite-{task[0]}", text=f"do {task}"), Route(model, "h"), 1.0, source=source,
                   run=run, **more)  # type: ignore[arg-type]  # fmt: skip


def test_runs_are_listed_with_what_they_hold(store: OutcomeStore) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    store.add([of_run("r", "b1"), of_run("r", "a1", when=DAY), of_run("r", "a1", "n", when=DAY + timedelta(days=2))])
    store.add([of_run("q", "a1", source="harbor"), of_run("r", "a2")])
    listed = store.runs()
    assert all(run.added is not None and before < run.added <= datetime.now(UTC) for run in listed)
    first = listed[0].added
    assert listed == [
        RunInfo("csv", "r", ("suite-a", "suite-b"), 4, 2, DAY, DAY + timedelta(days=2), first),
        RunInfo("harbor", "q", ("suite-a",), 1, 1, None, None, listed[1].added),
    ]


def test_forgetting_takes_what_nothing_else_uses(store: OutcomeStore) -> None:
    stays = [of_run("keep", "a1"), of_run("keep", "b1", "n")]
    store.add(stays)
    store.add([of_run("go", "a1"), of_run("go", "a1", "n", trial="2"), of_run("go", "c1", "only-here")])
    description = text_hash("a harness's description")
    vectors = {text_hash(text): [1.0] for text in ("do a1", "do b1", "do c1")} | {description: [2.0]}
    store.put_vectors("e", vectors)
    assert store.forget("go") == ForgetReport(outcomes=3, tasks=1, routes=1)
    assert list(store.outcomes()) == stays
    assert [run.run for run in store.runs()] == ["keep"]
    assert store.names() == {"model": {"m": 1, "n": 1}, "harness": {"h": 2}}
    assert store.vectors("e", list(vectors)).keys() == vectors.keys() - {text_hash("do c1")}
    assert store.add([of_run("go", "c1", "only-here")]).new == 1


def test_a_vector_stays_while_another_task_has_the_text(store: OutcomeStore) -> None:
    store.add([Outcome(Task(name, text="same"), Route("m", "h"), 1.0, run=name) for name in ("a", "b")])
    store.put_vectors("e", {text_hash("same"): [1.0]})
    store.forget("a")
    assert len(store.vectors("e", [text_hash("same")])) == 1
    store.forget("b")
    assert store.vectors("e", [text_hash("same")]) == {}


def test_an_unknown_run_is_refused_with_a_suggestion(store: OutcomeStore) -> None:
    store.add([of_run("2025-06-01__codex", "a1")])
    with pytest.raises(UnknownName, match=r"run '2025-06-01__codx' is not in store .*mean '2025-06-01__codex'"):
        store.forget("2025-06-01__codx")
    with pytest.raises(UnknownName, match=r"source 'harbor' is not in those that have run '2025-06-01__codex'; .* csv"):
        store.forget("2025-06-01__codex", source="harbor")
    assert store.count() == 1


def test_a_run_of_two_sources_needs_the_source(store: OutcomeStore) -> None:
    store.add([of_run("r", "a1"), of_run("r", "a1", source="harbor")])
    with pytest.raises(UsageError, match="run 'r' is in the sources csv, harbor; say of which one"):
        store.forget("r")
    assert store.forget("r", source="csv") == ForgetReport(outcomes=1, tasks=0, routes=0)
    assert [outcome.source for outcome in store.outcomes()] == ["harbor"]
    assert store.forget("r").tasks == 1
    assert store.count() == 0


def test_forgetting_waits_for_an_import_that_counts_on_its_tasks(url: str, store: OutcomeStore) -> None:
    store.add([of_run("old", "a1")])
    tried: list[str] = []

    def between(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO outcomes") and not tried:
            with OutcomeStore(url, timeout=0.1) as other, pytest.raises(StoreError) as refused:
                other.forget("old")
            tried.append(str(refused.value))

    event.listen(Engine, "before_cursor_execute", between)
    try:
        assert store.add([of_run("new", "a1")]).new == 1
    finally:
        event.remove(Engine, "before_cursor_execute", between)
    assert "another process kept it busy" in tried[0]
    assert store.forget("old") == ForgetReport(outcomes=1, tasks=0, routes=0)
    assert [outcome.run for outcome in store.outcomes()] == ["new"]


letters = st.sampled_from("abc")
some_outcomes = st.lists(
    st.builds(of_run, run=letters, task=letters, model=letters, source=st.sampled_from(["csv", ""])),
    min_size=1,
    max_size=10,
    unique_by=lambda outcome: outcome.key,
)


@given(items=some_outcomes)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_forgetting_a_run_is_as_if_it_had_never_been_added(url: str, engine: Engine, items: list[Outcome]) -> None:
    with OutcomeStore(url) as store:
        store.count()  # makes the tables
        with engine.begin() as conn:
            for table in (outcomes, tasks, routes, runs):
                conn.execute(delete(table))
        store.add(items)
        gone = items[0].source, items[0].run
        rest = [outcome for outcome in items if (outcome.source, outcome.run) != gone]
        assert store.forget(items[0].run, items[0].source).outcomes == len(items) - len(rest)
        assert set(store.outcomes()) == set(rest)
    with engine.connect() as conn:
        sizes = [conn.scalar(select(func.count()).select_from(table)) for table in (tasks, routes, runs)]
    assert sizes == [len({f(o) for o in rest}) for f in (_task, _route, _run)]


def _task(outcome: Outcome) -> object:
    return outcome.task.key


def _route(outcome: Outcome) -> object:
    return outcome.route


def _run(outcome: Outcome) -> object:
    return outcome.source, outcome.run
