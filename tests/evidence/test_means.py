from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.means import RouteMeans
from hmrouter.state import State
from hmrouter.types import Outcome, Route, Status, Task

ROUTES = [Route(m, h) for m in ("m0", "qwen3:8b") for h in ("h0", "h1")]
values = st.lists(st.tuples(st.sampled_from(ROUTES), st.floats(0, 1)), max_size=30)


def filled(pairs: list[tuple[Route, float]]) -> RouteMeans:
    means = RouteMeans()
    for route, value in pairs:
        means.add(route, value)
    return means


@given(values)
def test_means_are_plain_means(pairs: list[tuple[Route, float]]) -> None:
    means = filled(pairs)
    for route, mean in means.all().items():
        assert mean == pytest.approx(np.mean([v for r, v in pairs if r == route]))
    assert means.all().keys() == {r for r, _ in pairs}
    for model, mean in means.by(lambda r: r.model).items():
        assert mean == pytest.approx(np.mean([v for r, v in pairs if r.model == model]))
    assert means.overall(0.25) == (pytest.approx(np.mean([v for _, v in pairs])) if pairs else 0.25)


@given(values, values)
def test_state_is_exact_and_goes_on(first: list[tuple[Route, float]], then: list[tuple[Route, float]]) -> None:
    means = filled(first)
    state = means.state()
    loaded = RouteMeans.from_state(State(state.arrays, json.loads(json.dumps(state.meta))))
    for route, value in then:
        means.add(route, value)
        loaded.add(route, value)
    assert loaded.all() == means.all()
    assert list(loaded.all()) == list(means.all())
    assert loaded.overall(0.5) == means.overall(0.5)


def test_a_cell_counts_once_whatever_its_trials() -> None:
    a, b, c = ROUTES[:3]
    outcomes = [
        Outcome(Task("t"), a, 1.0, n_trials=9, cost=3.0),
        Outcome(Task("u"), a, 0.0, n_trials=1),
        Outcome(Task("t"), b, None, status=Status.INFRA_ERROR, cost=5.0),
    ]
    data = Dataset(outcomes, routes=[c])
    assert RouteMeans.of(data).all() == {a: 0.5}
    assert RouteMeans.of(data, "cost").all() == {a: 3.0}  # the cells whose cost is known
    assert RouteMeans.of(data, "seconds").all() == {}
