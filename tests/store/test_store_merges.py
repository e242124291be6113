"""Names that mean the same are read as one; the rows keep theirs, so that a merge can be undone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete

from hmrouter.errors import UnknownName, UsageError
from hmrouter.store import Merge, OutcomeStore
from hmrouter.store.schema import merges
from hmrouter.types import Outcome, Route, Task


def grid(models: str = "abc", harnesses: str = "xy") -> list[Outcome]:
    """One outcome per pair, all of one task."""
    return [Outcome(Task("t"), Route(model, harness), 1.0) for model in models for harness in harnesses]


def read(store: OutcomeStore) -> list[str]:
    return [str(outcome.route) for outcome in store.outcomes()]


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as opened:
        opened.add(grid())
        yield opened


def test_a_merged_name_is_read_as_the_other_and_in_its_order(store: OutcomeStore) -> None:
    assert store.merge("model", "a", "c") == Merge("model", "a", "c")
    assert read(store) == ["x:b", "y:b", "x:c", "x:c", "y:c", "y:c"]
    store.merge("harness", "x", "y")
    assert read(store) == ["y:b", "y:b", "y:c", "y:c", "y:c", "y:c"]
    assert store.merges() == [Merge("harness", "x", "y"), Merge("model", "a", "c")]
    assert store.names() == {"model": {"a": 2, "b": 2, "c": 2}, "harness": {"x": 3, "y": 3}}
    assert list(store.outcomes(merged=False)) == grid()


def test_splitting_gives_back_what_was_there(store: OutcomeStore) -> None:
    before = list(store.outcomes())
    store.merge("model", "a", "c")
    store.split("model", "a")
    assert list(store.outcomes()) == before
    assert store.merges() == []


def test_a_merge_changes_nothing_about_what_is_known(store: OutcomeStore) -> None:
    store.merge("model", "a", "c")
    assert store.add(grid()).known == 6


def test_what_comes_later_under_a_merged_name_is_read_merged_too(store: OutcomeStore) -> None:
    store.merge("model", "a", "c")
    store.add([Outcome(Task("u"), Route("a", "z"), 1.0)])
    assert read(store)[-1] == "z:c"


def test_a_name_of_one_kind_is_no_name_of_the_other(store: OutcomeStore) -> None:
    store.add([Outcome(Task("u"), Route("x", "a"), 1.0)])
    store.merge("model", "x", "b")
    assert "x:b" in read(store)
    assert "a:b" in read(store)


def test_a_merge_is_followed_to_its_end(store: OutcomeStore) -> None:
    store.merge("model", "b", "c")
    assert store.merge("model", "a", "b") == Merge("model", "a", "c")
    assert store.merges() == [Merge("model", "a", "c"), Merge("model", "b", "c")]


def test_what_was_merged_into_a_name_follows_it(store: OutcomeStore) -> None:
    store.merge("model", "a", "b")
    store.merge("model", "b", "c")
    assert store.merges() == [Merge("model", "a", "c"), Merge("model", "b", "c")]
    store.split("model", "b")
    assert {outcome.route.model for outcome in store.outcomes()} == {"b", "c"}


def test_a_second_merge_of_a_name_replaces_the_first(store: OutcomeStore) -> None:
    store.merge("model", "a", "b")
    store.merge("model", "a", "c")
    assert store.merges() == [Merge("model", "a", "c")]


def test_circles_are_refused(store: OutcomeStore) -> None:
    store.merge("model", "a", "b")
    with pytest.raises(UsageError, match="model 'b' cannot be merged into itself; split 'a' first"):
        store.merge("model", "b", "a")
    with pytest.raises(UsageError, match=r"model 'c' cannot be merged into itself$"):
        store.merge("model", "c", "c")
    assert store.merges() == [Merge("model", "a", "b")]


def test_unknown_names_are_refused(store: OutcomeStore) -> None:
    with pytest.raises(UnknownName, match=r"model 'x' is not in store .*; choose from a, b, c"):
        store.merge("model", "x", "a")
    with pytest.raises(UnknownName, match=r"harness 'a' is not in store .*; choose from x, y"):
        store.merge("harness", "x", "a")
    with pytest.raises(UnknownName, match=r"merged model 'a' is not in store .*; there are none"):
        store.split("model", "a")
    for change in (lambda: store.merge("agent", "a", "b"), lambda: store.split("agent", "a")):
        with pytest.raises(UnknownName, match="kind of name 'agent' is not known; choose from harness, model"):
            change()


def test_a_merge_outlives_the_outcomes_of_its_name(store: OutcomeStore) -> None:
    store.add([Outcome(Task("t"), Route("d", "x"), 1.0, run="r")])
    store.merge("model", "d", "a")
    store.forget("r")
    store.add([Outcome(Task("t"), Route("d", "x"), 1.0, run="r")])
    assert "d" not in {outcome.route.model for outcome in store.outcomes()}


@given(steps=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=8))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_target_is_never_merged_itself(url: str, engine: Engine, steps: list[tuple[str, str]]) -> None:
    with OutcomeStore(url) as store:
        store.add(grid())
        with engine.begin() as conn:
            conn.execute(delete(merges))
        for name, into in steps:
            try:
                store.merge("model", name, into)
            except UsageError:
                continue
        merged = {merge.name: merge.into for merge in store.merges()}
        assert not merged.keys() & set(merged.values())
        models = [outcome.route.model for outcome in store.outcomes()]
        assert models == sorted(merged.get(name, name) for name in "abc" for _ in "xy")
