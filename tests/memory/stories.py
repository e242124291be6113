"""What the stories about memory have in common: a few pairs, ordinary work, and a router fitted on what happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from hmrouter import Dataset, Router
from hmrouter.types import Outcome, Route, Task

A = Route("claude-opus-4-5", "claude-code")
B = Route("gpt-5", "codex")
C = Route("gpt-5", "openhands")
NOW = datetime(2026, 6, 1, tzinfo=UTC)

WORDS = (
    "parser", "billing", "login", "importer", "scheduler", "search", "report", "cache", "mailer", "invoice", "retry",
    "queue", "upload", "avatar", "locale", "font", "tariff", "ledger", "pixel", "socket", "cursor", "kernel", "widget",
    "backup", "token", "filter", "chart", "badge", "robot", "cookie",
)  # fmt: skip


def ordinary_work(rates: dict[Route, float], tasks: int = 80, suite: str = "default") -> list[Outcome]:
    """Every route once on each of many different tasks; a task is easy or hard for all, and suits some pairs.

    A route solves exactly its share of them: the tasks that are easiest for it.
    """
    rng = np.random.default_rng(len(suite))
    work = [Task(f"work-{i}", suite, " ".join(rng.choice(WORDS, 8, replace=False))) for i in range(tasks)]
    ease, out = rng.standard_normal(tasks), []
    for route, rate in rates.items():
        rank = np.argsort(np.argsort(-(ease + 1.5 * rng.standard_normal(tasks))))
        out += [
            Outcome(task, route, float(rank[i] < round(rate * tasks)), cost=0.5, run=f"{suite}-{i}", when=NOW)
            for i, task in enumerate(work)
        ]
    return out


def runs(
    task: Task, route: Route, solved: int, failed: int = 0, *, days_ago: float = 0.0, run: str = "again"
) -> list[Outcome]:
    """So many runs of a route on a task that solved it, then so many that did not."""
    when = NOW - timedelta(days=days_ago)
    scores = [1.0] * solved + [0.0] * failed
    return [Outcome(task, route, score, cost=0.5, run=run, trial=str(i), when=when) for i, score in enumerate(scores)]


def router(*parts: Iterable[Outcome], half_life: float | None = None) -> Router:
    """Fit a router with default settings on everything that happened."""
    return Router().fit(Dataset([o for part in parts for o in part], half_life=half_life, now=NOW))


def successes(fitted: Router, task: str | Task, routes: Sequence[Route] = (A, B)) -> list[float]:
    """Predicted success of each route on a task."""
    said = {c.route: c.success for c in fitted.route(task).ranked}
    return [said[r] for r in routes]
