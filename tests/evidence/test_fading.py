"""Old evidence counts less, in cells, in means and in every scorer; without a half-life it counts the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.costs import RouteCosts
from hmrouter.errors import UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.fading import MOST, HalfLife, days_of
from hmrouter.evidence.means import RouteMeans
from hmrouter.scorers.base import Prediction, Scorer, Training
from hmrouter.scorers.component_average import ComponentAverage
from hmrouter.scorers.fixed import Fixed
from hmrouter.scorers.hm import HM
from hmrouter.scorers.knn import KNN
from hmrouter.scorers.safe import Safe
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Status, Task

NOW = datetime(2026, 1, 1, tzinfo=UTC)
A, B = Route("m0", "h0"), Route("m1", "h1")
SCORERS: dict[str, Callable[[], Scorer]] = {
    "safe": Safe,
    "fixed": Fixed,
    "component_average": ComponentAverage,
    "knn": KNN,
    "hm": lambda: HM(epochs=60, lr=1e-2),
}


def interval_of(prediction: Prediction) -> tuple[Floats, Floats]:
    """The interval, of a scorer that gives one."""
    assert prediction.interval is not None
    return prediction.interval


def at(
    days: float | None, score: float | None, route: Route = A, task: str = "t", suite: str = "s", n_trials: int = 1,
    cost: float | None = None,
) -> Outcome:  # fmt: skip
    """An outcome of so many days ago; None: without a date."""
    when = None if days is None else NOW - timedelta(days=days)
    return Outcome(Task(task, suite), route, score, n_trials, cost=cost, when=when)


aged = st.builds(
    at,
    days=st.none() | st.floats(0, 400),
    score=st.floats(0, 1),
    route=st.sampled_from([A, B]),
    task=st.sampled_from(["t", "u", "v"]),
    suite=st.sampled_from(["s", "other"]),
    n_trials=st.integers(0, 4),
    cost=st.none() | st.floats(0, 9),
)
histories = st.lists(aged, max_size=25)
half_lives = st.floats(8, 1000)


def same(a: Dataset, b: Dataset) -> bool:
    """Equal to the last bit."""
    return all(getattr(a.cells, f.name).tobytes() == getattr(b.cells, f.name).tobytes() for f in fields(a.cells))


# -- cells ----------------------------------------------------------------------------------------------------------


def test_after_a_half_life_an_outcome_counts_half() -> None:
    data = Dataset([at(90, 1.0, n_trials=2, cost=1.0), at(0, 0.0, cost=4.0)], half_life=90)
    assert data.cells.score.tolist() == [0.5]
    assert data.cells.cost.tolist() == [2.5]
    assert (data.cells.trials.tolist(), data.cells.weight.tolist()) == ([3], [2.0])
    assert data.cells.fade.tolist() == [1.0]  # as fresh as its newest outcome
    assert data.half_life == {"s": 90.0}


@given(histories, half_lives)
def test_cells_against_a_literal_average(outcomes: list[Outcome], half_life: float) -> None:
    data = Dataset(outcomes, half_life={"s": half_life})
    newest = max((o.when for o in outcomes if o.when), default=NOW)

    def left(o: Outcome) -> float:
        fades = o.when is not None and o.task.suite == "s"
        return 0.5 ** ((newest - o.when) / timedelta(days=half_life)) if fades and o.when else 1.0

    c = data.cells
    for i, (t, r) in enumerate(zip(c.task, c.route, strict=True)):
        cell = [o for o in outcomes if (o.task, o.route) == (data.tasks[t], data.routes[r])]
        weights = [max(o.n_trials, 1) * left(o) for o in cell]
        scores = [o.score or 0.0 for o in cell]
        assert c.score[i] == pytest.approx(np.average(scores, weights=weights), abs=1e-9)
        assert c.weight[i] == pytest.approx(sum(weights))
        assert c.fade[i] == pytest.approx(max(map(left, cell)))
        assert c.trials[i] == sum(o.n_trials for o in cell)


@given(histories, half_lives, st.randoms(use_true_random=False))
def test_the_order_of_arrival_changes_nothing(outcomes: list[Outcome], half_life: float, random: Random) -> None:
    shuffled = random.sample(outcomes, len(outcomes))
    assert same(Dataset(outcomes, half_life=half_life), Dataset(shuffled, half_life=half_life))


@given(histories)
def test_without_a_half_life_dates_change_nothing(outcomes: list[Outcome]) -> None:
    undated = [replace(o, when=None) for o in outcomes]
    data = Dataset(outcomes)
    assert same(data, Dataset(undated))
    assert (data.cells.fade == 1.0).all()
    assert (data.cells.faded, data.half_life) == (None, {})
    for half_life in ({}, {"elsewhere": 3.0}, 7.0):
        assert same(data, Dataset(undated, half_life=half_life))


@given(histories, half_lives)
def test_with_twice_the_half_life_old_evidence_never_counts_less(outcomes: list[Outcome], half_life: float) -> None:
    once, twice = (Dataset(outcomes, half_life=k * half_life).cells for k in (1, 2))
    assert (twice.fade >= once.fade).all()
    assert (twice.weight >= once.weight).all()


@given(st.floats(0, 400), st.floats(0, 400), half_lives)
def test_with_twice_the_half_life_the_older_of_two_has_no_smaller_share(a: float, b: float, half_life: float) -> None:
    old, new = max(a, b), min(a, b)
    shares = [float(Dataset([at(old, 1.0), at(new, 0.0)], half_life=k * half_life).cells.score[0]) for k in (1, 2)]
    assert shares[0] <= shares[1] + 1e-12
    assert shares[1] <= 0.5 + 1e-12


def test_now_is_the_newest_outcome_so_that_what_is_not_fed_does_not_forget() -> None:
    outcomes = [at(400, 1.0), at(310, 0.0, task="u"), at(None, 1.0, task="v")]
    assert Dataset(outcomes, half_life=90).cells.fade.tolist() == [0.5, 1.0, 1.0]
    later = Dataset(outcomes, half_life=90, now=NOW - timedelta(days=220))
    assert later.cells.fade.tolist() == [0.25, 0.5, 1.0]
    earlier = Dataset(outcomes, half_life=90, now=NOW - timedelta(days=999))
    assert earlier.cells.fade.tolist() == [1.0, 1.0, 1.0]  # the future counts in full


def test_an_outcome_without_a_verdict_does_not_make_the_others_older() -> None:
    silent = Outcome(Task("t", "s"), A, None, status=Status.UNKNOWN, when=NOW + timedelta(days=90))
    assert Dataset([at(0, 1.0), silent], half_life=90).cells.fade.tolist() == [1.0]


def test_zones_are_one_time_and_none_is_utc() -> None:
    east = datetime(2026, 1, 1, 3, tzinfo=timezone(timedelta(hours=3)))
    assert days_of(east) == days_of(NOW) == days_of(NOW.replace(tzinfo=None)) == 20_454.0
    assert math.isnan(days_of(None))


def test_however_old_there_is_a_mean() -> None:
    data = Dataset([at(7e5, 0.25), at(6e5, 0.75), at(0, 1.0, B)], half_life=0.001)
    assert data.cells.score.tolist() == [0.5, 1.0]
    assert data.cells.fade.tolist() == [2.0**-MOST, 1.0]
    assert RouteMeans.of(data).all() == {A: 0.5, B: 1.0}
    for make in SCORERS.values():
        assert np.isfinite(fit(make, data).score(np.eye(2), [A, B])).all()


@pytest.mark.parametrize("half_life", [0, -1.0, math.nan, math.inf, {"s": 0.0}, {"elsewhere": -3}])
def test_a_half_life_is_a_number_of_days(half_life: HalfLife) -> None:
    with pytest.raises(UsageError, match="is not a number of days; give more than 0"):
        Dataset([at(0, 1.0)], half_life=half_life)


def test_parts_fade_as_the_whole() -> None:
    outcomes = [at(90, 1.0, suite="s"), at(90, 1.0, suite="other"), at(0, 0.0, B, suite="s")]
    data = Dataset(outcomes, half_life={"s": 90, "other": 30, "third": 9})
    assert data.half_life == {"other": 30.0, "s": 90.0}
    part = data.restrict(suites=["other"])
    assert (part.cells.fade.tolist(), part.half_life) == ([0.125], {"other": 30.0})
    kept = data.keep(data.cells.score == 1.0)
    assert (kept.cells.fade.tolist(), kept.half_life) == ([0.125, 0.5], data.half_life)


# -- means ----------------------------------------------------------------------------------------------------------


def test_means_are_weighted_by_what_is_left() -> None:
    outcomes = [at(90, 1.0, task="t", cost=3.0), at(0, 0.0, task="u", cost=9.0), at(0, 1.0, B, task="u")]
    data = Dataset(outcomes, half_life=90)
    assert RouteMeans.of(data).all() == {A: pytest.approx(1 / 3), B: 1.0}
    assert RouteMeans.of(data).overall(0.5) == pytest.approx(1.5 / 2.5)
    assert data.route_means().tolist() == pytest.approx([1 / 3, 1.0])
    assert RouteCosts.fit(data).of(A).dollars == pytest.approx(7.0)
    fixed = fit(Fixed, data)
    fixed.observe(at(0, 1.0, task="new"), np.zeros(2))
    assert (fixed.success(np.zeros((1, 2)), [A])[0, 0] - 0.005) / 0.99 == pytest.approx(1.5 / 2.5)


# -- scorers --------------------------------------------------------------------------------------------------------


def fit(make: Callable[[], Scorer], data: Dataset) -> Scorer:
    x = np.tile(np.eye(2), (len(data.tasks), 1))[: len(data.tasks)]
    return make().fit(Training(data, x, {h: np.ones(2) for h in data.harnesses}))


def reversal(new: int) -> list[Outcome]:
    """A year ago the one route was right on 60 tasks, and of late the other is, on fewer."""
    old = [at(360, float(r == A), r, f"old{i:02}") for i in range(60) for r in (A, B)]
    return old + [at(i % 5, float(r == B), r, f"new{i:02}") for i in range(new) for r in (A, B)]


@pytest.mark.parametrize("name", SCORERS)
def test_old_evidence_is_overruled_by_new_that_contradicts_it(name: str) -> None:
    outcomes, x = reversal(12), np.eye(2)
    fading = fit(SCORERS[name], Dataset(outcomes, half_life=30)).predict(x, [A, B]).merit
    plain = fit(SCORERS[name], Dataset(outcomes)).predict(x, [A, B]).merit
    assert (plain[:, 0] > plain[:, 1]).all()
    assert (fading[:, 1] > fading[:, 0]).all()


@pytest.mark.parametrize("name", SCORERS)
def test_without_a_half_life_when_it_was_does_not_matter(name: str) -> None:
    outcomes, x = reversal(12), np.eye(2)
    dates = [o.when for o in outcomes]
    swapped = [replace(o, when=when) for o, when in zip(outcomes[::-1], dates, strict=True)]
    scores = [fit(SCORERS[name], Dataset(some)).score(x, [A, B]) for some in (outcomes, swapped)]
    assert np.array_equal(scores[0], scores[1])


@pytest.mark.parametrize("name", SCORERS)
def test_a_scorer_goes_on_after_loading_with_what_has_faded(name: str) -> None:
    scorer = fit(SCORERS[name], Dataset(reversal(8), half_life=90))
    loaded = type(scorer).from_state(scorer.state())
    for i in range(30):
        news = at(0, float(i % 3 == 0), (A, B)[i % 2], f"old{i % 7:02}")
        for each in (scorer, loaded):
            each.observe(news, np.eye(2)[i % 2])
        if i % 10 == 9:
            loaded = type(scorer).from_state(loaded.state())
    assert np.array_equal(scorer.score(np.eye(2), [A, B]), loaded.score(np.eye(2), [A, B]))


def test_faded_evidence_leaves_wider_intervals() -> None:
    outcomes = [at(i, float(i % 2), task=f"t{i:02}") for i in range(40)]
    widths = []
    for half_life in (None, 100.0, 10.0, 1.0):
        low, high = interval_of(fit(Safe, Dataset(outcomes, half_life=half_life)).predict(np.zeros((1, 2)), [A]))
        widths.append(float(np.max(high - low)))
    assert widths == sorted(set(widths))


def test_what_is_promised_is_measured_on_recent_outcomes() -> None:
    outcomes = reversal(40)
    assert fit(Safe, Dataset(outcomes)).reliability()["cells"] == 200
    fading = fit(Safe, Dataset(outcomes, half_life=30))
    assert fading.reliability()["cells"] == 80
    good, bad = fading.success(np.zeros((1, 2)), [B, A])[0]
    assert good > 0.9
    assert bad < 0.1


def test_the_loss_of_hm_weighs_each_cell_by_what_is_left() -> None:
    """One step over everything, without noise: the loss that it began with, by hand."""
    data = Dataset(reversal(8), half_life=90)
    begin = partial(HM, batch_tasks=999, noise=0.0, dtype="float64")
    start, step = (fit(partial(begin, epochs=epochs), data) for epochs in (0, 1))
    p = start.success(np.tile(np.eye(2), (len(data.tasks), 1))[: len(data.tasks)], data.routes)
    p, y = p[data.cells.task, data.cells.route], data.cells.score
    losses = -(y * np.log(p) + (1 - y) * np.log1p(-p))
    assert isinstance(step, HM)
    assert step.loss_ == [pytest.approx(np.average(losses, weights=data.cells.fade), rel=1e-9)]
    assert step.loss_ != [pytest.approx(losses.mean(), rel=1e-3)]
