"""What is asked of the next executions: the best pair, the frontier of cost and success, or one pair's success rate.

Each aim says how much every cell would tell, in variance taken from what is asked, and follows cells that are imagined
to have been run. `select.choose` does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hmrouter.probe.posterior import Posterior
from hmrouter.state import Floats

LEVELS = 8
"""Of the frontier: at so many caps on the cost, the best pair is asked for."""


class Told(NamedTuple):
    """What each cell would tell."""

    variance: Floats
    """(tasks, routes): what it takes from the variance of what is asked."""
    of: Floats
    """(routes,): that variance, as it is now."""
    preferred: Floats | None = None
    """(tasks, routes): what cells are ranked by, if not by their variance."""


class Aim(Protocol):
    """What is asked of the next executions."""

    def told(self) -> Told:
        """How much each cell would tell now."""

    def imagine(self, task: int, route: int) -> None:
        """Go on as if that cell had been run, however it ended."""


class _Sequel:
    """A posterior that goes on with runs that are only imagined.

    Their outcomes are drawn from what is expected of them, as a coin is tossed: in one possible future, so that a batch
    looks at as many leaders and challengers as runs made one by one would. The same question has the same answer.
    """

    def __init__(self, posterior: Posterior) -> None:
        self.posterior = posterior.copy()
        self._rng = np.random.default_rng(0)

    def imagine(self, task: int, route: int) -> None:
        """Go on as if that cell had been run."""
        self.posterior.add(task, route, float(self._rng.random() < self.posterior.expected(task, route)))


class Best(_Sequel):
    """Which route is the best: cells that tell the leader from its challenger."""

    def __init__(self, posterior: Posterior, among: Sequence[int] | None = None) -> None:
        """`among`: the routes that may win, all if None."""
        super().__init__(posterior)
        self._among = np.arange(len(posterior.mean)) if among is None else np.array(among, dtype=np.int64)

    def told(self) -> Told:
        """The variance that each cell takes from the difference of the two."""
        contrast = contrast_of(self.posterior, self._among)
        of = float(contrast @ self.posterior.cov @ contrast)
        return Told(self.posterior.gains(contrast), np.full(len(contrast), of))


class Frontier(_Sequel):
    """Which routes are the best at their price: the mean of what `Best` asks at several caps on the cost."""

    def __init__(self, posterior: Posterior, cost: Floats, among: Sequence[int] | None = None) -> None:
        """`cost` (routes,): expected dollars; routes whose cost is not known (NaN) cannot be on the frontier."""
        super().__init__(posterior)
        known = [j for j in (range(len(cost)) if among is None else among) if np.isfinite(cost[j])]
        caps = np.unique(np.quantile(cost[known], np.linspace(0.0, 1.0, LEVELS), method="higher"))
        self._levels = [np.array([j for j in known if cost[j] <= cap], dtype=np.int64) for cap in caps]

    def told(self) -> Told:
        """The variance that each cell takes from the differences, in the mean of the levels."""
        every = np.array([contrast_of(self.posterior, level) for level in self._levels])
        contrasts, times = np.unique(every, axis=0, return_counts=True)
        weights = times / times.sum()
        of = float(weights @ np.einsum("ij,jk,ik->i", contrasts, self.posterior.cov, contrasts))
        return Told(self.posterior.gains(contrasts, weights), np.full(len(self.posterior.mean), of))


def contrast_of(posterior: Posterior, among: NDArray[np.int64]) -> Floats:
    """Leader minus challenger among some routes; of a single one, that route.

    The leader has the highest mean. The challenger is the one that is expected to be ahead of it by most, E[(e_r -
    e_leader)+]: near enough, or unknown enough, to matter.
    """
    from scipy.special import ndtr

    mean, cov, contrast = posterior.mean[among], posterior.cov, np.zeros(len(posterior.mean))
    leader = int(among[mean.argmax()])
    contrast[leader] = 1.0
    others = among[among != leader]
    if len(others):
        variance = np.diag(cov)[others] + cov[leader, leader] - 2.0 * cov[leader, others]
        sd = np.sqrt(np.maximum(variance, 1e-18))
        z = (posterior.mean[others] - posterior.mean[leader]) / sd
        ahead = sd * (np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) + z * ndtr(z))
        contrast[others[ahead.argmax()]] = -1.0
    return contrast
