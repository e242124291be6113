"""What came of attempts and tasks, and an attempt as the ledger keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from hmrouter.run.drivers.base import Ended, HarnessResult, Usage
from hmrouter.run.trees.verify import Verdict
from hmrouter.types import Report, ReportSource, Route, Status, Task
from hmrouter.types.reports import Billing


class TaskEnd(StrEnum):
    """Why no further attempt was made."""

    SOLVED = "solved"
    TRIED = "tried"
    """All attempts, or all routes, were used up."""
    BUDGET = "budget"
    MACHINERY = "machinery"
    """Services or machines failed again and again, which says nothing about the routes."""
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """One attempt: what the harness did and what the verification said."""

    number: int
    route: Route
    harness: HarnessResult
    verdict: Verdict | None
    """None where the result of the harness was not worth verifying."""
    folder: Path

    @property
    def status(self) -> Status:
        """Whether the verdict counts for the route."""
        if self.verdict is None or self.verdict.cancelled:
            return Status.INFRA_ERROR if self.harness.status is Status.INFRA_ERROR else Status.UNKNOWN
        return self.harness.status

    @property
    def passed(self) -> bool:
        """Whether the task was done."""
        return self.status is Status.OK and self.verdict is not None and self.verdict.passed

    @property
    def note(self) -> str:
        """Why it did not pass, in a line."""
        said = [self.harness.error, "" if self.verdict is None else self.verdict.note]
        return "; ".join(part for part in said if part)

    def report(self, plan: str) -> Report:
        """Make the report of the attempt."""
        usage = self.harness.usage
        return Report(
            plan, float(self.passed) if self.status is Status.OK else None, self.number, self.status, usage.dollars,
            None if usage.cost_basis == "none" else Billing(usage.cost_basis), self.harness.seconds,
            usage.input_tokens, usage.cached_tokens, usage.output_tokens, self.route, ReportSource.VERIFIER,
            self.harness.version, self.note,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A task and all attempts at it."""

    task: Task
    plan: str
    end: TaskEnd
    attempts: tuple[AttemptResult, ...] = ()
    earlier: tuple[Report, ...] = ()
    """Attempts that an earlier process finished."""
    diff: Path | None = None
    """The changes that solved it."""
    base: str = ""
    """The commit that they belong to."""
    forecast: Mapping[Route, tuple[float, float | None]] = field(default_factory=dict)
    """Success and cost that were expected of routes before the first attempt."""

    @property
    def solved(self) -> bool:
        """Whether an attempt passed."""
        return self.end is TaskEnd.SOLVED

    @property
    def reports(self) -> list[Report]:
        """All attempts as they were reported."""
        return [*self.earlier, *(attempt.report(self.plan) for attempt in self.attempts)]

    @property
    def dollars(self) -> float:
        """What was spent, as far as harnesses told."""
        return sum(report.cost or 0.0 for report in self.reports)

    @property
    def seconds(self) -> float:
        """How long harnesses worked."""
        return sum(report.seconds or 0.0 for report in self.reports)


def to_detail(result: HarnessResult) -> dict[str, Any]:
    """Write a harness's result as JSON values."""
    return asdict(result) | {"ended": result.ended.value}


def from_detail(detail: Mapping[str, Any]) -> HarnessResult:
    """Read it back."""
    return HarnessResult(**{**detail, "ended": Ended(detail["ended"]), "usage": Usage(**detail["usage"])})
