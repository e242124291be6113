"""Measure whether a change of predictions pays on tasks that were left out: in log-loss and in what is chosen.

Both are paired by task, and both must be better by more than the noise of the comparison. Better forecasts alone do not
pay: where a route gains on easy tasks as all others do, no choice changes. What is chosen is looked at among all routes
and among random parts of them: one choice per task is a noisy thing to count, and the routes that may be used differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from hmrouter.scorers.safe.calibration import Calibration
from hmrouter.state import Floats

CLEAR = 1.645
"""Standard errors that both gains must exceed: each alone would be mistaken 5 times in 100."""
HOPELESS = 0.5
"""Standard errors below which, after one round of cross-fitting, further rounds are not worth their time."""
ENOUGH = 30
"""Fewest tasks with which the noise itself is known well enough."""
POOLS, DRAWS = (1.0, 0.75, 0.5, 0.33), 5
"""Shares of the routes among which choices are compared, and how many random pools there are of each."""


@dataclass(frozen=True, slots=True)
class Gain:
    """The mean gain over tasks in log-loss and in regret, and how many standard errors each is."""

    log_loss: float = 0.0
    regret: float = 0.0
    log_loss_z: float = 0.0
    regret_z: float = 0.0
    tasks: int = 0

    @property
    def clear(self) -> bool:
        """Whether both gains are beyond noise."""
        return self.tasks >= ENOUGH and min(self.log_loss_z, self.regret_z) > CLEAR

    @property
    def hopeless(self) -> bool:
        """Whether further rounds of cross-fitting would hardly make the gain clear."""
        return self.tasks < ENOUGH or min(self.log_loss_z, self.regret_z) <= HOPELESS

    @classmethod
    def of(cls, rounds: Sequence[tuple[Floats, Floats]]) -> Self:
        """Average the gains per task in log-loss and in regret over the rounds of cross-fitting.

        >>> Gain.of([(np.array([0.25, 0.75]), np.array([0.0, 0.0]))])
        Gain(log_loss=0.5, regret=0.0, log_loss_z=2.0, regret_z=0.0, tasks=2)
        """
        log_loss, regret = (np.mean(of_rounds, axis=0) for of_rounds in zip(*rounds, strict=True))
        means, errors = zip(_mean_and_error(log_loss), _mean_and_error(regret), strict=True)
        z = [float(m / e) if e > 0 else 0.0 for m, e in zip(means, errors, strict=True)]
        return cls(means[0], means[1], z[0], z[1], len(log_loss))

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as JSON values."""
        return asdict(self)


def gains_by_task(old: Floats, new: Floats, score: Floats, task: Any, route: Any) -> tuple[Floats, Floats]:
    """Compute what predictions `new` gain over `old` on each task: mean log-loss, and mean score of the choices.

    >>> old, new, score = np.array([0.6, 0.4]), np.array([0.4, 0.6]), np.array([0.0, 1.0])
    >>> [gain.round(2).tolist() for gain in gains_by_task(old, new, score, np.zeros(2, int), np.arange(2))]
    [[0.41], [0.5]]
    """
    order = np.lexsort((route, task))
    old, new, score, route = old[order].round(12), new[order].round(12), score[order], route[order]
    _, starts, at, n = np.unique(task[order], return_index=True, return_inverse=True, return_counts=True)
    log_loss = np.bincount(at, weights=_log_loss(old, score) - _log_loss(new, score)) / n
    rng, routes = np.random.default_rng(0), int(route.max(initial=-1)) + 1
    regret = np.zeros(len(n))
    for share in np.repeat(POOLS, DRAWS):
        inside = (rng.permutation(routes) < routes * share)[route]
        for sign, value in ((1.0, new), (-1.0, old)):
            # Where no route of the pool was run on a task, all are equal, for both; equal ones share the choice.
            within = np.where(inside, value, -np.inf)
            best = within == np.maximum.reduceat(within, starts)[at]
            regret += sign * np.bincount(at, weights=score * best) / np.bincount(at, weights=best)
    return log_loss, regret / (len(POOLS) * DRAWS)


def _log_loss(raw: Floats, score: Floats) -> Floats:
    p = Calibration()(raw)
    return np.asarray(-(score * np.log(p) + (1.0 - score) * np.log1p(-p)))


def _mean_and_error(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std() / np.sqrt(max(1, len(values) - 1)))
