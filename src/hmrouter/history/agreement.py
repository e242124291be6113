"""Leaving out suites that would mislead: those that the others predict worse than no knowledge at all does.

A suite on which routes rank as if at random, or upside down, would make all the others look unreliable. So each is
asked in turn: are its route means likelier given the others' than without them? The one that answers no most clearly
is left out, and the question is put again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hmrouter.history.hierarchy import covariance, empirical_logits
from hmrouter.history.terms import Point, PointIndex
from hmrouter.state import Floats


def disagreeing(points: Sequence[Point], tasks: Floats, mean: Floats, variances: Mapping[str, float]) -> set[str]:
    """Find the suites that the others predict worse than no knowledge does; at least one suite always stays."""
    suites = [p.suite for p in points]
    z, spread = empirical_logits(tasks, mean)
    k = covariance(points, PointIndex(points), variances) + np.diag(spread)
    kept, out = sorted(set(suites)), set[str]()
    while len(kept) > 1:
        gains = {suite: _gain(suite, [i for i, s in enumerate(suites) if s in kept], suites, z, k) for suite in kept}
        worst = min(gains, key=lambda suite: (gains[suite], suite))
        if gains[worst] >= 0.0:
            break
        out.add(worst)
        kept.remove(worst)
    return out


def _gain(suite: str, among: Sequence[int], suites: Sequence[str], z: Floats, k: Floats) -> float:
    """Compute how much likelier the suite's logits are given those of the others, as a difference of log densities."""
    own = [i for i in among if suites[i] == suite]
    others = [i for i in among if suites[i] != suite]
    to = np.linalg.solve(k[np.ix_(others, others)], k[np.ix_(others, own)]).T
    rest = k[np.ix_(own, own)] - to @ k[np.ix_(others, own)]
    return _log_density(z[own] - to @ z[others], rest) - _log_density(z[own], k[np.ix_(own, own)])


def _log_density(off: Floats, cov: Floats) -> float:
    return float(-0.5 * off @ np.linalg.solve(cov, off) - 0.5 * np.linalg.slogdet(cov)[1])
