"""The questions that the next executions shall answer: which pair is the best, or which are the best at their price.

The third question, how good certain pairs are, is in `curves`.

Each aim says how much every cell would tell, in variance taken from what is asked, and follows cells that are imagined
to have been run. `select.choose` picks the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from hmrouter.probe.posterior import Posterior
from hmrouter.state import Floats, Ints

CHALLENGERS = 4
"""The leader is compared with this many routes at a time: with one, later runs go to too few routes, with many, early
ones to too many."""
WATCHED = 32
"""At most this many routes are looked at: those whose runs on a fresh task would tell most."""
CERTAIN = 0.05
"""No success or failure is expected with a probability nearer to 0 or 1 than this."""
LEVELS = 8
"""The frontier asks for the best pair at this many caps on the cost."""


class Information(NamedTuple):
    """How much running each cell would tell about what is asked."""

    routes: Ints
    """The routes of the columns below: those whose cells may tell most."""
    variance: Floats
    """(tasks, these routes): by how much each cell would lower the variance of what is asked."""
    preferred: Floats
    """(tasks, these routes): the number that cells are ranked by."""
    of: Floats
    """(these routes,): the variance of what is asked, as it is now."""


class Aim(Protocol):
    """A question about routes, which says how much each further cell would tell."""

    def told(self, runnable: Ints) -> Information:
        """Say how much each cell of the `runnable` routes would tell now."""

    def imagine(self, task: int, route: int) -> None:
        """Go on as if that cell had been run and had ended in a way that is expected of it."""


class _Sequel:
    """Follows runs that are only imagined, and says what further cells would tell about contrasts of routes.

    Their outcomes are drawn from what is expected of them, as a coin is tossed: in one possible future, so that a batch
    looks at as many leaders and challengers as runs made one by one would. The same question has the same answer.
    """

    levels: list[Ints]
    """Sets of routes; which one is the best is asked within each."""

    def __init__(self, posterior: Posterior) -> None:
        self.posterior = posterior.copy()
        self._rng = np.random.default_rng(0)

    def imagine(self, task: int, route: int) -> None:
        """Go on as if that cell had been run."""
        expected = self.posterior.expected(np.array([route]))[task, 0]
        self.posterior.add(task, route, float(self._rng.random() < expected))

    def _told(self, contrasts: Floats, weights: Floats, runnable: Ints) -> Information:
        """Say by how much each cell would lower the variance of the contrasts, in their weighted mean.

        Cells are ranked by it times p (1 - p): a run whose ending is all but certain tells less than a Gaussian model
        knows.
        """
        p, cov = self.posterior, self.posterior.cov
        if len(runnable) > WATCHED:
            fresh = weights @ (contrasts @ cov[:, runnable]) ** 2 / (np.diag(cov)[runnable] + p.fresh_noise)
            runnable = runnable[np.sort(np.argsort(-fresh, kind="stable")[:WATCHED])]
        variance = p.gains(contrasts, weights, runnable)
        success = np.clip(p.expected(runnable), CERTAIN, 1.0 - CERTAIN)
        of = float(weights @ np.einsum("ij,jk,ik->i", contrasts, cov, contrasts))
        return Information(runnable, variance, variance * success * (1.0 - success), np.full(len(runnable), of))


class Best(_Sequel):
    """Asks which route is the best: by cells that tell the leader from its challengers."""

    def __init__(self, posterior: Posterior, among: Sequence[int] | None = None) -> None:
        """`among`: the routes that may win, all if None."""
        super().__init__(posterior)
        self.levels = [np.arange(len(posterior.mean)) if among is None else np.array(among, dtype=np.int64)]

    def told(self, runnable: Ints) -> Information:
        """Say how much each cell of the `runnable` routes would tell now."""
        return self._told(*contrasts_of(self.posterior, self.levels[0]), runnable)


class Frontier(_Sequel):
    """Asks which routes are the best at their price: the mean of what `Best` asks at several caps on the cost."""

    def __init__(self, posterior: Posterior, cost: Floats, among: Sequence[int] | None = None) -> None:
        """`cost` (routes,): expected dollars; routes whose cost is not known (NaN) cannot be on the frontier."""
        super().__init__(posterior)
        known = [j for j in (range(len(cost)) if among is None else among) if np.isfinite(cost[j])]
        caps = np.unique(np.quantile(cost[known], np.linspace(0.0, 1.0, LEVELS), method="higher"))
        self.levels = [np.array([j for j in known if cost[j] <= cap], dtype=np.int64) for cap in caps]

    def told(self, runnable: Ints) -> Information:
        """Say how much each cell of the `runnable` routes would tell now."""
        contrasts, weights = zip(*(contrasts_of(self.posterior, level) for level in self.levels), strict=True)
        return self._told(np.concatenate(contrasts), np.concatenate(weights) / len(self.levels), runnable)


def contrasts_of(posterior: Posterior, among: Ints) -> tuple[Floats, Floats]:
    """Contrast the leader among some routes with each of its challengers, with weights; of a single route, that route.

    The leader has the highest mean. The challengers are those that are expected to be ahead of it by most, E[(e_r -
    e_leader)+]: near enough, or unknown enough, to matter; the first by most. Their weights, which sum to 1, are how
    fast that expectation falls with the variance of the difference: phi(z) / sd.
    """
    from scipy.special import ndtr

    # Rounded: of routes that differ by rounding only, the first leads.
    cov, leader = posterior.cov, int(among[posterior.mean[among].round(12).argmax()])
    others = among[among != leader]
    if not len(others):
        return np.eye(len(posterior.mean))[[leader]], np.ones(1)
    variance = np.diag(cov)[others] + cov[leader, leader] - 2.0 * cov[leader, others]
    sd = np.sqrt(np.maximum(variance, 1e-18))
    z = (posterior.mean[others] - posterior.mean[leader]) / sd
    ahead = sd * (np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) + z * ndtr(z))
    first = np.argsort(-ahead, kind="stable")[:CHALLENGERS]
    contrasts = np.zeros((len(first), len(posterior.mean)))
    contrasts[:, leader] = 1.0
    contrasts[np.arange(len(first)), others[first]] = -1.0
    weights = np.exp(-0.5 * (z[first] ** 2 - (z[first] ** 2).min())) / sd[first]
    return contrasts, np.asarray(weights / weights.sum())
