"""The leading right singular vectors of a sparse matrix, by random projections and power iterations.

The method is that of Halko, Martinsson and Tropp (2011), section 5, as scikit-learn's `randomized_svd` runs it: seeded,
so that the same texts give the same vectors, each with the sign that makes its strongest text positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MORE = 10
"""Random directions beside those that are wanted."""
ROUNDS = 7
"""Power iterations."""


def leading_directions(matrix: Any, k: int) -> NDArray[np.float32]:
    """Find the first k right singular vectors of a sparse matrix (texts, terms), as columns: (terms, k)."""
    from scipy.linalg import lu, qr, svd

    wide = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T if wide else matrix  # the projections are then short
    q = np.random.RandomState(0).normal(size=(tall.shape[1], k + MORE)).astype(np.float32)
    for _ in range(ROUNDS):
        q = lu(tall @ q, permute_l=True, check_finite=False)[0]
        q = lu(tall.T @ q, permute_l=True, check_finite=False)[0]
    q = qr(tall @ q, mode="economic", check_finite=False)[0]
    left, _, right = svd(q.T @ tall, full_matrices=False)
    of_texts, of_terms = (right.T, q @ left) if wide else (q @ left, right.T)
    strongest = of_texts[np.abs(of_texts).argmax(axis=0), np.arange(of_texts.shape[1])]
    return np.ascontiguousarray((of_terms * np.where(strongest < 0.0, -1.0, 1.0))[:, :k], dtype=np.float32)
