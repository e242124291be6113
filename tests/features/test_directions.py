"""Leading directions are those that scikit-learn's randomized SVD finds, and nearly the exact ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array
from sklearn.utils.extmath import randomized_svd

from hmrouter.features.directions import leading_directions


def counts(texts: int, terms: int, seed: int = 0) -> csr_matrix:
    return csr_matrix(random_array((texts, terms), density=0.1, rng=seed, dtype=np.float32))


@pytest.mark.parametrize(("texts", "terms"), [(60, 300), (300, 60), (50, 50), (9, 4), (1, 7), (7, 1)])
def test_directions_are_those_of_scikit_learn(texts: int, terms: int) -> None:
    matrix, k = counts(texts, terms), max(1, min(texts // 3, terms))
    wanted = randomized_svd(matrix, k, n_iter=7, random_state=0)[2].T
    found = leading_directions(matrix, k)
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert np.abs(found - wanted).max() < 1e-4  # float32, and kernels of BLAS that differ in the last bits


def test_directions_hold_nearly_as_much_as_the_exact_ones() -> None:
    matrix = counts(90, 400, seed=1)
    found = leading_directions(matrix, 30)
    exact = np.linalg.svd(matrix.toarray(), full_matrices=False)[1][:30]
    assert np.abs(found.T @ found - np.eye(30)).max() < 1e-4
    assert np.linalg.norm(matrix @ found) ** 2 > 0.995 * (exact**2).sum()


def test_a_matrix_of_zeros_has_directions_too() -> None:
    found = leading_directions(csr_matrix((6, 8), dtype=np.float32), 2)
    assert found.shape == (8, 2)
    assert np.isfinite(found).all()
