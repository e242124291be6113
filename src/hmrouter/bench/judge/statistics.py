"""How sure a difference is: intervals for means over splits and over benchmarks, and areas under frontiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from hmrouter.bench.experiments.base import Interval


def split_interval(differences: Sequence[float], n_test: float, n_train: float) -> Interval:
    """95% interval of a mean over random splits of one benchmark.

    Splits share tasks, so their differences are not independent; the variance is corrected for the overlap
    (Nadeau and Bengio 2003): (1 / splits + test / train) instead of 1 / splits.

    >>> split_interval([0.01, 0.03, 0.02], n_test=30, n_train=70).value
    0.02
    """
    from scipy.stats import t

    d = np.asarray(differences, dtype=np.float64)
    mean = float(d.mean())
    if len(d) < 2:
        return Interval(mean, float("-inf"), float("inf"))
    half = float(t.ppf(0.975, len(d) - 1) * np.sqrt((1.0 / len(d) + n_test / n_train) * d.var(ddof=1)))
    return Interval(mean, mean - half, mean + half)


def benchmark_interval(differences: Mapping[str, Sequence[float]], draws: int = 4000, seed: int = 0) -> Interval:
    """95% interval of the mean over benchmarks: benchmarks are drawn with replacement, then splits within each.

    It answers how the mean would come out on other benchmarks like these.

    >>> benchmark_interval({"a": [1.0, 1.0], "b": [3.0]})
    Interval(value=2.0, low=1.0, high=3.0, signed=True)
    """
    groups = [np.asarray(v, dtype=np.float64) for v in differences.values() if len(v)]
    value = float(np.mean([g.mean() for g in groups]))
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(groups), size=(draws, len(groups)))
    drawn = np.empty(chosen.shape)
    for j, group in enumerate(groups):
        here = chosen == j
        drawn[here] = rng.choice(group, size=(int(here.sum()), len(group))).mean(axis=1)
    means = drawn.mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(value, float(low), float(high))


def hull_area(points: Sequence[tuple[float, float]], max_cost: float) -> float:
    """RouterBench's summary of a frontier: area under the non-decreasing convex hull of (cost, accuracy), extended
    flat to `max_cost` and divided by it; below the cheapest point there is nothing.

    >>> hull_area([(1.0, 0.5), (2.0, 0.7)], max_cost=4.0)
    0.5
    """
    hull: list[tuple[float, float]] = []
    for cost, accuracy in sorted(points):
        if cost > max_cost or (hull and accuracy <= hull[-1][1]):
            continue
        while len(hull) >= 2 and _slope(hull[-2], hull[-1]) <= _slope(hull[-2], (cost, accuracy)):
            hull.pop()
        if hull and hull[-1][0] == cost:
            hull.pop()
        hull.append((cost, accuracy))
    if not hull:
        return 0.0
    hull.append((max_cost, hull[-1][1]))
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(hull))
    return area / max_cost


def _slope(a: tuple[float, float], b: tuple[float, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0]) if b[0] > a[0] else float("inf")
