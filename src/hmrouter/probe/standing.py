"""Say which route leads, how sure that is, how much may still be lost, and whether more runs are worth their price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hmrouter.decide.policy import show_dollars
from hmrouter.decide.uncertainty import best_and_regret
from hmrouter.errors import UsageError
from hmrouter.probe.aims import contrasts_of
from hmrouter.probe.posterior import Posterior
from hmrouter.scorers.base import Z90
from hmrouter.types import Route

WIDER = 1.3
"""Factor on the variance, as successes and failures are no Gaussian numbers. In simulated worlds of them the leader was
the best in 80 of 100 cases where the model said 90; with this factor, in 91."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A route's success rate on the suite, as it is known now."""

    route: Route
    success: float
    low: float
    high: float
    """Upper end of the 90% interval, which begins at `low`."""

    @classmethod
    def of(cls, route: Route, mean: float, sd: float) -> Rate:
        """Make a rate, with its 90% interval, from the mean and the standard deviation of a Gaussian.

        >>> Rate.of(Route("gpt-5", "codex"), 0.97, 0.03).high
        1.0
        """
        low, high = (min(max(mean + k * Z90 * sd, 0.0), 1.0) for k in (-1, 1))
        return cls(route, min(max(mean, 0.0), 1.0), low, high)

    @property
    def width(self) -> float:
        """Width of the interval, in points."""
        return 100.0 * (self.high - self.low)

    def __str__(self) -> str:
        return f"{self.route} at {self.success:.0%} (90% interval {self.low:.0%} to {self.high:.0%})"


@dataclass(frozen=True, slots=True)
class Standing:
    """Which route leads, and how sure that is."""

    leader: Rate
    challenger: Rate | None
    """The route that is expected to be ahead of the leader by most; None where there is no other."""
    p_best: float
    """Probability that no other route is better than the leader."""
    regret: float
    """How much success the leader is expected to lose against the best."""
    routes: int
    runs: int
    """How many cells of these routes were run."""

    @classmethod
    def of(cls, posterior: Posterior, routes: Sequence[Route], among: Sequence[int]) -> Standing:
        """Find the leader among some of the posterior's routes."""
        some = np.array(among, dtype=np.int64)
        contrast, sd = contrasts_of(posterior, some)[0][0], np.sqrt(WIDER * np.maximum(np.diag(posterior.cov), 0.0))
        first, second = int(contrast.argmax()), int(contrast.argmin())
        cov = WIDER * posterior.cov[np.ix_(some, some)]
        p, regret = best_and_regret(posterior.mean[some], cov, among.index(first))

        def rate(j: int) -> Rate:
            return Rate.of(routes[j], float(posterior.mean[j]), float(sd[j]))

        return cls(
            rate(first), rate(second) if contrast[second] < 0 else None, float(p[among.index(first)]), regret,
            len(some), int((posterior.run[:, some] > 0).sum()),
        )  # fmt: skip

    def words(self) -> list[str]:
        """Say the standing in sentences."""
        if self.challenger is None:
            stand = "1 cell stands" if self.runs == 1 else f"{self.runs:,} cells stand"
            return [f"{self.leader} is the only pair, so there is nothing to choose; {stand} behind it."]
        cells = "1 cell was" if self.runs == 1 else f"{self.runs:,} cells were"
        return [
            f"{self.leader} leads {self.routes} pairs, of which {cells} run; next is {self.challenger}.",
            f"It is the best with a probability of {self.p_best:.0%}. Choosing it now is expected to lose "
            f"{100 * self.regret:.1f} points of success against the best.",
        ]


@dataclass(frozen=True, slots=True)
class Worth:
    """The worth of a batch of runs, beside its cost."""

    runs: int
    points: float
    """How much success the choice after the batch is expected to gain, as a fraction."""
    cost: float | None
    """Expected dollars; None where a cost is not known."""
    value: float
    """Dollars that a solved task is worth."""
    horizon: int
    """Tasks that the choice will serve."""

    @property
    def dollars(self) -> float:
        """Dollars that the gain in success is worth."""
        return self.points * self.value * self.horizon

    @property
    def net(self) -> float:
        """Dollars that are left of the gain after paying for the runs; 0 where their cost is not known."""
        return 0.0 if self.cost is None else self.dollars - self.cost

    def words(self) -> str:
        """Say the worth in a sentence."""
        price = "at a cost that is not known" if self.cost is None else f"for about {show_dollars(self.cost)}"
        runs, are = ("The next run", "is") if self.runs == 1 else (f"The next {self.runs} runs", "are")
        return (
            f"{runs}, {price}, {are} expected to improve the choice by {100 * self.points:.2f} points: "
            f"worth about {show_dollars(self.dollars)} if a solved task is worth {show_dollars(self.value)} "
            f"and the choice serves {self.horizon:,} tasks."
        )


def gain_of(before: Posterior, after: Posterior, among: Sequence[int]) -> float:
    """Return how much better the choice among these routes will be, in expectation, once `after` is known of them.

    The means will move by a Gaussian whose covariance is what the runs take away from that of the routes.
    """
    some = np.array(among, dtype=np.int64)
    moved = WIDER * (before.cov - after.cov)[np.ix_(some, some)]
    mean = before.mean[some]
    return best_and_regret(mean, moved, int(mean.argmax()))[1]


def advice(standings: Sequence[Standing], outlook: Sequence[Worth], confidence: float, out: int = 0) -> tuple[str, str]:
    """Advise to `stop`, to `wait` or to `go on`, and say why, given how much longer and longer batches are worth.

    `standings`: of the whole pool, or one for each pair of the frontier. `out`: suggested runs that are not back yet.
    """
    require_probability(confidence)
    if all(standing.challenger is None for standing in standings):
        return "stop", "there is nothing to choose from"
    if min(standing.p_best for standing in standings) >= confidence:
        sure = f"the best with a probability of at least {confidence:.0%}"
        return "stop", f"the leader is {sure}" if len(standings) == 1 else f"each of these is, at its price, {sure}"
    are = "1 suggested run is" if out == 1 else f"{out:,} suggested runs are"
    if not outlook and out:
        return "wait", f"nothing else is left to run, and {are} still out; import what comes back"
    if not outlook:
        return "stop", "nothing is left to run"
    if any(worth.cost is None for worth in outlook):
        return "go on", "it is not sure yet; what more runs cost is not known, so whether they pay is yours to say"
    if not any(worth.net > 0.0 for worth in outlook) and out:
        return "wait", f"{are} still out, and with these, more cost more than they are worth; import what comes back"
    if not any(worth.net > 0.0 for worth in outlook):
        return "stop", "more runs cost more than they are worth"
    runs = best_of(outlook).runs
    return "go on", "the next run is worth more than it costs" if runs == 1 else (
        f"the next {runs} runs are worth more than they cost"
    )


def require_probability(confidence: float) -> None:
    """Raise `UsageError` unless the confidence is a probability above 0."""
    if not 0.0 < confidence <= 1.0:
        raise UsageError("is not a probability; give one above 0, at most 1", argument="confidence", value=confidence)


def best_of(outlook: Sequence[Worth]) -> Worth:
    """Return the batch that is worth most beyond its price; of batches without a known price, the first."""
    return max(outlook, key=lambda worth: worth.net)
