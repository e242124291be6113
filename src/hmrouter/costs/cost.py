"""The expected cost of a route, and the cost of an execution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from hmrouter.names.prices import with_token_cost
from hmrouter.types import Outcome, Status

Interval = tuple[float, float]
BASES = ("route", "model+harness", "model", "harness", "history", "history estimate", "unknown")
"""The bases of an expected cost: own runs of the pair, estimates from its parts, reports of other suites."""


class Cost(NamedTuple):
    """The expected dollars and seconds of a route, and their basis.

    >>> Cost(2.0, "route", interval=(1.5, 2.5)).times(2.0)[:3]
    (4.0, 'route', (3.0, 5.0))
    """

    dollars: float | None
    basis: str
    """One of `BASES`."""
    interval: Interval | None = None
    """90% interval of the expected dollars, None where it is not known."""
    seconds: float | None = None
    seconds_interval: Interval | None = None

    def times(self, dollars: float, seconds: float = 1.0) -> Cost:
        """Scale the cost to a task that takes so many times the dollars and the seconds of the usual one."""
        if dollars == 1.0 and seconds == 1.0:
            return self
        return Cost(
            None if self.dollars is None else self.dollars * dollars, self.basis, _scaled(self.interval, dollars),
            None if self.seconds is None else self.seconds * seconds, _scaled(self.seconds_interval, seconds),
        )  # fmt: skip


def is_guess(basis: str, interval: Interval | None = None) -> bool:
    """Whether an expected cost is a guess: known, but neither from the pair's own runs nor with an interval.

    >>> is_guess("route"), is_guess("model+harness"), is_guess("model+harness", (1.5, 2.5)), is_guess("unknown")
    (False, True, False, False)
    """
    return interval is None and basis not in ("route", "unknown")


def nearest(here: Cost, there: Cost) -> Cost:
    """Choose the pair's own cost here, else elsewhere, else an estimate from its parts here, else elsewhere.

    >>> nearest(Cost(1.0, "model"), Cost(2.0, "route"))[:2]
    (2.0, 'history')
    """
    if here.basis == "route" or there.dollars is None or (there.basis != "route" and here.dollars is not None):
        return here
    basis = "history" if there.basis == "route" else "history estimate"
    return Cost(there.dollars, basis, seconds=here.seconds, seconds_interval=here.seconds_interval)


def spent(outcome: Outcome) -> float | None:
    """Find the dollars of an execution: as reported, else its tokens at list prices; None if neither is known.

    A run that did not come to its end says nothing about what one costs.

    >>> from hmrouter.types import Route, Task
    >>> spent(Outcome(Task("t1"), Route("gpt-5", "codex"), 1.0, input_tokens=200_000, output_tokens=10_000))
    0.35
    """
    if outcome.status is not Status.OK:
        return None
    return with_token_cost(outcome).token_cost if outcome.cost is None else outcome.cost


def priced(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Fill in missing costs from tokens at list prices, for a data set to learn costs from."""
    for outcome in outcomes:
        dollars = spent(outcome)
        yield outcome if dollars == outcome.cost or dollars is None else replace(outcome, cost=dollars)


def _scaled(interval: Interval | None, by: float) -> Interval | None:
    return None if interval is None else (interval[0] * by, interval[1] * by)
