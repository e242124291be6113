"""What the scorers without a network predict, on data small enough to do by hand. Their laws: tests/test_checks.py."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.errors import EmbedderMismatch, NotFitted
from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Scorer, Training, logit_of_mean, sigmoid
from hmrouter.scorers.component_average import ComponentAverage
from hmrouter.scorers.fixed import Fixed
from hmrouter.scorers.knn import KNN
from hmrouter.scorers.random_choice import Random
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route, Task

BIG_A, BIG_B = Route("big", "a"), Route("big", "b")
SMALL_A, SMALL_B = Route("small", "a"), Route("small", "b")
NEVER = Route("never", "run")
# On t0 and t1 (east) big wins, on t2 and t3 (north) small does.
SCORES = {
    BIG_A: {"t0": 1.0, "t1": 1.0, "t2": 0.0, "t3": 0.0},
    SMALL_A: {"t0": 0.0, "t1": 0.0, "t2": 1.0},
    SMALL_B: {"t3": 1.0},
}
EAST, NORTH = [1.0, 0.0], [0.0, 1.0]
X = np.array([EAST, [0.9, 0.1], [0.1, 0.9], NORTH])


def training() -> Training:
    data = Dataset([Outcome(Task(t), r, s) for r, cells in SCORES.items() for t, s in cells.items()])
    assert [t.id for t in data.tasks] == ["t0", "t1", "t2", "t3"]
    return Training(data, X, {})


def means(scorer: Scorer, routes: list[Route], x: list[float] | None = None) -> list[float]:
    """The scores of one task as the means that they are the squeezed logits of."""
    p = scorer.success(np.array([x or EAST]), routes)[0]
    return [round(float(v), 6) for v in (p - 0.005) / 0.99]


# -- base -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_logits_keep_the_order_and_sigmoid_undoes_them(pair: list[float]) -> None:
    low, high = logit_of_mean(np.array(sorted(pair)))
    assert low <= high
    assert np.isfinite([low, high]).all()
    assert np.allclose((sigmoid(np.array([low, high])) - 0.005) / 0.99, sorted(pair))


@given(st.floats(allow_nan=False))
def test_sigmoid_is_a_probability_without_a_warning(score: float) -> None:
    p = float(sigmoid(np.array(score)))
    assert 0.0 <= p <= 1.0
    assert float(sigmoid(np.array(-score))) == pytest.approx(1 - p)


class Minimal(Scorer):
    """What a plug-in author has to write at least."""

    name = "minimal"

    def fit(self, training: Training) -> Minimal:
        self.report_progress(1, 2)
        self.report_progress(2, 2)
        self.fitted_ = 0.0
        return self

    def score(self, x: Floats, routes: list[Route]) -> Floats:  # type: ignore[override]
        return np.full((len(x), len(routes)), self._require_fitted("fitted_"))

    def state(self) -> State:
        return State()

    @classmethod
    def from_state(cls, state: State) -> Minimal:
        return cls()


def test_what_the_contract_gives_for_free() -> None:
    scorer, seen = Minimal(), []
    with pytest.raises(NotFitted, match="the scorer 'minimal' is not fitted; call fit first"):
        scorer.success(X, [BIG_A])
    scorer.fit(training())  # nobody watches
    scorer.progress = lambda done, total: seen.append((done, total))
    scorer.fit(training())
    assert seen == [(1, 2), (2, 2)]
    assert scorer.success(X, [BIG_A]).tolist() == [[0.5]] * 4
    scorer.observe(Outcome(Task("t"), BIG_A, 1.0), X[0])
    scorer.describe("a", X[0])


# -- fixed ----------------------------------------------------------------------------------------------------------


def test_fixed_gives_the_mean_of_each_route() -> None:
    fixed = Fixed().fit(training())
    assert means(fixed, [BIG_A, SMALL_A, SMALL_B]) == pytest.approx([0.5, 1 / 3, 1.0], abs=1e-6)
    scores = fixed.score(X, [BIG_A, SMALL_A, SMALL_B])
    assert (scores == scores[0]).all()


def test_fixed_puts_what_was_never_run_just_below_the_worst() -> None:
    worst, never, also_never = Fixed().fit(training()).score(X[:1], [SMALL_A, NEVER, BIG_B])[0]
    assert worst - 0.01 < never == also_never < worst


def test_fixed_learns_from_what_it_observes() -> None:
    fixed = Fixed().fit(training())
    fixed.observe(Outcome(Task("new"), SMALL_A, 1.0), X[0])
    assert means(fixed, [SMALL_A]) == [0.5]


# -- component average ----------------------------------------------------------------------------------------------


def test_component_average_is_the_mean_of_two_means() -> None:
    scorer = ComponentAverage().fit(training())
    big, small, a, b, overall = 2 / 4, 2 / 4, 3 / 7, 1 / 1, 4 / 8
    want = {
        BIG_A: (big + a) / 2,
        SMALL_A: (small + a) / 2,
        BIG_B: (big + b) / 2,  # a pair that was never run
        Route("new", "a"): (overall + a) / 2,
        Route("small", "new"): (small + overall) / 2,
        NEVER: overall,
    }
    assert means(scorer, list(want)) == pytest.approx(list(want.values()), abs=1e-6)


# -- kNN ------------------------------------------------------------------------------------------------------------


def test_knn_looks_at_the_nearest_tasks() -> None:
    knn = KNN(k=2).fit(training())
    assert means(knn, [BIG_A, SMALL_A], EAST) == [1.0, 0.0]
    assert means(knn, [BIG_A, SMALL_A, SMALL_B], NORTH) == [0.0, 1.0, 1.0]


def test_knn_weighs_the_nearest_tasks_by_what_is_left_of_them() -> None:
    now = datetime(2026, 1, 1)
    scores = {"t0": (0, 1.0), "t1": (90, 0.0), "t2": (180, 0.0), "t3": (0, 1.0)}
    outcomes = [Outcome(Task(t), BIG_A, s, when=now - timedelta(days=days)) for t, (days, s) in scores.items()]
    knn = KNN(k=2).fit(Training(Dataset(outcomes, half_life=90), X, {}))
    assert means(knn, [BIG_A], EAST) == [round(1 / 1.5, 6)]
    assert means(knn, [BIG_A], NORTH) == [0.8]
    assert means(knn, [BIG_A, NEVER], [0.0, 0.0]) == [round(2 / 2.75, 6)] * 2  # no text: the mean of all
    knn.observe(Outcome(Task("t1"), BIG_A, 0.0), X[1])
    assert means(knn, [BIG_A], EAST) == [0.5]


def test_knn_ignores_length() -> None:
    knn = KNN(k=2).fit(training())
    assert means(knn, [BIG_A], [1e-3, 0.0]) == means(knn, [BIG_A], [1e3, 0.0])


def test_knn_falls_back_to_the_route_and_then_to_all() -> None:
    knn = KNN(k=2).fit(training())
    # SMALL_B was run on no eastern task, NEVER on none; without a text there are no neighbours.
    assert means(knn, [SMALL_B, NEVER], EAST) == [1.0, 0.5]
    assert means(knn, [BIG_A, SMALL_A, NEVER], [0.0, 0.0]) == pytest.approx([0.5, 1 / 3, 0.5], abs=1e-6)


def test_knn_shrinks_to_the_mean_of_the_route() -> None:
    knn = KNN(k=2, shrink=2.0).fit(training())
    assert means(knn, [BIG_A], EAST) == [(2 * 1.0 + 2.0 * 0.5) / 4]
    assert means(knn, [SMALL_B], EAST) == [1.0]


def test_knn_with_more_neighbours_than_tasks_is_the_mean() -> None:
    assert means(KNN(k=40).fit(training()), [BIG_A, SMALL_A], EAST) == pytest.approx([0.5, 1 / 3], abs=1e-6)


def test_knn_ties_go_to_the_first_task() -> None:
    data = Dataset([Outcome(Task(f"t{i}"), BIG_A, float(i == 0)) for i in range(5)])
    assert means(KNN(k=1).fit(Training(data, np.tile(EAST, (5, 1)), {})), [BIG_A], EAST) == [1.0]


def test_knn_observes_new_tasks_and_new_routes() -> None:
    knn = KNN(k=1).fit(training())
    south_west = np.array([-1.0, -1.0])
    knn.observe(Outcome(Task("new"), NEVER, 1.0), south_west)
    knn.observe(Outcome(Task("new"), BIG_A, 1.0), south_west)
    knn.observe(Outcome(Task("new"), BIG_A, 0.0), south_west)
    assert means(knn, [NEVER, BIG_A], south_west.tolist()) == [1.0, 0.5]
    assert means(knn, [BIG_A], EAST) == [1.0]  # the old neighbours are as they were


def test_knn_refuses_vectors_of_another_embedder() -> None:
    with pytest.raises(EmbedderMismatch, match="task vectors have 3 dims, but this scorer was fitted on 2"):
        KNN().fit(training()).score(np.zeros((1, 3)), [BIG_A])


def test_knn_without_tasks() -> None:
    knn = KNN().fit(Training(Dataset([]), np.zeros((0, 2)), {}))
    assert means(knn, [BIG_A]) == [0.5]


# -- random ---------------------------------------------------------------------------------------------------------


def test_random_is_uniform_over_tasks_and_says_the_overall_mean() -> None:
    routes = [BIG_A, BIG_B, SMALL_A, SMALL_B]
    random = Random().fit(training())
    x = np.random.default_rng(0).standard_normal((2000, 2))
    chosen = np.bincount(random.score(x, routes).argmax(axis=1), minlength=4)
    # 500 each, standard deviation 19: seeded, so this is one fixed draw
    assert (np.abs(chosen - 500) < 80).all()
    assert np.allclose(random.success(x, routes), 0.5, atol=1e-5)


def test_random_depends_on_the_seed() -> None:
    x = np.random.default_rng(0).standard_normal((50, 2))
    first, second = (Random(seed).fit(training()).score(x, [BIG_A, BIG_B]).argmax(axis=1) for seed in (0, 1))
    assert 5 < (first != second).sum() < 45
