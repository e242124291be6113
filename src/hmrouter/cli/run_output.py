"""What `hmrouter run` shows: a live line while attempts run, a line for each that ended, and a table of many tasks."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hmrouter.cli.output import console, dollars, echo, percent, say, say_live, table
from hmrouter.cli.words import counted
from hmrouter.types import Plan, Status, Task

if TYPE_CHECKING:
    from hmrouter.run.comparison import BatchSummary, IncumbentSummary
    from hmrouter.run.drivers.base import Usage
    from hmrouter.run.results import AttemptResult, TaskResult
    from hmrouter.types import Report

ENDS = {
    "solved": "solved", "tried": "not solved: no attempt is left", "budget": "not solved: the budget is used up",
    "machinery": "not solved: services failed again and again", "cancelled": "stopped",
}  # fmt: skip


@dataclass
class LiveLine:
    """Shows attempts on standard error: a line that changes on a terminal, a line per event elsewhere."""

    many: bool = False
    """Whether lines name their task."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _running: dict[str, str] = field(default_factory=dict)
    _used: dict[str, tuple[Usage, float]] = field(default_factory=dict)
    _shown: bool = False

    def planned(self, task: Task, plan: Plan) -> None:
        """Nothing: the first attempt says it."""

    def started(self, task: Task, number: int, plan: Plan) -> None:
        """Say which pair starts, why, and what would come next."""
        first = plan.attempts[0]
        then = f"; then {plan.attempts[1].route}" if len(plan.attempts) > 1 else ""
        cost = "" if first.cost is None else f" for about {dollars(first.cost)}"
        why = f"{percent(first.success, 0)}% expected{cost}{then}"
        with self._lock:
            self._running[task.id] = f"{self._name(task)}attempt {number}: {first.route}"
            self._line(f"{self._running[task.id]} ({why})")

    def usage(self, task: Task, usage: Usage, seconds: float) -> None:
        """Show dollars and seconds so far."""
        if not sys.stderr.isatty():
            return
        with self._lock:
            self._used[task.id] = (usage, seconds)
            parts = [f"{self._running.get(t, t)} {dollars(u.dollars)} {s:.0f}s" for t, (u, s) in self._used.items()]
            say_live(" | ".join(parts)[:200])
            self._shown = True

    def ended(self, task: Task, attempt: AttemptResult) -> None:
        """Say what came of an attempt."""
        with self._lock:
            self._used.pop(task.id, None)
            self._line(f"{self._name(task)}attempt {attempt.number}: {attempt.route} {in_words(attempt)}")

    def say(self, text: str) -> None:
        """Say something between attempts."""
        with self._lock:
            self._line(text)

    def _name(self, task: Task) -> str:
        return f"[{task.id}] " if self.many else ""

    def _line(self, text: str) -> None:
        if self._shown:
            say_live("")
            self._shown = False
        say(text)


def in_words(attempt: AttemptResult) -> str:
    """Say in a line how an attempt ended and what it used."""
    cost = "" if attempt.harness.usage.dollars is None else f", {dollars(attempt.harness.usage.dollars)}"
    used = f"{attempt.harness.seconds:.0f}s{cost}"
    if attempt.passed:
        verdict = attempt.verdict
        aside = (
            f"; verified with {counted(len(verdict.restored), 'file')} as before"
            if verdict and verdict.restored
            else ""
        )
        return f"passed ({used}{aside})"
    how = "failed" if attempt.status is Status.OK else attempt.status.value
    return f"{how} ({used}): {attempt.note}"


def show_dry_run(
    plan: Plan, commands: Sequence[Sequence[str]], verify: str, setup: str, protected: Sequence[str]
) -> None:
    """Show the attempts of a plan with the commands that would be run, and what they are expected to cost."""
    out = table("Would run, each only if those before it fail the verification:", "attempt", "success %", "cost")
    for number, attempt in enumerate(plan.attempts, start=1):
        out.add_row(f"{number}. {attempt.route}", percent(attempt.success), dollars(attempt.cost))
    console().print(out)
    for number, command in enumerate(commands, start=1):
        echo(f"{number}. {shlex.join(command)}")  # not broken into lines, so that it can be copied
    if setup:
        echo(f"set-up: {setup}")
    echo(f"verify: {verify}")
    echo(f"taken from the base while verifying: {', '.join(protected)}")
    echo(f"expected: {percent(plan.success)}% solved for {dollars(plan.cost)}")


def show_batch(results: Sequence[TaskResult], total: BatchSummary, beside: IncumbentSummary | None) -> None:
    """Show a table of tasks and what they came to, beside always using the incumbent."""
    out = table("Tasks", "task", "result", "by", "attempts", "cost", "seconds")
    for result in results:
        passed = next((r.route for r in result.reports if r.passed), None)
        name = result.task.id
        out.add_row(
            name if len(name) <= 40 else f"{name[:37]}...", "solved" if result.solved else result.end.value,
            str(passed or "-"), str(len(result.reports)), dollars(result.dollars), f"{result.seconds:.0f}",
        )  # fmt: skip
    console().print(out)
    unknown = f" (without {counted(total.without_cost, 'attempt')} of unknown cost)" if total.without_cost else ""
    console().print(f"Solved {total.solved} of {total.tasks} for {dollars(total.dollars)}{unknown}.")
    if beside is not None:
        marked = "~" if beside.estimated else ""
        console().print(
            f"Always {beside.route}: {marked}{beside.solved:.1f} of {total.tasks} for "
            f"{dollars(beside.dollars, guessed=bool(beside.estimated))} "
            f"(measured on {beside.measured}, estimated on {beside.estimated})."
        )


def document(results: Sequence[TaskResult], total: BatchSummary, beside: IncumbentSummary | None) -> dict[str, Any]:
    """Write results as JSON values."""
    against = None
    if beside is not None:
        against = {
            "route": str(beside.route), "solved": beside.solved, "dollars": beside.dollars,
            "measured": beside.measured, "estimated": beside.estimated,
        }  # fmt: skip
    return {
        "tasks": [_task(result) for result in results], "solved": total.solved, "dollars": total.dollars,
        "without_cost": total.without_cost, "incumbent": against,
    }  # fmt: skip


def _task(result: TaskResult) -> dict[str, Any]:
    return {
        "task": result.task.id, "plan": result.plan, "end": result.end.value, "solved": result.solved,
        "diff": None if result.diff is None else str(result.diff), "base": result.base,
        "attempts": [_attempt(report) for report in result.reports],
    }  # fmt: skip


def _attempt(report: Report) -> dict[str, Any]:
    return {
        "attempt": report.attempt, "route": str(report.route), "status": report.status.value, "score": report.score,
        "cost": report.cost, "cost_basis": report.cost_basis, "seconds": report.seconds, "note": report.note,
    }  # fmt: skip
