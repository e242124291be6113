from __future__ import annotations

import numpy as np
import pytest

from hmrouter.scorers.hm.adam import Adam, Parameters


def test_parameters_are_views_of_one_vector() -> None:
    p = Parameters({"a": (2, 3), "none": (0, 4), "b": (2,)}, np.float32)
    p["a"][:] = 1.0
    p["b"][:] = 2.0
    assert p.flat.tolist() == [1.0] * 6 + [2.0] * 2
    p.flat[:] = 3.0
    assert p["a"].tolist() == [[3.0] * 3] * 2
    assert p["none"].shape == (0, 4)
    assert list(p.items()) == ["a", "none", "b"]
    assert p.flat.dtype == np.float32


def test_steps_follow_the_formula() -> None:
    """Adam as published, with the decay added to the gradient, written out for one number."""
    rng = np.random.default_rng(0)
    adam = Adam(3, np.float64, lr=0.1, weight_decay=0.01, betas=(0.8, 0.95))
    theta = rng.standard_normal(3)
    expected, first, second = theta.copy(), np.zeros(3), np.zeros(3)
    for t in range(1, 6):
        gradient = rng.standard_normal(3)
        adam.step(theta, gradient.copy())
        g = gradient + 0.01 * expected
        first, second = 0.8 * first + 0.2 * g, 0.95 * second + 0.05 * g**2
        expected = expected - 0.1 * (first / (1 - 0.8**t)) / (np.sqrt(second / (1 - 0.95**t)) + 1e-8)
        np.testing.assert_allclose(theta, expected, rtol=1e-12)
    assert adam.steps == 5


def test_finds_the_minimum_of_a_parabola() -> None:
    adam, theta = Adam(2, np.float64, lr=0.05, weight_decay=0.0), np.array([3.0, -2.0])
    for _ in range(2_000):
        adam.step(theta, 2.0 * (theta - np.array([1.0, 5.0])))
    assert theta == pytest.approx([1.0, 5.0], abs=1e-3)
