"""What an add says of itself, and an add that only says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, inspect

from hmrouter.errors import LogError, StoreError
from hmrouter.store import AddReport, OutcomeStore
from hmrouter.store.schema import outcomes, routes, runs, tasks
from hmrouter.types import Outcome, Route, Status, Task

CODEX = Route("gpt-5", "codex")
letters = st.sampled_from("ab")
some_outcomes = st.lists(
    st.builds(
        Outcome,
        task=st.builds(Task, id=letters, suite=letters),
        route=st.builds(Route, model=letters, harness=letters),
        score=st.sampled_from([0.0, 0.3]),
        status=st.sampled_from(Status),
        cost=st.sampled_from([None, 0.0, 0.1]),
        token_cost=st.sampled_from([None, 0.2]),
        trial=letters,
    ),
    max_size=12,
)


def expected(given: list[Outcome], kept: dict[tuple[str, ...], Outcome]) -> AddReport:
    """The same, in plain Python; `kept` is what the store holds, and is brought up to date."""
    new = differing = 0
    for outcome in given:
        if outcome.key not in kept:
            kept[outcome.key], new = outcome, new + 1
        else:
            differing += replace(kept[outcome.key], token_cost=None) != replace(outcome, token_cost=None)
    return AddReport(
        new=new, known=len(given) - new, differing=differing,
        tasks=len({o.task.key for o in given}), routes=len({o.route for o in given}),
        cells=len({(o.task.key, o.route) for o in given}),
        with_cost=sum(o.cost is not None for o in given),
        with_token_cost=sum(o.token_cost is not None for o in given),
        statuses=dict(Counter(str(o.status) for o in given)),
    )  # fmt: skip


@given(first=some_outcomes, second=some_outcomes)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_the_report_counts_what_was_given(
    url: str, engine: Engine, first: list[Outcome], second: list[Outcome]
) -> None:
    with OutcomeStore(url) as store:
        store.count()  # makes the tables
        with engine.begin() as conn:
            for table in (outcomes, tasks, routes, runs):
                conn.execute(delete(table))
        kept: dict[tuple[str, ...], Outcome] = {}
        for given in (first, second):
            before = dict(kept)
            promised = store.add(given, dry_run=True)
            assert {o.key: o for o in store.outcomes()} == before
            assert promised == store.add(given) == expected(given, kept)
        assert {o.key: o for o in store.outcomes()} == kept


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as opened:
        yield opened


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"score": 0.5}, 1),
        ({"score": None, "status": Status.UNKNOWN}, 1),
        ({"cost": None}, 1),
        ({"cost": 0.2}, 1),
        ({"input_tokens": 1}, 1),
        ({"cached_tokens": 1}, 1),
        ({"output_tokens": 1}, 1),
        ({"seconds": 1.0}, 1),
        ({"n_trials": 2}, 1),
        ({"token_cost": 0.2}, 0),  # list prices change; what was measured did not
        ({}, 0),
    ],
)
def test_a_known_outcome_that_says_something_else_is_counted(
    store: OutcomeStore, change: dict[str, Any], differs: int
) -> None:
    kept = Outcome(Task("t"), CODEX, 1.0, cost=0.1)
    store.add([kept])
    assert store.add([replace(kept, **change)]).differing == differs
    assert list(store.outcomes()) == [kept]


def test_nothing_given_is_nothing_reported(store: OutcomeStore) -> None:
    nothing = AddReport(
        new=0, known=0, differing=0, tasks=0, routes=0, cells=0, with_cost=0, with_token_cost=0, statuses={}
    )
    assert store.add([]) == nothing


def test_a_dry_run_makes_no_file(sqlite_url: str, tmp_path: Path) -> None:
    outcome = Outcome(Task("t"), CODEX, 1.0)
    steps: list[int] = []
    with OutcomeStore(sqlite_url) as store:
        assert store.add([outcome, outcome], steps.append, dry_run=True).new == 1
        assert list(tmp_path.iterdir()) == []
        assert steps == [2]
        assert store.add([outcome]).new == 1


def test_a_dry_run_makes_no_tables(url: str, engine: Engine) -> None:
    with engine.begin() as conn:
        conn.exec_driver_sql("CREATE TABLE invoices (id INTEGER)")
    with OutcomeStore(url) as store:
        assert store.add([Outcome(Task("t"), CODEX, 1.0)], dry_run=True).new == 1
    assert inspect(engine).get_table_names() == ["invoices"]


def test_a_dry_run_in_a_store_that_was_not_opened_yet(url: str) -> None:
    outcome = Outcome(Task("t"), CODEX, 1.0)
    with OutcomeStore(url) as store:
        store.add([outcome])
    with OutcomeStore(url) as store:
        report = store.add([outcome, Outcome(Task("u"), CODEX, 1.0)], dry_run=True)
        assert (report.new, report.known, store.count()) == (1, 1, 1)


def test_a_dry_run_meets_the_errors_of_a_real_one(sqlite_url: str, tmp_path: Path) -> None:
    def broken() -> Iterator[Outcome]:
        yield Outcome(Task("t"), CODEX, 1.0)
        raise LogError("line 2 is cut off")

    with OutcomeStore(sqlite_url) as store, pytest.raises(LogError):
        store.add(broken(), dry_run=True)
    (tmp_path / "store.db").write_text("task,model,harness,score\n" * 100)
    with OutcomeStore(sqlite_url) as store, pytest.raises(StoreError, match="file is not a database"):
        store.add([Outcome(Task("t"), CODEX, 1.0)], dry_run=True)
