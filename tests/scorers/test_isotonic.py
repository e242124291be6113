"""Isotonic regression is that of scikit-learn."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from hmrouter.scorers.safe.isotonic import isotonic

values = st.floats(0.0, 1.0).map(lambda v: round(v, 3))


@given(st.lists(st.tuples(values, values), min_size=1, max_size=40))
def test_it_is_that_of_scikit_learn(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    theirs = IsotonicRegression(y_min=0.01, y_max=0.99).fit(x, y)
    ours = isotonic(x, y, 0.01, 0.99)
    asked = np.linspace(x.min(), x.max(), 50)
    # Means over equal predictors are summed in another order, which shows in the last bits.
    assert np.abs(np.interp(asked, *ours.T) - theirs.predict(asked)).max() < 1e-12


def test_it_increases_and_keeps_its_bounds() -> None:
    rng = np.random.default_rng(0)
    x = rng.random(500)
    corners = isotonic(x, (rng.random(500) < x).astype(float), 0.01, 0.99)
    assert (np.diff(corners, axis=0) >= 0).all()
    assert (np.diff(corners[:, 0]) > 0).all()
    assert corners[:, 1].min() >= 0.01
    assert corners[:, 1].max() <= 0.99
