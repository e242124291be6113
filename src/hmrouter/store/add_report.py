"""What came of adding outcomes, counted by the database: memory does not grow with their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, and_, func, or_, select

from hmrouter.store.schema import outcomes, routes, runs, staged_found, staged_outcomes, staged_tasks, tasks

_COMPARED = ("score", "status", "cost", "input_tokens", "cached_tokens", "output_tokens", "seconds", "n_trials")


@dataclass(frozen=True, slots=True)
class AddReport:
    """What came of adding outcomes. All but `new`, `known` and `differing` describe what was given, new or known."""

    new: int
    """Outcomes that the store did not have."""
    known: int
    """Outcomes that it had, or that came twice; the first one stays."""
    differing: int
    """Of the known ones, those that say something else than the one that stays: score, status, cost, tokens, ..."""
    tasks: int
    routes: int
    cells: int
    """Distinct (task, route)."""
    with_cost: int
    """Outcomes with a reported cost."""
    with_token_cost: int
    """Outcomes with a cost recomputed from tokens."""
    statuses: dict[str, int]
    """Outcomes per status."""


def report(conn: Connection, total: int, new: int) -> AddReport:
    """Describe what is staged, after it was merged into the store."""
    staged = staged_outcomes.c
    with_cost, with_token_cost = conn.execute(select(func.count(staged.cost), func.count(staged.token_cost))).one()
    per_status = select(staged.status, func.count().label("number")).group_by(staged.status).order_by(staged.status)
    return AddReport(
        new=new,
        known=total - new,
        differing=_differing(conn) if new < total else 0,
        tasks=conn.scalar(select(func.count()).select_from(staged_tasks)) or 0,
        routes=_distinct(conn, select(staged.model, staged.harness)),
        cells=_distinct(conn, select(staged.suite, staged.task, staged.model, staged.harness)),
        with_cost=with_cost,
        with_token_cost=with_token_cost,
        statuses={row.status: row.number for row in conn.execute(per_status)},
    )


def _distinct(conn: Connection, rows: Select[Any]) -> int:
    return conn.scalar(select(func.count()).select_from(rows.distinct().subquery())) or 0


def _differing(conn: Connection) -> int:
    """A new outcome equals its kept one, so that only known ones are found."""
    kept, staged = outcomes.c, staged_outcomes.c
    same_key = and_(
        kept.task_id == tasks.c.id, kept.route_id == routes.c.id, kept.run_id == runs.c.id, kept.trial == staged.trial
    )
    differ = or_(*(kept[name].is_distinct_from(staged[name]) for name in _COMPARED))
    return conn.scalar(select(func.count()).select_from(staged_found.join(outcomes, same_key)).where(differ)) or 0
