"""Decisions and plans: a choice among candidates, or attempts in order, with the numbers behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, overload

from hmrouter.types.ids import new_id
from hmrouter.types.outcomes import Outcome, Route, Status, Task


@dataclass(frozen=True, slots=True)
class Evidence:
    """How many executions stand behind a number."""

    pair: int
    model: int
    harness: int


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """Earlier runs of one route on a task, or on tasks like it."""

    route: Route
    runs: float
    """How many; old ones that have faded count in part."""
    score: float
    """Their mean score."""
    like: bool = False
    """Whether they were on other tasks of its family, not on the task itself."""


@dataclass(frozen=True, slots=True)
class UnknownRoute:
    """A route of the pool that is not ranked, as nothing is known of its model or of its harness."""

    route: Route
    what: str
    """`model`, `harness` or `model and harness`."""
    near: str = ""
    """The known name that is spelled most like it; empty if none is."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One feasible route for one task, with everything the choice looked at."""

    route: Route
    success: float
    """Predicted probability of success."""
    score: float
    """The scorer's logit."""
    merit: float
    """Success, less a margin where a careful scorer is unsure (a pair that was never run)."""
    value: float
    """The number that the policy ranked by: merit - cost weight * cost."""
    cost: float | None
    """Expected US dollars, None if nothing is known."""
    cost_basis: str
    """The evidence behind the expected cost: one of `hmrouter.costs.cost.BASES`, such as `route` or `model+harness`."""
    observed: bool
    """Whether the pair has at least one outcome."""
    evidence: Evidence
    interval: tuple[float, float] | None = None
    """90% interval of the success rate on tasks like this one, None where the scorer gives none."""
    p_best: float | None = None
    """Probability that no other candidate is better (by the policy's value), None where the scorer gives none."""
    cost_interval: tuple[float, float] | None = None
    """90% interval of the expected dollars, None where it is not known."""
    seconds: float | None = None
    """Expected seconds, None if nothing is known."""
    seconds_interval: tuple[float, float] | None = None
    """90% interval of the expected seconds."""


class Candidates(Sequence[Candidate]):
    """Candidates in order, each made when it is first looked at: a batch of decisions is rarely read to its end.

    >>> made = Candidates([2, 0], lambda place: f"candidate {place}")
    >>> len(made), made[0], made[-1:]
    (2, 'candidate 2', ('candidate 0',))
    """

    __slots__ = ("_made", "_make", "_places")

    def __init__(self, places: Sequence[int], make: Callable[[int], Candidate]) -> None:
        self._places = places
        self._make = make
        self._made: tuple[Candidate, ...] | None = None

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Candidate: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Candidate, ...]: ...

    def __getitem__(self, at: int | slice) -> Candidate | tuple[Candidate, ...]:
        if self._made is None and isinstance(at, int):
            return self._make(self._places[at])
        return self._all()[at]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidates | tuple) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)

    def _all(self) -> tuple[Candidate, ...]:
        if self._made is None:
            self._made = tuple(map(self._make, self._places))
        return self._made


@dataclass(frozen=True, slots=True)
class Decision:
    """The chosen route for a task, and the ranking it was chosen from."""

    task: Task
    ranked: Sequence[Candidate]
    """Feasible candidates, best first; never empty, perhaps shortened."""
    cost_weight: float = 0.0
    max_cost: float | None = None
    excluded: Mapping[str, int] = field(default_factory=dict)
    """How many routes of the pool fell to which constraint."""
    scorer: str = ""
    expected_regret: float | None = None
    """How much value the choice is expected to lose against the best candidate; None if unknown."""
    n_candidates: int = 0
    """How many candidates were ranked, shown or not."""
    incumbent: Route | None = None
    """The default route that was to be left only for a reason, if one was given."""
    calibration: Mapping[str, Any] = field(default_factory=dict)
    """How far the scorer's probabilities held on outcomes that it had not seen; empty if unknown."""
    budget_per_task: float | None = None
    """Dollars that a task may cost on average, if that is what the cost weight was solved for."""
    spend_per_task: float | None = None
    """Dollars that the choices on the reference tasks are expected to cost with that weight, on average."""
    snapshot: str = ""
    """The id of the router that decided, as it was then; an outcome that it observes gives it another."""
    fitted_at: datetime | None = None
    """When that router was fitted."""
    earlier: tuple[EarlierRuns, ...] = ()
    """Earlier runs on this very task, or on its like, that the choice rests on. Where there are any, success, interval
    and `p_best` are those of this task, not of tasks like it."""
    unknown: tuple[UnknownRoute, ...] = ()
    """Routes of the pool that were not ranked, as nothing is known of them, here or elsewhere."""
    id: str = field(default_factory=new_id)

    @property
    def best(self) -> Candidate:
        """The chosen candidate."""
        return self.ranked[0]

    @property
    def route(self) -> Route:
        """The chosen route."""
        return self.best.route

    @property
    def success(self) -> float:
        """Predicted probability that the chosen route succeeds."""
        return self.best.success

    @property
    def interval(self) -> tuple[float, float] | None:
        """90% interval of that probability, None where the scorer gives none."""
        return self.best.interval

    @property
    def cost(self) -> float | None:
        """Expected US dollars of the chosen route."""
        return self.best.cost

    @property
    def observed(self) -> bool:
        """Whether the chosen pair was ever run."""
        return self.best.observed

    @property
    def evidence(self) -> Evidence:
        """Executions of the chosen pair, its model and its harness."""
        return self.best.evidence

    def outcome(
        self,
        score: float | None,
        cost: float | None = None,
        *,
        seconds: float | None = None,
        status: Status = Status.OK,
        when: datetime | None = None,
    ) -> Outcome:
        """Make the outcome of the decision, ready for `Router.observe` and `OutcomeStore.add`."""
        return Outcome(
            self.task, self.route, score, status=status, cost=cost, seconds=seconds, when=when,
            source="hmrouter", run=self.id,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attempt:
    """One step of a plan, and what the plan comes to if it ends with it."""

    route: Route
    success: float
    """Predicted probability of success on such a task, were it the only attempt."""
    cost: float | None
    """Expected US dollars of the attempt once it is started; None if nothing is known."""
    cost_basis: str
    observed: bool
    """Whether the pair has at least one outcome."""
    evidence: Evidence
    reached: float
    """Probability that it is started: that no earlier attempt passed the check."""
    plan_success: float
    """Probability that this attempt or an earlier one delivers a right answer."""
    plan_cost: float | None
    """Expected US dollars of this and the earlier attempts."""
    plan_interval: tuple[float, float] | None = None
    """90% interval of that success on tasks like this one, None where the scorer gives none."""
    plan_cost_interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Attempts in order: the first that passes the check is delivered and ends the plan."""

    task: Task
    attempts: tuple[Attempt, ...]
    """Never empty."""
    false_pass: float = 0.0
    """Share of wrong answers that the check passes."""
    false_fail: float = 0.0
    """Share of right answers that it fails."""
    cost_weight: float | None = None
    budget: float | None = None
    target: float | None = None
    max_cost: float | None = None
    """Cap on the expected dollars of a single attempt."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """How many routes of the pool fell to which constraint."""
    scorer: str = ""
    n_candidates: int = 0
    unknown: tuple[UnknownRoute, ...] = ()
    """Routes of the pool that were not considered, as nothing is known of them, here or elsewhere."""
    id: str = field(default_factory=new_id)

    @property
    def routes(self) -> tuple[Route, ...]:
        """The routes to try, in order."""
        return tuple(a.route for a in self.attempts)

    @property
    def success(self) -> float:
        """Probability that a right answer is delivered."""
        return self.attempts[-1].plan_success

    @property
    def interval(self) -> tuple[float, float] | None:
        """90% interval of that probability."""
        return self.attempts[-1].plan_interval

    @property
    def cost(self) -> float | None:
        """Expected US dollars of the whole plan."""
        return self.attempts[-1].plan_cost

    @property
    def cost_interval(self) -> tuple[float, float] | None:
        """90% interval of those dollars."""
        return self.attempts[-1].plan_cost_interval
