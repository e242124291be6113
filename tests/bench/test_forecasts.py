"""Scores of forecasts against their definitions."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.judge.forecasts import auc, brier, log_loss
from hmrouter.scorers.calibration_error import ece, reliability

probabilities = st.integers(0, 40).map(lambda v: v / 40)
hard = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), probabilities), min_size=1, max_size=25)
soft = st.lists(st.tuples(st.integers(0, 4).map(lambda v: v / 4), probabilities), min_size=1, max_size=25)
Pairs = list[tuple[float, float]]


def apart(pairs: Pairs) -> tuple[list[float], list[float]]:
    """Outcomes and forecasts."""
    return [y for y, _ in pairs], [p for _, p in pairs]


@given(hard)
def test_auc_counts_pairs(pairs: Pairs) -> None:
    up, down = [p for y, p in pairs if y], [p for y, p in pairs if not y]
    found = auc(*apart(pairs))
    if up and down:
        wins = sum((a > b) + 0.5 * (a == b) for a in up for b in down)
        assert found == pytest.approx(wins / (len(up) * len(down)))
    else:
        assert found is None


@given(soft)
def test_a_soft_outcome_is_a_success_and_a_failure_in_part(pairs: Pairs) -> None:
    # score 0.75 counts as three successes and one failure of the same forecast
    parts = [(1.0, p) for y, p in pairs for _ in range(round(4 * y))]
    parts += [(0.0, p) for y, p in pairs for _ in range(4 - round(4 * y))]
    assert auc(*apart(pairs)) == pytest.approx(auc(*apart(parts)))
    assert log_loss(*apart(pairs)) == pytest.approx(log_loss(*apart(parts)))
    assert ece(*apart(pairs)) == pytest.approx(ece(*apart(parts)))


@given(soft)
def test_auc_sees_the_order_alone(pairs: Pairs) -> None:
    y, p = apart(pairs)
    found = auc(y, p)
    assert found == auc(y, [v**3 / 7 for v in p])
    if found is not None:
        assert auc(y, [1.0 - v for v in p]) == pytest.approx(1.0 - found)


@given(soft, probabilities)
def test_the_mean_is_the_best_constant_forecast(pairs: Pairs, other: float) -> None:
    y = np.array([v for v, _ in pairs])
    mean, n = y.mean(), len(y)
    for loss in (brier, log_loss):
        best, worse = loss(y, np.full(n, mean)), loss(y, np.full(n, other))
        assert best is not None
        assert worse is not None
        assert best <= worse + 1e-9
    assert ece(y, np.full(n, mean)) == pytest.approx(0.0, abs=1e-9)


def test_values_by_hand() -> None:
    y, p = [1.0, 0.0, 0.5], [0.8, 0.4, 0.5]
    assert brier(y, p) == pytest.approx((0.04 + 0.16 + 0.0) / 3)
    assert log_loss(y, p) == pytest.approx(-(log(0.8) + log(0.6) + log(0.5)) / 3)
    assert auc([1.0, 0.0], [0.5, 0.5]) == 0.5
    assert log_loss([1.0], [0.0]) == pytest.approx(-log(1e-6))  # sure and wrong: bad, but finite


def test_nothing_has_no_score() -> None:
    assert [f([], []) for f in (auc, log_loss, brier)] == [None] * 3
    assert (ece([], []), reliability([], [])) == (0.0, [])


@given(soft, st.integers(1, 12))
def test_reliability_divides_the_forecasts_into_bins(pairs: Pairs, bins: int) -> None:
    members: dict[int, Pairs] = {}
    for y, p in sorted(pairs, key=lambda pair: pair[1]):
        members.setdefault(min(int(p * bins), bins - 1), []).append((y, p))
    curve = reliability(*apart(pairs), bins)
    assert [n for _, _, n in curve] == [len(m) for m in members.values()]
    for (forecast, outcome, n), own in zip(curve, members.values(), strict=True):
        assert (outcome, forecast) == pytest.approx((sum(y for y, _ in own) / n, sum(p for _, p in own) / n))


@given(soft, st.integers(1, 12))
def test_ece_is_a_gap_and_at_most_the_mean_one(pairs: Pairs, bins: int) -> None:
    y, p = np.array(pairs).T
    found = ece(y, p, bins)
    assert abs(float((y - p).mean())) - 1e-9 <= found <= float(np.abs(y - p).mean()) + 1e-9


def test_the_last_bin_holds_certainty() -> None:
    assert reliability([1.0, 1.0], [1.0, 0.95]) == [(0.975, 1.0, 2)]
