"""How sure a choice is: the same answer on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.decide.uncertainty import best_and_regret, square_root
from hmrouter.state import Floats


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 8))
def test_the_root_is_the_symmetric_one_of_which_there_is_one(seed: int, n: int, rank: int) -> None:
    factor = np.random.default_rng(seed).standard_normal((n, rank))
    root = square_root(factor @ factor.T)
    assert np.allclose(root, root.T, rtol=0, atol=1e-9)
    assert np.linalg.eigvalsh(root).min() > -1e-6
    assert np.allclose(root @ root, factor @ factor.T, rtol=0, atol=1e-9)


@pytest.mark.parametrize("turned", [np.diag([-1.0, 1.0, -1.0]), np.eye(3)[:, [2, 0, 1]]])
def test_other_eigenvectors_of_a_library_change_nothing(turned: Floats, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs are arbitrary, and of equal eigenvalues the vectors are."""
    mean, cov = np.array([0.6, 0.58, 0.55]), np.full((3, 3), 0.01) + np.diag([0.02, 0.02, 0.02])
    p, regret = best_and_regret(mean, cov, 0)
    values, vectors = np.linalg.eigh(cov)
    monkeypatch.setattr(np.linalg, "eigh", lambda _: (values @ np.abs(turned), vectors @ turned))
    again, same = best_and_regret(mean, cov, 0)
    assert np.array_equal(p, again)
    assert abs(regret - same) < 1e-12
