"""Plain means as the paper has them, and the expected costs that a router decides by."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrouter.costs import Cost, ExpectedCosts, RouteCosts, priced
from hmrouter.evidence.dataset import Dataset
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route, Status, Task

BIG_A, BIG_B = Route("big", "a"), Route("big", "b")
SMALL_A, SMALL_B = Route("small", "a"), Route("small", "b")


def costs(**dollars: float) -> RouteCosts:
    out = RouteCosts()
    for name, value in dollars.items():
        model, harness = name.split("_")
        out.add(Route(model, harness), value)
    return out


def assert_about(cost: Cost, dollars: float, basis: str) -> None:
    assert cost.dollars == pytest.approx(dollars)
    assert cost.basis == basis


def test_a_run_route_costs_its_mean() -> None:
    cells = [(SMALL_A, "t", 1.0), (SMALL_A, "u", 3.0), (SMALL_B, "t", None)]
    fitted = RouteCosts.fit(Dataset([Outcome(Task(t), r, 1.0, cost=c) for r, t, c in cells]))
    assert fitted.of(SMALL_A) == Cost(2.0, "route")
    assert_about(fitted.of(SMALL_B), 2.0, "model")  # run, but no cost was recorded
    fitted.observe(Outcome(Task("v"), SMALL_A, 0.0, cost=5.0))
    assert fitted.of(SMALL_A) == Cost(3.0, "route")


def test_a_pair_is_estimated_from_its_components() -> None:
    known = costs(big_a=4.0, small_a=1.0, tiny_a=0.5, big_b=8.0, small_b=2.0)
    # geometric means: model tiny 0.5; harness b 4; all (4 * 1 * .5 * 8 * 2) ** (1/5) = 2
    assert_about(known.of(Route("tiny", "b")), 0.5 * 4 / 2, "model+harness")


def test_one_known_component_gives_its_usual_cost() -> None:
    known = costs(big_a=4.0, big_b=9.0, small_a=1.0)
    assert_about(known.of(Route("big", "new")), 6.0, "model")  # the geometric mean
    assert_about(known.of(Route("new", "a")), 2.0, "harness")
    assert known.of(Route("new", "new")) == Cost(None, "unknown")


def test_nothing_known() -> None:
    assert RouteCosts().of(BIG_A) == Cost(None, "unknown")
    assert RouteCosts.fit(Dataset([Outcome(Task("t"), BIG_A, 1.0)])).of_all([BIG_A]) == [Cost(None, "unknown")]


def test_a_free_route_is_free_and_its_relatives_are_cheap() -> None:
    free = costs(local_a=0.0, big_a=4.0)
    assert free.of(Route("local", "a")) == Cost(0.0, "route")
    estimate = free.of(Route("local", "b")).dollars
    assert estimate is not None
    assert 0.0 < estimate <= 1e-4 * 1.0001


def test_a_run_that_did_not_end_has_no_usual_cost() -> None:
    known = costs(big_a=4.0)
    for status in (Status.INFRA_ERROR, Status.UNKNOWN):
        known.observe(Outcome(Task("t"), BIG_A, None, status=status, cost=100.0))
        known.observe(Outcome(Task("t"), SMALL_B, None, status=status, cost=100.0))
    known.observe(Outcome(Task("t"), BIG_A, 1.0))  # a cost that is not known changes nothing either
    assert known.of_all([BIG_A, SMALL_B]) == [Cost(4.0, "route"), Cost(None, "unknown")]


def test_many_at_once_equal_one_by_one() -> None:
    known = costs(big_a=4.0, small_a=1.0, small_b=2.0)
    routes = [BIG_A, BIG_B, SMALL_A, SMALL_B, Route("new", "a"), Route("new", "new")]
    assert known.of_all(routes) == [known.of(r) for r in routes]


def test_state_is_exact() -> None:
    known = costs(big_a=0.1, small_a=0.7, small_b=1 / 3)
    known.add(BIG_A, 0.2)
    state = known.state()
    loaded = RouteCosts.from_state(State(state.arrays, json.loads(json.dumps(state.meta))))
    assert loaded.of_all([BIG_A, BIG_B, SMALL_B]) == known.of_all([BIG_A, BIG_B, SMALL_B])


# -- expected costs -------------------------------------------------------------------------------------------------


def dollars(cost: Cost) -> float:
    assert cost.dollars is not None
    return cost.dollars


def ran(costs: dict[Route, Sequence[float]]) -> Dataset:
    made = [
        Outcome(Task(f"t{i}"), r, 1.0, cost=c, seconds=60 * c) for r, seen in costs.items() for i, c in enumerate(seen)
    ]
    return Dataset(made)


def world(seed: int, runs: int, spread: float = 0.8) -> tuple[dict[Route, float], Dataset]:
    """Twelve models on five harnesses with log-normal costs, and so many runs of each pair."""
    rng = np.random.default_rng(seed)
    model, harness = rng.normal(0, 1.0, 12), rng.normal(0, 0.6, 5)
    true = {
        Route(f"m{i}", f"h{j}"): float(np.exp(model[i] + harness[j] + rng.normal(0, 0.3)))
        for i in range(12)
        for j in range(5)
    }
    noise = rng.lognormal(-(spread**2) / 2, spread, (len(true), runs))
    return true, ran({route: mean * noise[k] for k, (route, mean) in enumerate(true.items())})


def log_error(costs: list[Cost], true: Sequence[float]) -> float:
    return float(np.mean([(np.log(dollars(c)) - np.log(t)) ** 2 for c, t in zip(costs, true, strict=True)]))


@pytest.mark.parametrize("runs", [1, 3])
def test_few_runs_lean_on_model_and_harness(runs: int) -> None:
    for seed in range(3):
        true, data = world(seed, runs)
        routes = list(true)
        plain, shrunk = RouteCosts.fit(data).of_all(routes), ExpectedCosts.fit(data).of_all(routes)
        assert log_error(shrunk, list(true.values())) < 0.8 * log_error(plain, list(true.values()))


def test_many_runs_speak_for_themselves() -> None:
    true, data = world(0, 300)
    for plain, shrunk in zip(
        RouteCosts.fit(data).of_all(list(true)), ExpectedCosts.fit(data).of_all(list(true)), strict=True
    ):
        assert dollars(shrunk) == pytest.approx(dollars(plain), rel=0.03)
        assert shrunk.basis == "route"


def test_what_was_spent_is_what_the_runs_are_expected_to_cost() -> None:
    _, data = world(1, 2)
    costs = ExpectedCosts.fit(data).of_all(data.routes)
    n = np.bincount(data.cells.route)
    assert float(np.array([dollars(c) for c in costs]) @ n) == pytest.approx(float(data.cells.cost.sum()))


@pytest.mark.parametrize(("runs", "hidden"), [(2, False), (10, False), (5, True)])
def test_intervals_hold_what_they_promise(runs: int, hidden: bool) -> None:
    inside = []
    for seed in range(12):
        true, data = world(seed, runs)
        away = [r for k, r in enumerate(data.routes) if k % 4 == seed % 4] if hidden else []
        asked = away or list(true)
        for route, cost in zip(asked, ExpectedCosts.fit(data.withhold(routes=away)).of_all(asked), strict=True):
            assert cost.interval is not None
            assert cost.interval[0] < dollars(cost) < cost.interval[1]
            assert cost.basis == ("model+harness" if hidden else "route")
            inside.append(cost.interval[0] <= true[route] <= cost.interval[1])
    assert 0.82 <= np.mean(inside) <= 0.97


def test_a_pair_never_run_says_so_and_is_less_sure() -> None:
    true, data = world(3, 20)
    away = data.routes[7]
    costs = ExpectedCosts.fit(data.withhold(routes=[away]))
    unrun, run = costs.of_all([away, data.routes[8]])
    assert (unrun.basis, run.basis) == ("model+harness", "route")
    assert true[away] / 3 < dollars(unrun) < true[away] * 3
    widths = [np.log(c.interval[1] / c.interval[0]) for c in (run, unrun) if c.interval is not None]
    assert widths[0] < 0.7 * widths[1]
    assert costs.of(Route("m1", "other")).basis == "model"
    assert costs.of(Route("other", "h1")).basis == "harness"
    assert costs.of(Route("other", "other")) == Cost(None, "unknown")


def test_one_route_keeps_its_mean_and_a_free_one_is_free() -> None:
    assert ExpectedCosts.fit(ran({BIG_A: [3.0, 5.0]})).of(BIG_A).dollars == 4.0
    free = ExpectedCosts.fit(ran({BIG_A: [4.0] * 5, SMALL_A: [0.0] * 5}))
    assert free.of(SMALL_A).dollars == 0.0
    assert dollars(free.of(BIG_A)) > 0.0
    assert ExpectedCosts.fit(Dataset([])).of(BIG_A) == ExpectedCosts().of(BIG_A) == Cost(None, "unknown")
    assert ExpectedCosts.fit(ran({BIG_A: [0.0]})).of(BIG_A).dollars == 0.0


def test_seconds_are_expected_the_same_way() -> None:
    _, data = world(2, 4)
    for cost in ExpectedCosts.fit(data).of_all([*data.routes, Route("m1", "new")]):
        assert cost.seconds == pytest.approx(60 * dollars(cost), rel=1e-6)
        assert cost.seconds_interval is not None
        assert cost.seconds_interval[0] < 60 * dollars(cost) < cost.seconds_interval[1]


def test_observed_runs_move_the_estimate() -> None:
    costs = ExpectedCosts.fit(ran({BIG_A: [4.0] * 10, SMALL_A: [1.0] * 10}))
    costs = costs.after(Outcome(Task("x"), SMALL_B, 1.0, cost=50.0, seconds=9.0))
    first = dollars(costs.of(SMALL_B))
    assert 1.0 < first < 50.0
    assert costs.of(SMALL_B).seconds is not None
    for i in range(60):
        costs = costs.after(Outcome(Task(f"x{i}"), SMALL_B, 1.0, cost=50.0))
    assert first < dollars(costs.of(SMALL_B))
    assert dollars(costs.of(SMALL_B)) == pytest.approx(50.0, rel=0.05)
    before = costs.of(SMALL_B)
    costs = costs.after(Outcome(Task("y"), SMALL_B, None, status=Status.INFRA_ERROR, cost=900.0, seconds=900.0))
    assert costs.of(SMALL_B) == before


def test_tokens_count_where_nothing_else_is_reported() -> None:
    tokens = Outcome(Task("t"), Route("gpt-5", "codex"), 1.0, input_tokens=200_000, output_tokens=10_000)
    both = Outcome(Task("u"), Route("gpt-5", "codex"), 1.0, cost=2.0, token_cost=9.0)
    neither = Outcome(Task("v"), Route("our-own-model", "codex"), 1.0)
    assert [o.cost for o in priced([tokens, both, neither])] == [0.35, 2.0, None]
    costs = ExpectedCosts().after(tokens)
    assert dollars(costs.of(tokens.route)) == pytest.approx(0.35)


# -- what a text says -----------------------------------------------------------------------------------------------


def texts(seed: int, effect: float, tasks: int = 80) -> tuple[Dataset, Floats]:
    """Tasks whose cost goes with the first number of their vectors, on three routes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (tasks, 8)) / np.sqrt(8)
    routes = {BIG_A: 4.0, SMALL_A: 1.0, SMALL_B: 2.0}
    made = [
        Outcome(Task(f"t{i:03}"), r, 1.0, cost=c * float(np.exp(effect * x[i, 0] + rng.normal(0, 0.5))))
        for i in range(tasks)
        for r, c in routes.items()
    ]
    return Dataset(made), x


def test_a_text_that_tells_is_listened_to() -> None:
    data, x = texts(0, effect=2.0)
    costs = ExpectedCosts.fit(data, x)
    factor, seconds = costs.factors(x)
    assert costs.by_text
    assert np.corrcoef(np.log(factor), x[:, 0])[0, 1] > 0.9
    assert factor.mean() == pytest.approx(1.0)
    assert (seconds == 1.0).all()  # no seconds are known
    # A text unlike any in training is taken no further than those were.
    assert costs.factors(100.0 * x)[0].max() == pytest.approx(factor.max())


def test_a_text_that_does_not_tell_has_no_say() -> None:
    listened = [ExpectedCosts.fit(*texts(seed, effect=0.0)).by_text for seed in range(30)]
    assert sum(listened) <= 3
    few, x = texts(0, effect=2.0, tasks=20)
    assert not ExpectedCosts.fit(few, x).by_text
    data, x = texts(0, effect=2.0)
    assert not ExpectedCosts.fit(data, np.zeros_like(x)).by_text
    assert (ExpectedCosts.fit(data).factors(x)[0] == 1.0).all()


def test_many_tasks_and_long_vectors_are_learned_from_a_part() -> None:
    data, x = texts(0, effect=3.0, tasks=400)
    long = np.concatenate([x, np.zeros((len(x), 8192 - 8))], axis=1)  # 128 of the tasks
    assert ExpectedCosts.fit(data, long).by_text


def test_means_of_routes_say_nothing_of_tasks() -> None:
    made = [
        Outcome(Task(f"t{i:03}"), r, 1.0, cost=c, cost_is_route_mean=True)
        for i in range(60)
        for r, c in ((BIG_A, 4.0), (SMALL_A, 1.0))
    ]
    costs = ExpectedCosts.fit(Dataset(made), np.random.default_rng(0).normal(size=(60, 4)))
    assert not costs.by_text
    interval = costs.of(BIG_A).interval
    assert interval is not None
    assert interval[1] > 1.1 * interval[0]  # how far runs vary is not known, so the usual is taken


# -- laws -----------------------------------------------------------------------------------------------------------

CELLS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.none() | st.floats(0, 1e4), st.none() | st.floats(0, 1e5)),
    max_size=20,
)


@settings(max_examples=100)
@given(CELLS)
def test_estimates_are_finite_and_kept_exactly(cells: list[tuple[int, int, float | None, float | None]]) -> None:
    made = [
        Outcome(Task(str(i)), Route(f"m{m}", f"h{h}"), 1.0, cost=c, seconds=s) for i, (m, h, c, s) in enumerate(cells)
    ]
    costs = ExpectedCosts.fit(Dataset(made))
    pool = [Route(f"m{m}", f"h{h}") for m in range(4) for h in range(4)]
    known = costs.of_all(pool)
    assert known == [costs.of(r) for r in pool]
    for cost in known:
        for value, interval in ((cost.dollars, cost.interval), (cost.seconds, cost.seconds_interval)):
            assert (value is None) == (interval is None)
            if value is not None and interval is not None:
                assert 0.0 <= interval[0] <= value <= interval[1] < np.inf
    state = costs.state()
    loaded = ExpectedCosts.from_state(State(state.arrays, json.loads(json.dumps(state.meta))))
    assert loaded.of_all(pool) == known


def test_what_a_text_says_is_kept() -> None:
    data, x = texts(0, effect=2.0)
    costs = ExpectedCosts.fit(data, x)
    state = costs.state()
    loaded = ExpectedCosts.from_state(State(state.arrays, json.loads(json.dumps(state.meta))))
    assert (loaded.factors(x)[0] == costs.factors(x)[0]).all()
    with pytest.raises(ValueError, match=r"variance -1\.0 is not above 0"):
        ExpectedCosts.from_state(State(state.arrays, {**state.meta, "variances": [-1.0, 1.0, 1.0, 1.0]}))
