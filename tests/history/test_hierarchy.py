"""The hierarchical model against textbook conditioning, its gradient, and worlds whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from hmrouter.history.hierarchy import COMMON, Hierarchy, covariance, empirical_logits, learn_variances
from hmrouter.history.terms import TERMS, Point, PointIndex, points_of
from hmrouter.state import Floats
from hmrouter.types import Route

MODELS = ["claude-opus-4-5", "claude-sonnet-4-5", "gpt-5", "gpt-5-mini", "gemini-2-5-pro", "qwen-3-coder-next"]
HARNESSES = ["claude-code", "codex", "openhands", "terminus-2"]
VARIANCES = {term: 0.05 * (i + 1) for i, term in enumerate(TERMS)}


def grid(suites: list[str]) -> list[Point]:
    routes = [Route(m, h) for m in MODELS for h in HARNESSES]
    return [p for suite in suites for p in points_of(routes, [suite] * len(routes))]


def test_what_points_share() -> None:
    a, b = points_of([Route("gpt-5", "codex"), Route("gpt-5-mini", "codex")], ["s", "s"])
    assert [float(PointIndex([b]).shared(t, [a])[0, 0]) for t in ("suite", "vendor", "harness", "model", "pair")] == [
        1,
        1,
        1,
        0,
        0,
    ]
    assert PointIndex([b]).shared("release", [a])[0, 0] == pytest.approx(a.release * b.release)
    other = points_of([Route("gpt-5", "codex")], ["t"])
    assert PointIndex(other).shared("suite_release", [a])[0, 0] == 0.0
    assert PointIndex(other).shared("pair", [a])[0, 0] == 1.0


def test_the_posterior_is_laplace_s() -> None:
    """The mode by a general optimiser, and the covariance by inverting the Hessian there."""
    points, rng = grid(["a", "b"]), np.random.default_rng(1)
    n = rng.integers(5, 60, len(points)).astype(np.float64)
    mean = rng.random(len(points))
    model = Hierarchy(points, n, mean, VARIANCES)
    k = covariance(points, PointIndex(points), VARIANCES)
    inverse = np.linalg.inv(k)

    def loss(theta: Floats) -> tuple[float, Floats]:
        rate = 1.0 / (1.0 + np.exp(-theta))
        value = -(n * (mean * np.log(rate) + (1.0 - mean) * np.log1p(-rate))).sum() + 0.5 * theta @ inverse @ theta
        return float(value), n * (rate - mean) + inverse @ theta

    mode = minimize(loss, np.zeros(len(points)), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x
    expected, reach = model.reach(points)
    assert np.allclose(expected, mode, atol=1e-4)
    rate = 1.0 / (1.0 + np.exp(-mode))
    want = np.linalg.inv(inverse + np.diag(n * rate * (1.0 - rate)))
    assert np.allclose(model.cov_by_reach(points, reach, points, reach), want, atol=1e-4)
    fresh = grid(["new"])
    to = covariance(fresh, PointIndex(points), VARIANCES)
    assert np.allclose(model.reach(fresh)[0], to @ inverse @ mode, atol=1e-4)


def test_the_likelihood_s_gradient() -> None:
    points, rng = grid(["a"])[:9], np.random.default_rng(2)
    z, spread = rng.normal(size=9), np.full(9, 0.3)
    seen: list[tuple[Floats, float, Floats]] = []

    def value(at: Floats) -> float:
        k = (
            np.diag(spread)
            + COMMON
            + sum(v * PointIndex(points).shared(t, points) for t, v in zip(TERMS, np.exp(at), strict=True))
        )
        off = (at + 3.0) / 3.0
        return float(0.5 * z @ np.linalg.solve(k, z) + 0.5 * np.linalg.slogdet(k)[1] + 0.5 * (off**2).sum())

    best = learn_variances(points, z, spread)
    at = np.log([best[t] for t in TERMS])
    assert seen == []
    around = [value(at + step) for step in 0.05 * np.vstack([np.eye(len(at)), -np.eye(len(at))])]
    assert value(at) <= min(around) + 1e-6  # no neighbour is likelier
    assert check_grad(value, lambda x: np.zeros(len(x)), at) < 1e-2


def test_variances_find_what_was_planted() -> None:
    rng = np.random.default_rng(3)
    routes = [Route(f"maker{m}-x{m}", f"h{h}") for m in range(12) for h in range(5)]
    suites = [f"s{i}" for i in range(8)]
    points = [p for s in suites for p in points_of(routes, [s] * len(routes))]
    of_model = {f"maker{m}-x{m}": rng.normal(0, 1.0) for m in range(12)}
    theta = np.array([of_model[p.model] for p in points])
    n = np.full(len(points), 200.0)
    mean = rng.binomial(200, 1.0 / (1.0 + np.exp(-theta))) / 200.0
    z, spread = empirical_logits(n, mean)
    found = learn_variances(points, z, spread)
    by_model = found["model"] + found["vendor"] + found["family"]  # each model is a vendor and a family of its own here
    assert 0.4 < by_model < 2.5
    assert found["harness"] < 0.05
    assert found["pair_on_suite"] < 0.05
    assert found["suite"] < 0.1


def test_a_new_suite_s_level_is_that_of_the_others() -> None:
    points = grid(["a", "b", "c"])
    n = np.full(len(points), 100.0)
    easy, hard = (Hierarchy.fit(points, n, np.full(len(points), rate)) for rate in (0.9, 0.1))
    fresh = grid(["new"])
    assert easy.reach(fresh)[0].mean() > 1.5
    assert hard.reach(fresh)[0].mean() < -1.5
    assert easy.level[1] > 0.0


def test_nothing_known() -> None:
    nothing = Hierarchy.fit([], np.zeros(0), np.zeros(0))
    assert nothing.reach(grid(["new"])[:3])[0].tolist() == [0.0, 0.0, 0.0]
    assert nothing.level[0] == 0.0
