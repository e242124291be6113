"""Outcomes come back exactly, in one order, and are counted right."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, event

from hmrouter.errors import UnknownName
from hmrouter.store import OutcomeStore
from hmrouter.store.schema import embeddings, outcomes, routes, runs, tasks
from hmrouter.types import Outcome, Route, Status, Task

chars = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
names = st.text(chars, max_size=6)
nonempty = st.text(chars, min_size=1, max_size=6)
amounts = st.none() | st.floats(0, 1e9)
counts = st.none() | st.integers(0, 10**16)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
task_lists = st.lists(
    st.builds(
        Task, id=nonempty, suite=names, text=st.text(chars), meta=st.dictionaries(st.text(), json_values, max_size=3)
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda task: task.key,
)
all_routes = st.builds(Route, model=nonempty, harness=nonempty.filter(lambda name: ":" not in name))


@st.composite
def outcome_lists(draw: st.DrawFn) -> list[Outcome]:
    one = st.builds(
        Outcome,
        task=st.sampled_from(draw(task_lists)),
        route=all_routes,
        score=st.floats(0, 1),
        n_trials=st.integers(0, 10**6),
        status=st.sampled_from(Status),
        cost=amounts,
        cost_is_route_mean=st.booleans(),
        token_cost=amounts,
        input_tokens=counts,
        cached_tokens=counts,
        output_tokens=counts,
        seconds=amounts,
        when=st.none() | st.datetimes(timezones=st.just(UTC)),
        source=names,
        run=names,
        trial=names,
        model_version=names,
        harness_version=names,
        dataset_version=names,
    )
    return draw(st.lists(one, max_size=12, unique_by=lambda outcome: outcome.key))


def in_order(items: list[Outcome]) -> list[Outcome]:
    def place(outcome: Outcome) -> tuple[str, ...]:
        task, route = outcome.task, outcome.route
        return (task.suite, task.id, route.model, route.harness, outcome.source, outcome.run, outcome.trial)

    return sorted(items, key=place)


@given(items=outcome_lists())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_every_field_comes_back_and_in_order(url: str, engine: Engine, items: list[Outcome]) -> None:
    with OutcomeStore(url) as store:
        store.count()  # makes the tables
        with engine.begin() as conn:
            for table in (outcomes, tasks, routes, runs, embeddings):
                conn.execute(delete(table))
        assert store.add(items).new == len(items)
        found = list(store.outcomes())
    expected = in_order(items)
    assert found == expected
    # `Task` leaves its meta out of comparisons.
    assert [outcome.task.meta for outcome in found] == [outcome.task.meta for outcome in expected]


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as opened:
        yield opened


def grid() -> Iterator[Outcome]:
    """Two suites of 3 and 1 tasks on two routes, in no particular order."""
    for model in ("b", "a"):
        for suite, task in (("x", "2"), ("y", "1"), ("x", "10"), ("x", "1")):
            status = Status.INFRA_ERROR if (model, suite) == ("b", "y") else Status.OK
            text = "" if task == "10" else f"do {task}"
            yield Outcome(Task(task, suite=suite, text=text), Route(model, "h"), score=1.0, status=status)


def test_outcomes_of_a_task_share_it(store: OutcomeStore) -> None:
    store.add(grid())
    found = list(store.outcomes())
    assert len(found) == 8
    assert len({id(outcome.task) for outcome in found}) == 4
    assert len({id(outcome.route) for outcome in found}) == 2


def test_one_suite_can_be_read_alone(store: OutcomeStore) -> None:
    store.add(grid())
    assert list(store.outcomes("x")) == [outcome for outcome in store.outcomes() if outcome.task.suite == "x"]
    assert [outcome.route.model for outcome in store.outcomes("y")] == ["a", "b"]


def test_an_unknown_suite_is_refused_with_a_suggestion(store: OutcomeStore) -> None:
    store.add([Outcome(Task("t", suite="swe-bench"), Route("m", "h"), 1.0)])
    with pytest.raises(UnknownName, match="did you mean 'swe-bench'"):
        next(store.outcomes("swebench"))


def test_a_reader_sees_the_store_as_it_was_when_it_began(url: str, store: OutcomeStore) -> None:
    store.add(grid())
    reading = store.outcomes()
    first = next(reading)
    with OutcomeStore(url) as other:
        other.add([Outcome(Task("z", suite="z"), Route("m", "h"), 1.0, when=datetime.now(UTC))])
    assert [first, *reading] == in_order(list(grid()))
    assert store.count() == 9


def test_tasks_that_come_between_two_queries_of_a_reader_are_not_seen(url: str, store: OutcomeStore) -> None:
    store.add(grid())
    late = [Outcome(Task("0", suite="a"), Route("m", "h"), 1.0)]

    def between(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        if late and statement.startswith("SELECT outcomes."):
            with OutcomeStore(url) as other:
                assert other.add([late.pop()]).new == 1

    event.listen(Engine, "before_cursor_execute", between)
    try:
        assert list(store.outcomes()) == in_order(list(grid()))
    finally:
        event.remove(Engine, "before_cursor_execute", between)
    assert not late


def test_a_reader_that_stops_early_leaves_the_store_usable(store: OutcomeStore) -> None:
    store.add(grid())
    for _ in range(30):  # more than the pool has connections
        next(store.outcomes())
    assert store.add(grid()).known == 8
