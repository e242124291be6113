"""The map from raw predictions to probabilities: chosen only where it pays, and never changing a rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from hmrouter.scorers.safe.calibration import FLOOR, Calibration
from hmrouter.state import Floats, State

Truth = Callable[[Floats], Floats]


def identity(raw: Floats) -> Floats:
    return raw


def too_timid(raw: Floats) -> Floats:
    """The truth is further from the middle than the prediction, and lower."""
    return np.asarray(1.0 / (1.0 + np.exp(0.7 - 2.5 * np.log(raw / (1.0 - raw)))))


def steps(raw: Floats) -> Floats:
    return np.where(raw < 0.45, 0.1, np.where(raw < 0.6, 0.4, 0.95))


def sample(truth: Truth, seed: int, n_tasks: int = 200, n_routes: int = 6) -> tuple[Floats, Floats, Floats]:
    """Raw predictions, outcomes with the probability truth(raw), correlated within a task, and the task of each."""
    rng = np.random.default_rng(seed)
    raw = rng.normal(0.5, 0.08, n_routes)[None, :] + rng.normal(0.0, 0.12, n_tasks)[:, None]
    raw = np.clip(raw, 0.02, 0.98)
    z = np.sqrt(0.4) * rng.standard_normal((n_tasks, 1)) + np.sqrt(0.6) * rng.standard_normal(raw.shape)
    y = (norm.cdf(z) < truth(raw)).astype(np.float64)
    return raw.ravel(), y.ravel(), np.repeat(np.arange(n_tasks), n_routes)


def log_loss(p: Floats, y: Floats) -> float:
    return float(-(y * np.log(p) + (1 - y) * np.log1p(-p)).mean())


def test_what_is_calibrated_is_left_alone() -> None:
    kinds = Counter(Calibration.choose(*sample(identity, seed)).kind for seed in range(100))
    assert kinds["none"] >= 95


@pytest.mark.parametrize(("truth", "kind"), [(too_timid, "platt"), (steps, "isotonic")])
def test_a_distortion_is_undone(truth: Truth, kind: str) -> None:
    chosen = [Calibration.choose(*sample(truth, seed)) for seed in range(20)]
    assert Counter(c.kind for c in chosen)[kind] >= 17
    for seed, calibration in enumerate(chosen):
        raw, y, _ = sample(truth, seed + 1000, n_tasks=5000)
        assert log_loss(calibration(raw), y) < log_loss(raw, y) - 0.01
        assert np.abs(calibration(raw) - truth(raw)).mean() < 0.5 * np.abs(raw - truth(raw)).mean()


def test_the_reported_error_is_the_gap_on_held_out_tasks() -> None:
    def ece(p: Floats, y: Floats) -> float:
        bins = (p * 10).astype(int)
        return sum(abs(float((p - y)[bins == b].sum())) for b in range(10)) / len(y)

    raw, y, task = sample(identity, 0)
    plain = Calibration.choose(raw, y, task)
    assert (plain.kind, plain.cells) == ("none", 1200)
    assert plain.ece == pytest.approx(ece(raw, y))
    raw, y, task = sample(steps, 0)
    mapped = Calibration.choose(raw, y, task)
    assert mapped.kind == "isotonic"
    # A map has seen the outcomes that it was fitted on: its error there is too good.
    assert ece(mapped(raw), y) < mapped.ece < 0.3 * ece(raw, y)


@pytest.mark.parametrize("y", [np.ones(400), np.zeros(400), np.full(400, 0.5)])
def test_equal_outcomes_teach_no_map(y: Floats) -> None:
    raw = np.linspace(0.2, 0.8, 400)
    calibration = Calibration.choose(raw, y, np.arange(400) // 4)
    assert calibration.kind == "none"
    assert calibration.cells == 400


@pytest.mark.parametrize(("n_tasks", "n_routes"), [(0, 4), (1, 4), (9, 40), (16, 3)])
def test_little_evidence_teaches_no_map(n_tasks: int, n_routes: int) -> None:
    raw, y, task = sample(too_timid, 0, n_tasks, n_routes)
    calibration = Calibration.choose(raw, y, task)
    assert calibration.kind == "none"
    assert calibration.cells == n_tasks * n_routes


def test_the_names_of_the_groups_do_not_matter() -> None:
    raw, y, task = sample(too_timid, 0)
    a, b = Calibration.choose(raw, y, task), Calibration.choose(raw, y, task * 7 + 1000)
    assert a.kind == b.kind
    assert np.array_equal(a.values, b.values)


finite = st.floats(-3, 4)


@st.composite
def fitted(draw: st.DrawFn) -> Calibration:
    n = draw(st.integers(1, 30))
    raw = np.array(draw(st.lists(finite, min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)), min_size=n, max_size=n)))
    return Calibration.fit(draw(st.sampled_from(["none", "platt", "isotonic"])), raw, y)


@settings(max_examples=500)
@given(fitted(), st.lists(finite.map(lambda v: round(v, 6)), min_size=2, max_size=20, unique=True))
def test_every_map_is_strictly_increasing_and_inside(calibration: Calibration, raw: list[float]) -> None:
    p = calibration(np.array(sorted(raw)))
    assert (np.diff(p) > 0).all()
    assert (p > FLOOR / 4).all()
    assert (p < 1 - FLOOR / 4).all()


@given(fitted(), st.lists(finite, min_size=4, max_size=4))
def test_a_matrix_is_mapped_cell_by_cell_and_a_saved_map_is_exact(calibration: Calibration, raw: list[float]) -> None:
    state = calibration.state()
    loaded = Calibration.from_state(State(state.arrays, state.meta))
    matrix = np.array(raw).reshape(2, 2)
    assert np.array_equal(loaded(matrix).ravel(), calibration(np.array(raw)))
    assert (loaded.kind, loaded.cells, loaded.ece) == (calibration.kind, calibration.cells, calibration.ece)


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.integers(1, 200))
def test_platt_is_the_penalised_maximum_likelihood(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    raw, y = rng.uniform(0.01, 0.99, n), rng.integers(0, 2, n).astype(np.float64)
    y = np.maximum(y, raw > 0.7)  # increasing, so that the bound on the slope is away
    z = np.log(raw) - np.log1p(-raw)

    def objective(theta: Floats) -> float:
        t = theta[0] * z + theta[1]
        return float((np.logaddexp(0, t) - y * t).sum() + ((theta[0] - 1) ** 2 + theta[1] ** 2) / 2)

    best = minimize(objective, [1.0, 0.0], method="BFGS")
    slope, intercept = Calibration.fit("platt", raw, y).values
    assert slope >= 0.05
    if slope > 0.05:
        assert objective(np.array([slope, intercept])) <= best.fun + 1e-6
