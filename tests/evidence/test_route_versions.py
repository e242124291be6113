"""A new version of a route borrows from the old one, and its own outcomes soon overrule it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.costs import RouteCosts
from hmrouter.errors import UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.versions import USUAL, date_of_model, release_of, version_weights
from hmrouter.scorers.base import Prediction, Training
from hmrouter.scorers.fixed import Fixed
from hmrouter.scorers.safe import Safe
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

A, B = Route("m0", "h0"), Route("m1", "h1")
START = datetime(2026, 1, 1, tzinfo=UTC)


def interval_of(prediction: Prediction) -> tuple[Floats, Floats]:
    """The interval, of a scorer that gives one."""
    assert prediction.interval is not None
    return prediction.interval


def runs(
    n: int,
    score: float,
    version: str = "",
    *,
    route: Route = A,
    day: int | None = None,
    model: str = "",
    first: int = 0,
) -> list[Outcome]:
    """Outcomes on n tasks, a share of them successes."""
    when = None if day is None else START + timedelta(days=day)
    return [
        Outcome(Task(f"t{i:03}"), route, float(i - first < round(score * n)), cost=1.0 + (version == "2.0"), when=when,
                harness_version=version, model_version=model)
        for i in range(first, first + n)
    ]  # fmt: skip


def fit(outcomes: Sequence[Outcome], old_versions: float | None = USUAL) -> Safe:
    """The default scorer, without texts."""
    data = Dataset(outcomes, old_versions=old_versions)
    return Safe().fit(Training(data, np.zeros((len(data.tasks), 0)), {}))


def rate_of(outcomes: Sequence[Outcome], old_versions: float | None = USUAL) -> tuple[float, float]:
    """The success rate of A before calibration, and the width of its interval."""
    safe = fit(outcomes, old_versions)
    low, high = interval_of(safe.predict(np.zeros((1, 0)), [A]))
    return float(safe.pooled_.effect([A])[0]), float((high - low)[0, 0])


def fades(outcomes: Sequence[Outcome], old_versions: float = USUAL) -> list[float]:
    return [float(f) for f in Dataset(outcomes, old_versions=old_versions).cells.fade]


# -- what it is for -------------------------------------------------------------------------------------------------

OLD = [*runs(200, 0.9, "1.4", day=0), *runs(200, 0.5, "3.0", route=B)]


def test_with_few_outcomes_a_new_version_borrows() -> None:
    new = runs(2, 0.0, "2.0", day=30, first=200)
    alone, _ = rate_of([o for o in (*OLD, *new) if o.harness_version != "1.4"])
    rate, width = rate_of([*OLD, *new])
    as_one, narrow = rate_of([*OLD, *new], old_versions=None)
    assert alone < 0.5 < 0.65 < rate < as_one
    assert width > 1.3 * narrow  # and is less sure than of a route that stayed what it was


def test_its_own_outcomes_soon_overrule_the_old_ones() -> None:
    rates = [rate_of([*OLD, *runs(n, 0.1, "2.0", day=30, first=200)])[0] for n in (0, 10, 20, 40, 80)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 0.8  # nothing was run with a newer version: nothing changes
    assert rates[3] < 0.4
    assert rates[4] < 0.3
    contradicting = [*OLD, *runs(40, 0.1, "2.0", day=30, first=200)]
    best = [fit(contradicting, k).predict(np.zeros((1, 0)), [A, B]).merit.argmax() for k in (USUAL, None)]
    assert best == [1, 0]  # the other route is preferred now
    as_one, _ = rate_of(contradicting, old_versions=None)
    assert as_one > 0.6  # 200 old outcomes against 40


def test_everything_that_weighs_outcomes_follows() -> None:
    new = [*OLD, *runs(30, 0.0, "2.0", day=30, first=200)]
    data = Dataset(new, old_versions=USUAL)
    means = dict(zip(data.routes, data.route_means().tolist(), strict=True))
    assert means[A] < 0.35 < means[B]
    scorer = Fixed().fit(Training(data, np.zeros((len(data.tasks), 0)), {}))
    assert scorer.score(np.zeros((1, 0)), [A, B]).argmax() == 1
    assert 1.5 < (RouteCosts.fit(data).of_all([A])[0].dollars or 0.0) <= 2.0
    assert data.cells.trials.sum() == len(new)  # counts stay counts


# -- the rule -------------------------------------------------------------------------------------------------------


def test_nothing_is_changed_unless_asked_for_and_without_versions() -> None:
    plain = [*runs(9, 0.5), *runs(9, 0.2, route=B)]
    for outcomes, old_versions in ((OLD + runs(5, 0.0, "2.0"), None), (plain, USUAL), (OLD, USUAL), ([], USUAL)):
        assert same(Dataset(outcomes), Dataset(outcomes, old_versions=old_versions))


def test_patches_and_spellings_are_no_new_version() -> None:
    assert fades([*runs(9, 0.5, "v2.0.14"), *runs(9, 0.5, "2.0.60", first=9)]) == [1.0] * 18
    assert fades([*runs(9, 0.5, model="gpt-5"), *runs(9, 0.5, model="openai/gpt-5", first=9)]) == [1.0] * 18
    assert release_of("") == date_of_model("") == ""
    assert release_of("1.2 (codex)") != release_of("1.2 (gemini)")


def test_outcomes_that_tell_no_version_count_in_full() -> None:
    assert fades([*runs(15, 0.5, "1.0"), *runs(2, 0.5, "", first=15), *runs(3, 0.5, "1.1", first=17)]) == [
        *[0.5] * 15, *[1.0] * 5
    ]  # fmt: skip


def test_the_newest_is_by_date_else_by_number() -> None:
    back = [*runs(15, 0.5, "2.0", day=0), *runs(15, 0.5, "1.9", day=9, first=15)]  # rolled back
    assert fades(back) == [0.5] * 15 + [1.0] * 15
    undated = [*runs(15, 0.5, "1.10"), *runs(15, 0.5, "1.9", first=15)]
    assert fades(undated) == [1.0] * 15 + [0.5] * 15
    assert fades([*back, *runs(1, 0.5, "2.0", first=30)])[:15] == [1.0] * 15  # one date is missing


def test_model_and_harness_versions_both_count() -> None:
    both = [*runs(15, 0.5, "1.0", model="m-2025-01-01"), *runs(15, 0.5, "2.0", model="m-20260101", first=15)]
    assert fades(both) == [0.25] * 15 + [1.0] * 15


def test_a_cell_is_as_fresh_as_its_newest_version_and_its_mean_leans_to_it() -> None:
    data = Dataset([*runs(15, 1.0, "1.0"), *runs(15, 0.0, "2.0")], old_versions=USUAL)
    assert data.cells.fade.tolist() == [1.0] * 15
    assert data.cells.score.tolist() == pytest.approx([1 / 3] * 15)


def test_with_a_half_life_both_fade() -> None:
    outcomes = [*runs(15, 1.0, "1.0", day=0), *runs(1, 1.0, "2.0", day=90, first=15)]
    assert Dataset(outcomes, half_life=90, old_versions=USUAL).cells.fade.tolist() == [0.25] * 15 + [1.0]


def test_trials_of_a_task_are_one_outcome() -> None:
    again = [*runs(15, 0.5, "1.0"), *runs(15, 0.5, "1.0"), *runs(1, 0.5, "2.0", first=15)]
    assert fades(again)[0] == 0.5


@pytest.mark.parametrize("wrong", [0.0, -3.0, float("nan"), float("inf")])
def test_a_number_that_makes_no_sense_is_refused(wrong: float) -> None:
    with pytest.raises(UsageError, match="give more than 0, usually 15"):
        Dataset([], old_versions=wrong)


@given(n=st.lists(st.integers(0, 10**6), min_size=1, max_size=6), at_most=st.floats(0.5, 1000))
def test_all_older_versions_together_count_at_most_so_many(n: list[int], at_most: float) -> None:
    left = version_weights(n, at_most)
    assert left[-1] == 1.0
    assert left == sorted(left)
    assert all(0.0 < f <= 1.0 for f in left)
    assert sum(f * m for f, m in zip(left[:-1], n[:-1], strict=True)) <= at_most * (1 + 1e-9)


@given(st.permutations(OLD[:6] + runs(4, 0.5, "2.0", day=3, first=6) + runs(3, 0.5, first=10)))
def test_the_order_of_outcomes_changes_nothing(outcomes: list[Outcome]) -> None:
    want = Dataset(OLD[:6] + runs(4, 0.5, "2.0", day=3, first=6) + runs(3, 0.5, first=10), old_versions=5)
    assert same(want, Dataset(outcomes, old_versions=5))


def test_the_gaussian_step_behind_it() -> None:
    """n outcomes of noise s2, seen through a step of variance v, tell as much as n k / (k + n) of their own."""
    s2, v, n = 0.58, 0.04, 37
    (left, _) = version_weights([n, 1], s2 / v)
    assert left * n / s2 == pytest.approx(1.0 / (s2 / n + v))


def same(a: Dataset, b: Dataset) -> bool:
    """Equal to the last bit."""
    return all(getattr(a.cells, f.name).tobytes() == getattr(b.cells, f.name).tobytes() for f in fields(a.cells))
