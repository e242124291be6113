from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load, save

from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.ledger import task_key
from hmrouter.scorers.hm.summaries import Summaries
from hmrouter.state import State
from hmrouter.types import Outcome, Route, Status, Task

DIMS = 3
MODELS, HARNESSES = ("m0", "m1", "m2", "cold"), ("h0", "h1", "cold")
ROUTES = [Route(m, h) for m in MODELS[:-1] for h in HARNESSES[:-1]]
TASKS = [Task(f"t{i}", suite=s) for s in ("a", "b") for i in range(4)]

outcomes = st.lists(
    st.builds(
        Outcome,
        task=st.sampled_from(TASKS),
        route=st.sampled_from(ROUTES),
        score=st.floats(0, 1),
        n_trials=st.integers(0, 3),
        status=st.sampled_from([Status.OK, Status.OK, Status.OK, Status.INFRA_ERROR, Status.UNKNOWN]),
    ),
    max_size=25,
)


def vector(task: Task) -> NDArray[np.float64]:
    return np.random.default_rng(list("".join(task.key).encode())).standard_normal(DIMS)


def summaries(data: Dataset) -> Summaries:
    return Summaries.of(data, np.array([vector(t) for t in data.tasks]).reshape(-1, DIMS))


class Literal(NamedTuple):
    """The three bullets of the paper's appendix, word by word, over a list of executions."""

    done: Sequence[Outcome]
    training_queries: set[Task]

    def z(self, component: str, name: str) -> list[float]:
        def contains(route: Route) -> bool:
            return bool(getattr(route, component) == name)

        total, of_queries = np.zeros(DIMS), []
        for query in self.training_queries:
            outcome_of_route = []
            for route in ROUTES:
                trials = [(o.score, max(o.n_trials, 1)) for o in self.done if o.task == query and o.route == route]
                if contains(route) and trials:
                    outcome_of_route.append(sum((s or 0.0) * n for s, n in trials) / sum(n for _, n in trials))
            if outcome_of_route:
                s_qj = sum(outcome_of_route) / len(outcome_of_route)  # "the mean outcome over those routes"
                total += (2 * s_qj - 1) * vector(query)
                of_queries.append(s_qj)
        if not of_queries:
            return [0.0] * (DIMS + 2)  # "a component with no observations gets a zero summary"
        n_j = len({o.route for o in self.done if contains(o.route)})  # "how many of them have any observation"
        return [*(total / len(self.training_queries)), sum(of_queries) / len(of_queries), math.log(1 + n_j)]


def assert_literal(got: Summaries, history: Sequence[Outcome], tasks: Sequence[Task]) -> None:
    literal = Literal([o for o in history if o.status is Status.OK], {*tasks})
    for name in MODELS:
        assert np.allclose(got.model(name), literal.z("model", name), rtol=0, atol=1e-9)
    for name in HARNESSES:
        assert np.allclose(got.harness(name), literal.z("harness", name), rtol=0, atol=1e-9)


@given(outcomes)
def test_summaries_are_the_three_bullets_of_the_paper(history: list[Outcome]) -> None:
    data = Dataset(history, tasks=TASKS[:2], routes=ROUTES)
    assert_literal(summaries(data), history, data.tasks)


@given(outcomes, outcomes)
def test_one_by_one_equals_all_at_once(before: list[Outcome], stream: list[Outcome]) -> None:
    growing = summaries(Dataset(before))
    for i, outcome in enumerate(stream):
        assert growing.add(outcome, vector(outcome.task)) == (outcome.status is Status.OK)
        # An outcome that says nothing does not make its task a training task.
        counted = [*before, *(o for o in stream[: i + 1] if o.status is Status.OK)]
        whole = summaries(Dataset(counted))
        assert growing.n_tasks == whole.n_tasks
        for name in MODELS:
            assert np.allclose(growing.model(name), whole.model(name), rtol=0, atol=1e-9)
        for name in HARNESSES:
            assert np.allclose(growing.harness(name), whole.harness(name), rtol=0, atol=1e-9)


@given(outcomes, outcomes, outcomes)
def test_state_is_exact_and_goes_on(before: list[Outcome], stream: list[Outcome], then: list[Outcome]) -> None:
    original = summaries(Dataset(before))
    for outcome in stream:
        original.add(outcome, vector(outcome.task))
    state = original.state()
    loaded = Summaries.from_state(State(load(save(dict(state.arrays))), json.loads(json.dumps(state.meta))))
    assert_identical(loaded, original)
    for outcome in then:
        original.add(outcome, vector(outcome.task))
        loaded.add(outcome, vector(outcome.task))
        assert_identical(loaded, original)


def test_rounding_is_the_same_after_loading() -> None:
    # Ten routes of one harness on one task, met in another order than the one they are stored in.
    routes = [Route(f"m{i}", "h0") for i in np.random.default_rng(0).permutation(10)]
    scores = np.random.default_rng(1).random((2, 10))
    original = summaries(Dataset([Outcome(TASKS[0], routes[0], 1.0)], routes=routes))
    for route, score in zip(routes, scores[0], strict=True):
        original.add(Outcome(TASKS[0], route, score), vector(TASKS[0]))
    loaded = Summaries.from_state(original.state())
    for route, score in zip(routes[::-1], scores[1], strict=True):
        for one in (original, loaded):
            one.add(Outcome(TASKS[0], route, score), vector(TASKS[0]))
        assert np.array_equal(loaded.harness("h0"), original.harness("h0"))


def assert_identical(a: Summaries, b: Summaries) -> None:
    assert a.n_tasks == b.n_tasks
    assert all(np.array_equal(a.model(name), b.model(name)) for name in MODELS)
    assert all(np.array_equal(a.harness(name), b.harness(name)) for name in HARNESSES)


def test_a_component_without_outcomes_is_zero_until_it_has_one() -> None:
    data = Dataset([Outcome(TASKS[0], ROUTES[0], 1.0)], routes=[Route("cold", "h0"), Route("m0", "cold")])
    z = summaries(data)
    assert z.dims == DIMS + 2
    assert z.model("cold").tolist() == z.harness("cold").tolist() == z.model("never heard of").tolist() == [0.0] * 5
    z.add(Outcome(TASKS[1], Route("cold", "h0"), 0.0), vector(TASKS[1]))
    assert np.allclose(z.model("cold"), [*(-vector(TASKS[1]) / 2), 0.0, math.log(2)])
    assert not z.harness("cold").any()


def test_repeated_absent_runs_keep_their_weight() -> None:
    absent, run = (Outcome(TASKS[0], ROUTES[0], s, n_trials=n) for s, n in ((0.0, 0), (1.0, 1)))
    z = summaries(Dataset([absent, absent]))
    z.add(run, vector(TASKS[0]))
    assert z.model("m0")[-2] == pytest.approx(1 / 3)


def test_a_known_task_keeps_its_vector() -> None:
    z = summaries(Dataset([Outcome(TASKS[0], ROUTES[0], 1.0)]))
    z.add(Outcome(TASKS[0], ROUTES[1], 1.0), np.full(DIMS, 1e6))
    assert np.allclose(z.model("m0")[:DIMS], vector(TASKS[0]))


def test_withheld_outcomes_do_not_enter() -> None:
    history = [Outcome(t, r, float(i % 2)) for i, t in enumerate(TASKS) for r in ROUTES]
    data = Dataset(history)
    rest = summaries(data.withhold(model="m1"))
    assert not rest.model("m1").any()
    assert_literal(rest, [o for o in history if o.route.model != "m1"], data.tasks)


def test_tasks_are_told_apart_by_suite_and_id() -> None:
    assert len({task_key(t) for t in TASKS}) == len(TASKS)
    assert task_key(Task("t", "s", text="a")) == task_key(Task("t", "s", text="b"))
    assert 0 <= task_key(TASKS[0]) < 2**64
