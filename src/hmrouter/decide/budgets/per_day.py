"""`budget_per_day`: the cost weight follows the spending, and every run reserves its cap before it starts.

    budget = DayBudget(200.0)
    decision = router.route(task, cost_weight=budget.cost_weight)
    admission = budget.start(decision)             # or a cheaper route, or deferred; `admission.note` says why
    ...run admission.route, stopped at admission.cap dollars...
    budget.finish(admission, cost)

What is spent and what is reserved never exceeds the budget, so neither does the day, as long as runs are stopped at
their caps. A run counts for the day on which it started.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from threading import RLock
from typing import Any, Self

from hmrouter.decide.budgets.pace import Pace
from hmrouter.decide.policy import show_dollars
from hmrouter.errors import UsageError
from hmrouter.types import Candidate, Decision, Route

HEADROOM = 4.0
"""A run's cap as a multiple of its expected cost: 1 to 4% of runs would take more (docs/costs.md)."""


def utc_now() -> datetime:
    """Read the time in UTC; days are those of the clock's zone."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer to a task that wants to start: a route and the cap it runs under, or none today."""

    id: str
    route: Route | None
    """The admitted route; None if the task is deferred."""
    cap: float
    """Dollars reserved; the runner stops the run there."""
    expected: float
    """Expected dollars of the run."""
    day: str
    note: str = ""
    """Empty where the first choice was admitted, else why it was not."""

    @property
    def deferred(self) -> bool:
        """Whether the task has to wait for the next day."""
        return self.route is None


@dataclass(slots=True)
class _Day:
    """The books of one day."""

    spent: float = 0.0
    started: int = 0
    deferred: int = 0
    overshoots: int = 0
    """Runs that cost more than their cap."""
    overshot: float = 0.0
    """Dollars above the caps, over all those runs."""


class DayBudget:
    """Admits runs within a day's money, for all threads of one process.

    >>> budget = DayBudget(1.0)
    >>> budget.left()
    1.0
    """

    def __init__(
        self,
        budget_per_day: float,
        *,
        tasks_per_day: float | None = None,
        max_run_cost: float | None = None,
        headroom: float = HEADROOM,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Start with a whole day's budget.

        `tasks_per_day`: how many are expected; without it as many as yesterday, on the first day as the rate says.
        `max_run_cost`: the cap that runs are stopped at; without it `headroom` times their expected cost.
        """
        for name, value in (("budget_per_day", budget_per_day), ("tasks_per_day", tasks_per_day),
                            ("max_run_cost", max_run_cost)):  # fmt: skip
            if value is not None and not 0.0 < value < float("inf"):
                raise UsageError("is not a finite number above 0", argument=name, value=value)
        if not 1.0 <= headroom < float("inf"):
            raise UsageError("is not a finite number of at least 1", argument="headroom", value=headroom)
        self.budget_per_day = float(budget_per_day)
        self.max_run_cost = max_run_cost
        self.headroom = headroom
        self._clock = clock
        self._lock = RLock()
        self._pace = Pace(tasks_per_day)
        self._open: dict[str, Admission] = {}
        self._days: dict[str, _Day] = {}
        self._today = ""

    @property
    def cost_weight(self) -> float:
        """The cost weight to route the next task with."""
        with self._lock:
            day, now = self._open_day()
            return self._pace.weight(self.budget_per_day - day.spent - self._expected(), day.started, _passed(now))

    def start(self, decision: Decision) -> Admission:
        """Reserve the cap of the best candidate that fits in what is left; defer the task if none does.

        Give a decision with all its candidates (no `top`): a shortened one has fewer cheaper routes to turn to.
        """
        with self._lock:
            day, now = self._open_day()
            left = self._left(day)
            for place, candidate in enumerate(decision.ranked):
                cap = self._cap(candidate)
                if cap is None or candidate.cost is None or cap > left:
                    continue
                target = self._pace.target(
                    self.budget_per_day - day.spent - self._expected(), day.started, _passed(now)
                )
                self._pace.follow(candidate.cost, target)
                day.started += 1
                note = f"instead of {decision.route}: {self._why_not(decision.best, left)}" if place else ""
                made = Admission(uuid.uuid4().hex, candidate.route, cap, candidate.cost, self._today, note)
                self._open[made.id] = made
                return made
            day.deferred += 1
            return Admission(uuid.uuid4().hex, None, 0.0, 0.0, self._today, self._refusal(decision, left, now))

    def finish(self, admission: Admission, cost: float | None) -> None:
        """End a run: release its reservation and book its cost, or its whole cap where the cost is unknown.

        A cost above the cap is booked whole and counted in `report()`: then the runner did not stop it.
        """
        if cost is not None and not 0.0 <= cost < float("inf"):
            raise UsageError("is not a finite number of at least 0", argument="cost", value=cost)
        with self._lock:
            self._open_day()
            run = self._open.pop(admission.id, None)
            if run is None:
                raise UsageError(
                    f"run {admission.id} is not open here; it was deferred, is finished already, or has another budget"
                )
            day = self._days[run.day]
            paid = run.cap if cost is None else cost
            day.spent += paid
            if paid > run.cap:
                day.overshoots += 1
                day.overshot += paid - run.cap
            self._pace.learn(paid, run.expected)

    def left(self) -> float:
        """Compute the dollars that are neither spent nor reserved today; below 0 only after an overshoot."""
        with self._lock:
            return self._left(self._open_day()[0])

    def unfinished(self) -> list[Admission]:
        """List the runs that started and did not finish; `finish` a lost one with the cost it had."""
        with self._lock:
            return list(self._open.values())

    def report(self) -> dict[str, Any]:
        """Report today's budget, reservations, spending and counts."""
        with self._lock:
            day, _ = self._open_day()
            reserved = self._reserved()
            return {"day": self._today, "budget_per_day": self.budget_per_day, "reserved": reserved, **asdict(day)}

    # -- keeping ------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Give everything but the clock as JSON values."""
        with self._lock:
            return {
                "budget_per_day": self.budget_per_day, "max_run_cost": self.max_run_cost, "headroom": self.headroom,
                "today": self._today, "pace": self._pace.state(), "days": {d: asdict(b) for d, b in self._days.items()},
                "open": [asdict(a) | {"route": str(a.route)} for a in self._open.values()],
            }  # fmt: skip

    @classmethod
    def from_state(cls, state: Mapping[str, Any], clock: Callable[[], datetime] = utc_now) -> Self:
        """Restore the budget that gave this state; a run that was open is still open."""
        self = cls(
            state["budget_per_day"], max_run_cost=state["max_run_cost"], headroom=state["headroom"], clock=clock
        )  # fmt: skip
        self._today = str(state["today"])
        self._pace = Pace.from_state(state["pace"])
        self._days = {str(day): _Day(**books) for day, books in state["days"].items()}
        kept = (Admission(**(a | {"route": Route.parse(a["route"])})) for a in state["open"])
        self._open = {admission.id: admission for admission in kept}
        return self

    # -- inside -------------------------------------------------------------------------------------------------

    def _open_day(self) -> tuple[_Day, datetime]:
        """Open today's books, with a whole budget on a new day; return them and the time."""
        now = self._clock()
        today = now.date().isoformat()
        if today > self._today:  # a clock that is set back does not open a day twice
            if (before := self._days.get(self._today)) is not None:
                self._pace.close(before.started + before.deferred)
            waited_for = {a.day for a in self._open.values()}
            self._days = {day: books for day, books in self._days.items() if day in waited_for}
            self._days[today] = _Day()
            self._today = today
        return self._days[self._today], now

    def _reserved(self) -> float:
        return sum(a.cap for a in self._open.values() if a.day == self._today)

    def _expected(self) -> float:
        return sum(a.expected for a in self._open.values() if a.day == self._today)

    def _left(self, day: _Day) -> float:
        return self.budget_per_day - day.spent - self._reserved()

    def _cap(self, candidate: Candidate) -> float | None:
        """Compute the dollars that a run of the candidate reserves; None if it cannot run under the cap."""
        if candidate.cost is None:
            return None
        if self.max_run_cost is None:
            return candidate.cost * self.headroom
        return self.max_run_cost if candidate.cost <= self.max_run_cost else None

    def _why_not(self, candidate: Candidate, left: float) -> str:
        cap = self._cap(candidate)
        if candidate.cost is None:
            return "its cost is not known"
        if cap is None:
            return f"it is expected to cost {show_dollars(candidate.cost)}, above the cap of a run"
        return f"it reserves {show_dollars(cap)} and {show_dollars(max(left, 0.0))} of the day's budget are left"

    def _refusal(self, decision: Decision, left: float, now: datetime) -> str:
        known = [(cap, c) for c in decision.ranked if (cap := self._cap(c)) is not None]
        if not known:
            why = self._why_not(decision.best, left)
            return f"deferred: no candidate can be given a cap; of {decision.route}, {why}"
        cap, cheapest = min(known, key=lambda pair: pair[0])
        return (
            f"deferred: {show_dollars(max(left, 0.0))} of the day's {show_dollars(self.budget_per_day)} are left and "
            f"the cheapest candidate, {cheapest.route}, reserves {show_dollars(cap)}; the next budget starts at "
            f"{(_midnight(now) + timedelta(days=1)).isoformat(timespec='minutes')}"
        )


def _midnight(now: datetime) -> datetime:
    """Find the start of the day."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _passed(now: datetime) -> float:
    """Compute the share of the day that has passed."""
    return (now - _midnight(now)) / timedelta(days=1)
