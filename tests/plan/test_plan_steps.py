"""What attempts do, against simulated runs and checks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.errors import UsageError
from hmrouter.plan import VerifierErrors
from hmrouter.plan.steps import Steps

SHARE = st.floats(0.0, 0.49)


@given(SHARE, SHARE, st.floats(0.0, 1.0))
def test_an_attempt_delivers_or_goes_on(a: float, b: float, p: float) -> None:
    steps = Steps.of(np.ones(1), np.array([[p]]), np.ones((1, 1)), VerifierErrors(a, b))
    assert steps.delivers.item() == pytest.approx((1 - b) * p, abs=1e-12)
    assert steps.goes_on.item() == pytest.approx(b * p + (1 - a) * (1 - p), abs=1e-12)


@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=2), SHARE, SHARE, st.floats(0.0, 1.0))
def test_nothing_is_lost_or_gained_on_the_way(p: list[float], a: float, b: float, likeness: float) -> None:
    """Delivered right, delivered wrong and going on are all that can happen, also the second and the third time."""
    steps = Steps.of(
        np.ones(1), np.array(p)[:, None], np.ones((2, 1)), VerifierErrors(a, b), np.array([3, 1]), likeness
    )
    success = steps.delivers / (1 - b)
    assert steps.delivers + a * (1 - success) + steps.goes_on == pytest.approx(np.ones((3, 2, 1)))
    # A failed check never speaks for the route. What is left after two of them is divided by its small probability.
    assert (np.diff(success[:, 0, 0]) <= 1e-8).all()


@pytest.mark.parametrize("likeness", [0.1, 0.5])
@pytest.mark.parametrize("verifier", [VerifierErrors(), VerifierErrors(0.2, 0.1)])
def test_trying_again_comes_out_as_simulated(likeness: float, verifier: VerifierErrors) -> None:
    mean, n, rng = 0.4, 400_000, np.random.default_rng(0)
    strength = (1 - likeness) / likeness
    own = rng.beta(mean * strength, (1 - mean) * strength, n)
    going, delivered = np.ones(n, dtype=bool), []
    for _ in range(3):
        right = rng.random(n) < own
        passes = np.where(right, rng.random(n) >= verifier.false_fail, rng.random(n) < verifier.false_pass)
        delivered.append((going & right & passes).mean())
        going &= ~passes
    steps = Steps.of(np.ones(1), np.array([[mean]]), np.ones((1, 1)), verifier, np.array([3]), likeness)
    expected = np.diff([0.0, *(prefix.success for prefix in steps.prefixes([0, 0, 0]))])
    assert expected == pytest.approx(delivered, abs=0.003)


def test_prefixes_add_up_what_is_reached() -> None:
    weights, success = np.array([0.25, 0.75]), np.array([[0.2, 0.8], [0.5, 1.0]])
    steps = Steps.of(weights, success, np.array([[1.0, 2.0], [10.0, 20.0]]))
    first, second = steps.prefixes([0, 1])
    assert (first.reached, first.success, first.cost) == pytest.approx((1.0, 0.65, 1.75))
    missed = weights * [0.8, 0.2]
    assert (second.reached, second.success) == pytest.approx((missed.sum(), 0.65 + missed @ [0.5, 1.0]))
    assert second.cost == pytest.approx(1.75 + missed @ [10.0, 20.0])


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1.0, 0.0), (0.7, 0.9)])
def test_a_verifier_that_is_a_coin_is_refused(a: float, b: float) -> None:
    with pytest.raises(UsageError, match=r"no more than a coin: their sum must be below 1"):
        VerifierErrors(a, b)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_shares_are_shares(share: float) -> None:
    with pytest.raises(UsageError, match="is not a share from 0 to 1"):
        VerifierErrors(false_pass=share)
    with pytest.raises(UsageError, match="false_fail"):
        VerifierErrors(false_fail=share)
