"""What a store holds, in numbers, and the room that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, event

from hmrouter.errors import StoreError
from hmrouter.store import OutcomeStore, Summary
from hmrouter.types import Outcome, Route, Status, Task

DAY = datetime(2025, 6, 1, tzinfo=UTC)
EMPTY = Summary(
    outcomes=0, tasks=0, texts=0, routes=0, cells=0, runs=0, with_cost=0, with_token_cost=0, first=None, last=None,
    bytes=0, suites={}, statuses={},
)  # fmt: skip


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as opened:
        yield opened


def test_an_empty_store(store: OutcomeStore) -> None:
    assert replace(store.summary(), bytes=0) == EMPTY
    assert (store.count(), store.suites(), store.runs()) == (0, {}, [])


def test_everything_is_counted(store: OutcomeStore) -> None:
    a, b = Route("a", "h"), Route("b", "h")
    x, y = Task("1", "x", "do it"), Task("1", "y")
    store.add([
        Outcome(x, a, 1.0, cost=0.0, when=DAY, run="r"),
        Outcome(x, a, 1.0, cost=0.5, token_cost=0.4, when=DAY + timedelta(days=1), run="s"),
        Outcome(x, b, 1.0, token_cost=0.1, run="s"),
        Outcome(y, b, None, status=Status.INFRA_ERROR, run="s"),
    ])  # fmt: skip
    assert store.count() == 4
    assert store.suites() == {"x": 3, "y": 1}
    found = store.summary()
    assert found.bytes > 0
    assert replace(found, bytes=0) == Summary(
        outcomes=4, tasks=2, texts=1, routes=2, cells=3, runs=2, with_cost=2, with_token_cost=2,
        first=DAY, last=DAY + timedelta(days=1), bytes=0,
        suites={"x": 3, "y": 1}, statuses={"infra_error": 1, "ok": 3},
    )  # fmt: skip
    store.merge("model", "b", "a")
    assert (store.summary().routes, store.summary().cells) == (1, 2)


def many(n: int, run: str) -> Iterator[Outcome]:
    for i in range(n):
        yield Outcome(Task(f"{run}-{i}", text=f"text {i} " * 50), Route("m", "h"), 1.0, run=run)


def test_a_vacuum_gives_back_what_was_removed(sqlite_url: str) -> None:
    with OutcomeStore(sqlite_url) as store:
        store.add([*many(2000, "go"), *many(10, "stay")])
        full = store.summary().bytes
        store.forget("go")
        assert store.summary().bytes == full
        before, after = store.vacuum()
        assert before == full
        assert after == store.summary().bytes < full / 5
        assert list(store.outcomes()) == sorted(many(10, "stay"), key=lambda outcome: outcome.task.id)
        assert store.add(many(5, "again")).new == 5  # the connection begins transactions as before


def test_a_vacuum_of_a_server_makes_room_for_what_comes(postgres_url: str) -> None:
    with OutcomeStore(postgres_url) as store:
        store.add(many(2000, "go"))
        store.forget("go")
        before, after = store.vacuum()
        assert 0 < after <= before
        store.add(many(1000, "next"))
        assert store.summary().bytes <= before
        with pytest.raises(ZeroDivisionError):  # the connection begins transactions as before
            store.add(Outcome(Task(str(1 // (2000 - i))), Route("m", "h"), 1.0) for i in range(3000))
        assert store.count() == 1000


def test_a_store_in_memory_can_be_vacuumed() -> None:
    with OutcomeStore("sqlite://") as store:
        store.add(many(3, "r"))
        assert store.vacuum()[1] > 0
        assert store.count() == 3


SECRET = "tr0ub4dor"


@pytest.mark.parametrize("method", ["vacuum", "runs", "names", "merges", "suite_settings", "summary"])
def test_no_answer_of_an_unreachable_server_holds_the_password(method: str) -> None:
    store = OutcomeStore(f"postgresql://me:{SECRET}@127.0.0.1:1/db")
    with pytest.raises(StoreError, match="check the address and that the server runs") as refused:
        getattr(store, method)()
    assert SECRET not in str(refused.value)


def test_a_database_that_repeats_the_password_is_not_repeated(postgres_url: str) -> None:
    """A server behind a pooler may put the whole address into its message."""
    address = postgres_url.replace("://postgres:@", f"://postgres:{SECRET}@")
    assert SECRET in address
    with OutcomeStore(address) as store:
        store.count()

        def refuse(_conn: object, cursor: object, statement: str, *_: object) -> None:
            if statement.startswith("VACUUM"):
                cursor.execute(f'SELECT 1 FROM "no table at {address}"')  # type: ignore[attr-defined]

        event.listen(Engine, "before_cursor_execute", refuse)
        try:
            with pytest.raises(StoreError, match=r"no table at .*:\*\*\*@") as refused:
                store.vacuum()
        finally:
            event.remove(Engine, "before_cursor_execute", refuse)
        assert SECRET not in str(refused.value)
