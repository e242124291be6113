"""A ledger that grew one by one holds what a data set of the same outcomes holds."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.ledger import Ledger, task_key
from hmrouter.state import State
from hmrouter.types import Outcome, Route, Status, Task

ROUTES = [Route(m, h) for m in ("gpt-5", "qwen3:8b") for h in ("codex", "aider")]
A, B, C, D = ROUTES
NOW = datetime(2026, 1, 1, tzinfo=UTC)
VECTORS = {f"t{i}": np.array([i, -i], dtype=np.float64) for i in range(5)}

outcomes = st.lists(
    st.builds(
        Outcome,
        task=st.builds(Task, st.sampled_from(sorted(VECTORS)), suite=st.sampled_from(["one", "two"])),
        route=st.sampled_from(ROUTES),
        score=st.floats(0, 1),
        n_trials=st.integers(0, 5),
        status=st.sampled_from([Status.OK, Status.OK, Status.INFRA_ERROR, Status.UNKNOWN]),
        when=st.sampled_from([NOW - timedelta(days=days) for days in (0, 1, 5)]),
    ),
    max_size=25,
)


def ledger_of(first: list[Outcome], then: list[Outcome], half_life: float | None = None) -> Ledger:
    data = Dataset(first, half_life=half_life, now=NOW)
    ledger = Ledger.of(data, np.array([VECTORS[t.id] for t in data.tasks]).reshape(-1, 2))
    for o in then:
        ledger.add(o, VECTORS[o.task.id])
    return ledger


def content(ledger: Ledger) -> dict[tuple[int, Route], tuple[float, float, float, float]]:
    """Key of the task and route -> score, weight, fade and a number of the task's vector."""
    task, route, score, weight = ledger.cells()
    fade = ledger.fade()
    fade = np.ones(len(task)) if fade is None else fade
    keys, x = ledger.keys, ledger.vectors()
    cells = zip(task.tolist(), route.tolist(), score.tolist(), weight.tolist(), fade.tolist(), strict=True)
    return {(int(keys[t]), ledger.routes[r]): (s, w, f, float(x[t, 0])) for t, r, s, w, f in cells}


@settings(max_examples=300)
@given(outcomes, st.integers(0, 25), st.none() | st.just(2.0))
def test_growing_is_the_same_as_collecting(some: list[Outcome], at: int, half_life: float | None) -> None:
    old, fresh = some[:at], [replace(o, when=NOW) for o in some[at:]]
    grown, collected = content(ledger_of(old, fresh, half_life)), content(ledger_of([*old, *fresh], [], half_life))
    assert grown.keys() == collected.keys()
    for cell, values in collected.items():
        assert np.allclose(grown[cell], values, rtol=0, atol=1e-12)


@settings(max_examples=200)
@given(outcomes, outcomes, outcomes, st.none() | st.just(2.0))
def test_a_saved_ledger_is_exact_and_goes_on_the_same(
    first: list[Outcome], then: list[Outcome], later: list[Outcome], half_life: float | None
) -> None:
    ledger = ledger_of(first, then, half_life)
    state = ledger.state()
    meta = json.loads(json.dumps(dict(state.meta)))
    loaded = Ledger.from_state(State(load(save({name: np.array(a) for name, a in state.arrays.items()})), meta))
    for o in [None, *later]:
        if o is not None:
            mine, theirs = ledger.add(o, VECTORS[o.task.id]), loaded.add(o, VECTORS[o.task.id])
            assert mine == theirs
        assert ledger.routes == loaded.routes
        assert np.array_equal(ledger.keys, loaded.keys)
        assert np.array_equal(ledger.vectors(), loaded.vectors())
        assert all(np.array_equal(a, b) for a, b in zip(ledger.cells(), loaded.cells(), strict=True))
        assert content(ledger) == content(loaded)
        assert ledger.state().arrays.keys() == loaded.state().arrays.keys() == state.arrays.keys()


@settings(max_examples=100)
@given(outcomes, outcomes)
def test_cells_are_sorted_by_task_and_route(first: list[Outcome], then: list[Outcome]) -> None:
    task, route, _, _ = ledger_of(first, then).cells()
    places = list(zip(task.tolist(), route.tolist(), strict=True))
    assert places == sorted(set(places))


def test_add_says_what_changed() -> None:
    ledger = ledger_of([Outcome(Task("t1"), A, 1.0), Outcome(Task("t1"), B, 0.0)], [])
    again = ledger.add(Outcome(Task("t1"), A, 0.0, n_trials=3), VECTORS["t1"])
    new = ledger.add(Outcome(Task("t1"), C, 1.0), VECTORS["t1"])
    first = ledger.add(Outcome(Task("t2"), C, 0.5), VECTORS["t2"])
    assert again is not None
    assert new is not None
    assert first is not None
    at = [ledger.routes.index(r) for r in (A, B, C)]
    assert (again.task, again.route, again.old, again.new) == (0, at[0], 1.0, 0.25)
    assert again.before == {at[0]: 1.0, at[1]: 0.0}
    assert (new.task, new.route, new.old, new.new) == (0, at[2], None, 1.0)
    assert new.before == {at[0]: 0.25, at[1]: 0.0}
    assert (first.task, first.old, first.before) == (1, None, {})


def test_add_says_what_had_faded_and_what_is_new_is_fresh() -> None:
    old = [Outcome(Task("t1"), r, 1.0, n_trials=4, when=NOW - timedelta(days=days)) for r, days in ((A, 2), (B, 4))]
    ledger = ledger_of([*old, Outcome(Task("t1"), C, 1.0, when=NOW)], [], half_life=2.0)
    at = [ledger.routes.index(r) for r in (A, B, C)]
    again = ledger.add(Outcome(Task("t1"), A, 0.0, when=NOW - timedelta(days=400)), VECTORS["t1"])
    new = ledger.add(Outcome(Task("t1"), D, 0.0), VECTORS["t1"])
    assert again is not None
    assert new is not None
    assert again.new == pytest.approx(2 / 3)  # two of four trials are left, and one joins them
    assert again.faded == {at[0]: 0.5, at[1]: 0.25}
    assert new.faded == {at[1]: 0.25}


def test_an_outcome_without_a_verdict_changes_nothing() -> None:
    ledger = ledger_of([Outcome(Task("t1"), A, 1.0)], [])
    before = ledger.state()
    assert ledger.add(Outcome(Task("t2"), B, None, status=Status.INFRA_ERROR), VECTORS["t2"]) is None
    assert ledger.add(Outcome(Task("t1"), A, 0.0, status=Status.UNKNOWN), VECTORS["t1"]) is None
    assert ledger.state().meta == before.meta
    assert all(np.array_equal(a, ledger.state().arrays[name]) for name, a in before.arrays.items())


def test_a_known_task_keeps_the_vector_that_its_cells_were_learned_with() -> None:
    ledger = ledger_of([Outcome(Task("t1"), A, 1.0)], [Outcome(Task("t2"), A, 1.0)])
    for name in ("t1", "t2"):
        added = ledger.add(Outcome(Task(name), B, 1.0), np.array([9.0, 9.0]))
        assert added is not None
        assert np.array_equal(ledger.vector(added.task), VECTORS[name])


def test_the_data_set_is_not_touched() -> None:
    data = Dataset([Outcome(Task("t1"), A, 1.0)])
    ledger = Ledger.of(data, np.zeros((1, 2)))
    ledger.add(Outcome(Task("t1"), A, 0.0), np.zeros(2))
    assert data.cells.score.tolist() == [1.0]
    assert ledger.cells()[2].tolist() == [0.5]


def test_what_is_saved_names_no_task() -> None:
    ledger = Ledger.of(Dataset([Outcome(Task("secret-task", text="secret-text"), A, 1.0)]), np.zeros((1, 2)))
    state = ledger.state()
    saved = save({name: np.array(a) for name, a in state.arrays.items()}) + json.dumps(dict(state.meta)).encode()
    assert b"codex:gpt-5" in saved
    assert b"secret" not in saved


def test_suites_keep_tasks_of_one_name_apart() -> None:
    keys = {task_key(Task("t", suite="a")), task_key(Task("t", suite="b")), task_key(Task("t", suite="a", text="x"))}
    assert len(keys) == 2
    assert task_key(Task("\ud800")) < 2**64
