"""Clusters of tasks, and how much each of them says about a new task."""

from __future__ import annotations

import numpy as np

from hmrouter.errors import MissingExtra
from hmrouter.state import Array, Floats

RESTARTS = 10


def unit_rows(x: Floats) -> Floats:
    """Rows of length 1; a row of zeros, a task without a text, stays as it is.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    x = np.asarray(x, dtype=np.float64)
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norm > 0, norm, 1.0))


def cluster(x: Floats, k: int, seed: int) -> tuple[Floats, Array]:
    """k-means over unit vectors: the centres as unit vectors (clusters, dims), and the cluster of each task.

    Small sets get fewer clusters than k: a third of the tasks, at least one, and never more than there are
    different tasks.
    """
    # Rounded, so that vectors which differ in the last bits count as one, as they do inside k-means.
    points = np.round(unit_rows(x), 6)
    k = min(k, max(1, len(points) // 3), len(np.unique(points, axis=0)))
    if not k:
        return np.zeros((0, x.shape[1])), np.zeros(0, dtype=np.int64)
    from threadpoolctl import threadpool_limits

    try:
        from sklearn.cluster import KMeans
    except ImportError as e:
        raise MissingExtra("clustering tasks, as the baseline 'avengers' does,", "bench") from e

    with threadpool_limits(limits=1):  # with several threads the last bits depend on which one is first
        found = KMeans(n_clusters=k, n_init=RESTARTS, random_state=seed).fit(points)
    return unit_rows(found.cluster_centers_), found.labels_.astype(np.int64)


def nearness(x: Floats, centres: Floats, nearest: int, sharpness: float) -> Floats:
    """p = softmax(-sharpness * d) over the nearest clusters by d = 1 - cos, else 0: (tasks, clusters), rows sum to 1.

    To a task without a text all clusters are equally near, and all of them count.

    >>> nearness(np.array([[1.0, 0.0], [0.0, 0.0]]), np.eye(2), nearest=1, sharpness=3.0).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    x = unit_rows(x)
    # Rounded, so that ties are ties however the product was computed; they go to the first cluster.
    distance = np.round(1.0 - x @ centres.T, 9)
    place = np.argsort(np.argsort(distance, axis=1, kind="stable"), axis=1, kind="stable")
    counts = (place < nearest) | ~x.any(axis=1, keepdims=True)
    weight = np.where(counts, np.exp(-sharpness * (distance - distance.min(axis=1, keepdims=True, initial=2.0))), 0.0)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))
