"""What the decision log holds: decisions as they were made, and what was reported of them later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from hmrouter.errors import UsageError
from hmrouter.types.ids import new_id
from hmrouter.types.outcomes import Outcome, Route, Status, Task

DEFAULT_NAMESPACE = "default"
SOURCE = "hmrouter"
"""The source of outcomes that come from reports; their run is the decision."""


class DecisionKind(StrEnum):
    """What was decided."""

    ROUTE = "route"
    PLAN = "plan"


class ReportSource(StrEnum):
    """Who says how an execution ended."""

    VERIFIER = "verifier"
    CI = "ci"
    HUMAN = "human"
    AGENT = "agent"


class Billing(StrEnum):
    """What the dollars of a report are."""

    BILLED = "billed"
    LIST = "list"
    """Tokens at list prices."""
    QUOTA = "quota"
    """A subscription: nothing is billed per task."""


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision or a plan as it stands in the log, with every candidate that it was chosen from."""

    kind: DecisionKind
    task: Task
    routes: tuple[Route, ...]
    """The chosen route, or the routes of a plan in order."""
    made: datetime
    document: Mapping[str, Any] = field(default_factory=dict)
    """As JSON values: `candidates` (route, success, cost, propensity), `excluded` and the policy."""
    namespace: str = DEFAULT_NAMESPACE
    incumbent: Route | None = None
    """The route that would have been used without a router."""
    snapshot: str = ""
    explored: bool = False
    """Whether the choice was drawn at random to learn from it."""
    tags: Mapping[str, str] = field(default_factory=dict)
    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True)
class Report:
    """How one execution of a decision ended; a later one of the same attempt replaces it.

    >>> Report("0190", score=1.0, cost=0.42).status
    <Status.OK: 'ok'>
    """

    decision: str
    score: float | None
    attempt: int = 1
    """Which attempt of a plan; 1 for a decision."""
    status: Status = Status.OK
    cost: float | None = None
    cost_basis: Billing | None = None
    seconds: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    route: Route | None = None
    """The route that was executed; None: the one that was decided."""
    source: ReportSource = ReportSource.VERIFIER
    harness_version: str = ""
    note: str = ""
    id: str = ""
    """A name of the report itself, if whoever sends it may send it again."""
    when: datetime | None = None

    def __post_init__(self) -> None:
        if self.attempt < 1:
            raise UsageError("is not a number of at least 1", argument="attempt", value=self.attempt)
        Outcome(  # the same limits
            Task("any"), Route("any", "any"), self.score, status=self.status, cost=self.cost, seconds=self.seconds,
            input_tokens=self.input_tokens, cached_tokens=self.cached_tokens, output_tokens=self.output_tokens,
        )  # fmt: skip

    @property
    def passed(self) -> bool:
        """Whether the execution did the task: half of the score or more."""
        return self.status is Status.OK and self.score is not None and self.score >= 0.5

    def outcome(self, record: DecisionRecord, failed_before: int = 0) -> Outcome:
        """Make the outcome that is learned from; `failed_before`: how many attempts failed the check before it."""
        return Outcome(
            record.task, self.route or record.routes[min(self.attempt, len(record.routes)) - 1], self.score,
            status=self.status, cost=self.cost, input_tokens=self.input_tokens, cached_tokens=self.cached_tokens,
            output_tokens=self.output_tokens, seconds=self.seconds, when=self.when, source=SOURCE, run=record.id,
            trial=str(self.attempt) if record.kind is DecisionKind.PLAN else "", attempt=failed_before + 1,
            harness_version=self.harness_version,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Revision:
    """A report in the log, and its place among those of the same attempt."""

    report: Report
    number: int
    """1 for the first; the largest one counts."""
    reported: datetime


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """A decision in the log with everything that was reported of it."""

    record: DecisionRecord
    revisions: tuple[Revision, ...] = ()
    """By attempt, then by number."""

    @property
    def current(self) -> tuple[Revision, ...]:
        """The revision that counts of each attempt."""
        return tuple({revision.report.attempt: revision for revision in self.revisions}.values())

    @property
    def open(self) -> bool:
        """Whether nothing was reported yet."""
        return not self.revisions

    def outcomes(self) -> list[Outcome]:
        """Give the outcomes that are learned from."""
        made, failed = list[Outcome](), 0
        for revision in self.current:
            made.append(revision.report.outcome(self.record, failed))
            failed += revision.report.status is Status.OK
        return made
