"""Difficulty: scenarios are tied to what a scorer says; attempts fail together as much as in a known world."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.evidence.dataset import Dataset
from hmrouter.logits import sigmoid
from hmrouter.plan.difficulty import Difficulty, passed, passing
from hmrouter.plan.difficulty.model import NO_DATA_SLOPE
from hmrouter.plan.difficulty.tie import tied
from hmrouter.types import EarlierRuns, Outcome, Route, Task

ROUTES = [Route(f"model-{i}", "codex") for i in range(6)]
PROBABILITY = st.floats(0.0, 1.0)


def simulated(ease: np.ndarray, slopes: list[float], runs: int = 1, own: float = 0.0, seed: int = 0) -> Dataset:
    """Outcomes of tasks of known ease, dearer where hard; `own`: sd of what is special to a task on a route."""
    rng = np.random.default_rng(seed)
    outcomes = []
    for i, e in enumerate(ease.tolist()):
        for route, slope in zip(ROUTES, slopes, strict=False):
            p = sigmoid(np.array(slope * e + own * rng.normal()))
            for run in range(runs):
                cost = float(np.exp(-0.3 * e + 0.1 * rng.normal()))
                outcomes.append(Outcome(Task(f"t{i}"), route, float(rng.random() < p), cost=cost, trial=str(run)))
    return Dataset(outcomes)


def both_fail(difficulty: Difficulty, success: np.ndarray) -> float:
    scenarios = difficulty.scenarios(ROUTES[:2])
    p = scenarios.success(success)
    return float((1 - p[0]) * (1 - p[1]) @ scenarios.weights)


@given(st.lists(PROBABILITY, min_size=1, max_size=6), st.lists(st.floats(0.05, 6.0), min_size=6, max_size=6))
def test_scenarios_average_to_what_the_scorer_says(success: list[float], slopes: list[float]) -> None:
    n = len(success)
    difficulty = Difficulty(slopes=dict(zip(ROUTES, slopes, strict=True)))
    scenarios = difficulty.scenarios(ROUTES[:n])
    p = scenarios.success(np.array(success))
    assert p.shape == (n, len(scenarios.weights))
    assert ((p >= 0) & (p <= 1)).all()
    assert p @ scenarios.weights == pytest.approx(success, abs=1e-9)
    assert (np.diff(p.reshape(n, 17, -1), axis=1) >= -1e-12).all()  # an easier task is never solved less


@given(st.lists(st.floats(0.001, 100.0), min_size=1, max_size=6), st.floats(-0.5, 0.5))
def test_costs_average_to_what_is_expected(dollars: list[float], tilt: float) -> None:
    difficulty = Difficulty(tilt=tilt)
    scenarios = difficulty.scenarios(ROUTES[: len(dollars)])
    cost = scenarios.dollars(np.array(dollars))
    assert cost @ scenarios.weights == pytest.approx(dollars)
    assert (cost > 0).all()


def test_many_tasks_at_once_are_the_same_as_one_by_one() -> None:
    success = np.random.default_rng(0).random((5, 3))
    scenarios = Difficulty().scenarios(ROUTES[:3])
    for one, alone in zip(scenarios.success(success), success, strict=True):
        assert one == pytest.approx(scenarios.success(alone), abs=1e-11)  # each ends when all are near enough


def test_failing_together_is_predicted_where_independence_is_far_off() -> None:
    ease = np.random.default_rng(1).normal(0.0, 1.0, 600)
    data = simulated(ease, [4.0] * 6)
    difficulty, means = Difficulty.fit(data), data.route_means()[:2]
    scores = data.matrix().filled(np.nan)
    real = float(((scores[:, 0] == 0) & (scores[:, 1] == 0)).mean())
    independent = float(np.prod(1 - means))
    assert abs(both_fail(difficulty, means) - real) < 0.03
    assert real - independent > 0.1


@pytest.mark.parametrize(("tasks", "routes"), [(1, 6), (3, 6), (4, 6), (10, 4), (19, 2)])
def test_of_a_handful_of_outcomes_no_independence_is_learned(tasks: int, routes: int) -> None:
    data = simulated(np.zeros(tasks), [1.0] * routes)
    few, means = Difficulty.fit(data), np.array([0.6, 0.7])
    assert both_fail(few, means) == both_fail(Difficulty(), means) > 1.4 * float(np.prod(1 - means))
    assert (few.slopes, few.tilt) == ({}, 0.0)
    enough = Difficulty.fit(simulated(np.zeros(30), [1.0]))
    assert set(enough.slopes) == set(ROUTES[:1])


def test_tasks_without_common_difficulty_fail_independently() -> None:
    data = simulated(np.zeros(600), [1.0] * 6)
    difficulty, means = Difficulty.fit(data), data.route_means()[:2]
    assert both_fail(difficulty, means) == pytest.approx(float(np.prod(1 - means)), abs=0.03)


def test_tasks_that_nothing_solves_are_learned() -> None:
    """Half of the tasks are hopeless, the others easy: a normal distribution of difficulty has no such two heaps."""
    ease = np.where(np.arange(400) % 2 == 0, -8.0, 2.0)
    data = simulated(ease, [1.0] * 6)
    difficulty, means = Difficulty.fit(data), data.route_means()
    scenarios = difficulty.scenarios(ROUTES)
    nothing = float(np.prod(1 - scenarios.success(means), axis=0) @ scenarios.weights)
    assert nothing == pytest.approx(0.5, abs=0.04)


def test_a_route_that_depends_more_on_difficulty_has_the_steeper_slope() -> None:
    data = simulated(np.random.default_rng(2).normal(0.0, 1.0, 800), [0.3, 0.3, 1.5, 1.5, 4.0, 4.0])
    slopes = Difficulty.fit(data).slopes
    steps = [slopes[ROUTES[0]] + slopes[ROUTES[1]], slopes[ROUTES[2]] + slopes[ROUTES[3]]]
    steps.append(slopes[ROUTES[4]] + slopes[ROUTES[5]])
    assert all(a < b for a, b in pairwise(steps))


def test_hard_tasks_cost_more_where_they_did() -> None:
    data = simulated(np.random.default_rng(3).normal(0.0, 1.0, 300), [2.0] * 6)
    difficulty = Difficulty.fit(data)
    assert all(tilt < -0.1 for tilt in difficulty.tilts.values())
    cost = difficulty.scenarios(ROUTES[:1]).dollars(np.ones(1))[0]
    assert cost[0] > 1.0 > cost[-1]
    flat = Difficulty.fit(
        Dataset(Outcome(Task(f"t{i}"), ROUTES[0], i % 2, cost=1.0 + i, cost_is_route_mean=True) for i in range(30))
    )
    assert flat.tilt == 0.0


def test_repeated_runs_say_how_much_alike_they_are() -> None:
    ease = np.random.default_rng(4).normal(0.0, 1.0, 300)
    alike = Difficulty.fit(simulated(ease, [1.0] * 6, runs=4, own=3.0))
    fresh = Difficulty.fit(simulated(ease, [1.0] * 6, runs=4, own=0.0))
    assert fresh.likeness < 0.2
    assert alike.likeness > fresh.likeness + 0.2
    assert alike.repeated == set(ROUTES)


def test_a_route_is_not_repeated_without_repeated_runs() -> None:
    ease = np.random.default_rng(5).normal(0.0, 1.0, 60)
    once = Difficulty.fit(simulated(ease, [1.0] * 6))
    assert (once.repeated, once.likeness) == (frozenset(), 1.0)
    few = Difficulty.fit(simulated(ease[:19], [1.0] * 6, runs=2))
    assert few.repeated == frozenset()


def test_soft_scores_pass_at_the_threshold_and_means_of_runs_by_their_share() -> None:
    rows = [("a", 0.4, 1), ("b", 0.5, 1), ("c", 0.9, 1), ("d", 0.4, 5), ("e", 0.0, 0)]
    data = Dataset(Outcome(Task(name), ROUTES[0], score, n_trials=n) for name, score, n in rows)
    assert passed(data.cells).tolist() == [0.0, 1.0, 1.0, 0.4, 0.0]
    assert passed(data.cells, threshold=0.95).tolist() == [0.0, 0.0, 0.0, 0.4, 0.0]
    difficulty = Difficulty.fit(data)
    assert difficulty.lift == pytest.approx(
        np.log((2.4 + 1) / (5 + 2 - 3.4)) - np.log((2.2 + 1) / (5 + 2 - 3.2))
    )  # 2.4 passes and 2.2 points of 5
    assert passing(np.array([0.0, 0.5, 1.0]), difficulty.lift)[[0, 2]].tolist() == [0.0, 1.0]
    assert passing(np.array([0.5]), difficulty.lift)[0] > 0.5


def test_scores_of_zero_and_one_are_passes_as_they_are() -> None:
    difficulty = Difficulty.fit(simulated(np.zeros(30), [1.0] * 6))
    assert difficulty.lift == 0.0
    assert passing(np.array([0.3]), difficulty.lift).tolist() == [0.3]


def test_without_outcomes_tasks_are_as_usual() -> None:
    assert Difficulty.fit(Dataset([], routes=ROUTES)).slope == NO_DATA_SLOPE
    seen = Difficulty.fit(simulated(np.linspace(-2, 2, 40), [1.0] * 5))
    assert ROUTES[5] not in seen.slopes
    assert min(seen.slopes.values()) < seen.slope < max(seen.slopes.values())


def test_equal_outcomes_give_finite_scenarios() -> None:
    for score in (0.0, 1.0):
        difficulty = Difficulty.fit(Dataset(Outcome(Task(f"t{i}"), r, score) for i in range(5) for r in ROUTES))
        p = difficulty.scenarios(ROUTES).success(np.full(6, 0.5))
        assert np.isfinite(p).all()
        assert np.isfinite(list(difficulty.slopes.values())).all()


def test_kept_and_read_back_it_says_the_same() -> None:
    fitted = Difficulty.fit(simulated(np.random.default_rng(6).normal(0.0, 1.0, 50), [1.0] * 6, runs=2))
    again, success = Difficulty.from_state(fitted.state()), np.linspace(0.1, 0.9, 6)
    here, there = fitted.scenarios(ROUTES), again.scenarios(ROUTES)
    assert np.array_equal(there.success(success), here.success(success))
    assert np.array_equal(there.dollars(success), here.dollars(success))
    assert (again.likeness, again.repeated, again.lift) == (fitted.likeness, fitted.repeated, fitted.lift)
    empty = Difficulty.from_state(Difficulty().state())
    assert np.array_equal(empty.scenarios(ROUTES).success(success), Difficulty().scenarios(ROUTES).success(success))


def test_a_second_fit_is_identical_and_does_not_depend_on_the_order_of_outcomes() -> None:
    data = simulated(np.random.default_rng(7).normal(0.0, 1.0, 40), [1.0] * 6)
    one, two = Difficulty.fit(data), Difficulty.fit(data)
    assert one.slopes == two.slopes
    assert np.array_equal(one.weights, two.weights)


def test_what_has_faded_counts_less() -> None:
    data = simulated(np.random.default_rng(8).normal(0.0, 1.0, 60), [2.0] * 6)
    full = Difficulty.fit(data)
    cells = data.cells
    faded = data.keep(np.ones(len(cells), dtype=bool))
    faded.cells.fade[:] = 1e-6
    assert max(abs(s - 1.0) for s in Difficulty.fit(faded).slopes.values()) < 0.01 < abs(full.slope - 1.0)


def test_the_tie_meets_steep_slopes_and_extreme_rates() -> None:
    shape = np.array([[-40.0, 0.0, 40.0]])
    for p in (1e-8, 0.2, 0.5, 1.0 - 1e-8):
        assert float(tied(shape, np.array([0.3, 0.4, 0.3]), np.array([p]))[0] @ [0.3, 0.4, 0.3]) == pytest.approx(p)


GRID = [Route(f"model-{m}", f"harness-{h}") for m in range(3) for h in range(3)]


def suited(model: float, harness: float, tasks: int = 800, seed: int = 0) -> Dataset:
    """Outcomes on a grid of models and harnesses, of tasks that suit some of them; the numbers are sds of logits."""
    rng = np.random.default_rng(seed)
    outcomes = []
    for i in range(tasks):
        ease, of_model, of_harness = rng.normal(), model * rng.normal(size=3), harness * rng.normal(size=3)
        for j, route in enumerate(GRID):
            p = sigmoid(np.array(1.5 * ease + of_model[j // 3] + of_harness[j % 3]))
            outcomes.append(Outcome(Task(f"t{i}"), route, float(rng.random() < p)))
    return Dataset(outcomes)


def after_a_failure(difficulty: Difficulty, success: float = 0.5) -> tuple[float, float, float]:
    """Success of a route with the same model, one with the same harness and one with neither, when the first failed."""
    scenarios = difficulty.scenarios(GRID)
    p = scenarios.success(np.full(len(GRID), success))
    failed = (1.0 - p[0]) * scenarios.weights
    same_model, same_harness, neither = (float(p[j] @ failed / failed.sum()) for j in (1, 3, 4))
    return same_model, same_harness, neither


def test_a_failure_tells_more_of_what_shares_a_model_or_a_harness() -> None:
    data = suited(model=1.5, harness=0.0)
    same_model, same_harness, neither = after_a_failure(Difficulty.fit(data))
    score = np.asarray(data.matrix().filled(np.nan))
    failed = score[:, 0] == 0.0
    assert same_model == pytest.approx(score[failed, 1].mean(), abs=0.06)
    assert neither == pytest.approx(score[failed, 4].mean(), abs=0.06)
    assert same_model < same_harness - 0.05
    assert same_harness == pytest.approx(neither, abs=0.03)
    by_harness = after_a_failure(Difficulty.fit(suited(model=0.0, harness=1.5)))
    assert by_harness[1] < by_harness[0] - 0.05
    alike = after_a_failure(Difficulty.fit(suited(model=0.0, harness=0.0)))
    assert max(alike) - min(alike) < 0.03


def test_earlier_runs_say_how_hard_the_task_is() -> None:
    scenarios = Difficulty(model=0.3, harness=0.3).scenarios(GRID)
    usual = np.full(len(GRID), 0.5)
    before = scenarios.success(usual)
    for score, sign in ((0.0, -1.0), (1.0, 1.0)):
        known = scenarios.given(GRID, usual, [EarlierRuns(GRID[0], 2.0, score)])
        change = before @ known.weights - before @ scenarios.weights
        assert (sign * change > 0.0).all()
        assert sign * change[0] > sign * change[1] > sign * change[4]  # itself, its model's, neither's
    of_family = [EarlierRuns(GRID[0], 2.0, 0.0, like=True)]
    assert scenarios.given(GRID, usual, of_family).weights is scenarios.weights  # another task may be easier
