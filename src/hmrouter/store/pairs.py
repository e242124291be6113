"""Staged rows beside stored rows that they may be, set beside each other by the database.

Each finding is kept in a temporary table with an index: of a hundred thousand rows, looking through all for each would
take hours.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, func, select, text

from hmrouter.store.schema import staged_pairs
from hmrouter.types import CONTENT_RUN

BY_CONTENT = f"LIKE '{CONTENT_RUN}%'"
"""A run that no log named."""
NUMBERED = "LIKE '________________.%'"
"""A trial that is a hash of content and a running number; any other was said by the log."""
TELLING = (
    "CASE WHEN t.seconds IS NOT NULL OR t.when_us IS NOT NULL OR t.output_tokens IS NOT NULL"
    " OR (t.cost IS NOT NULL AND NOT t.cost_is_route_mean) THEN 1 ELSE 0 END"
)
"""Whether a row says more than a verdict, so that another execution would hardly say the same."""
PAIRED_ROWS = "staged_pairs"
STAGED_ROWS = "staged_outcomes"
"""The tables that note which rows of a run were met: while it is looked at, and once its rows are taken."""

_TOLD = f"CASE WHEN trial {NUMBERED} THEN '' ELSE trial END"  # the trial as far as the log says it
_MOMENT = f"CASE WHEN trial {NUMBERED} THEN coalesce(when_us, {-(2**63) + 1}) ELSE 0 END"

# What two rows must share to be one. `identical`: all that was measured. `fuller`: what both of them say, as when a
# column for the cost was added to a file.
_SAME = {"identical": ("content",), "fuller": ("score", "status", "n_trials")}
_FULLER = " AND ".join(
    f"(m.{name} IS NULL OR t.{name} IS NULL OR m.{name} = t.{name})"
    for name in ("cost", "input_tokens", "output_tokens", "seconds", "when_us")
)


def find(conn: Connection, log: dict[str, str], same: str) -> None:
    """Set the rows of a log that are not found yet beside those of all runs that no log named, n-th like by n-th."""
    columns = _SAME[same]
    listed = ", ".join(columns)
    equal = " AND ".join(
        f"coalesce(m.{name}, -1) = coalesce(t.{name}, -1)" if name == "score" else f"m.{name} = t.{name}"
        for name in columns
    )
    conn.execute(staged_pairs.delete())
    conn.execute(
        text(f"""
        INSERT INTO staged_pairs (run_id, position, task_id, route_id, trial, telling)
        WITH mine AS (
            SELECT s.*, {_TOLD} AS told,
                row_number() OVER (PARTITION BY task_id, route_id, {listed}, {_TOLD} ORDER BY position) AS n
            FROM staged_outcomes AS s WHERE run_id IS NULL AND source = :source AND run = :run
        ), theirs AS (
            SELECT o.*, r.spelled, {_TOLD} AS told,
                row_number() OVER (PARTITION BY run_id, task_id, route_id, {listed}, {_TOLD} ORDER BY trial) AS n
            FROM outcomes AS o JOIN runs AS r ON r.id = o.run_id
            WHERE r.run {BY_CONTENT} AND o.task_id IN (SELECT task_id FROM mine)
        )
        SELECT run_id, position, task_id, route_id, trial, telling FROM (
            SELECT t.run_id, m.position, t.task_id, t.route_id, t.trial, {TELLING} AS telling,
                row_number() OVER (PARTITION BY m.position, t.run_id ORDER BY t.route_id) AS choice
            FROM mine AS m
            JOIN staged_routes AS q ON q.route_id = m.route_id
            JOIN theirs AS t ON t.task_id = m.task_id AND t.route_id = q.stored_id AND t.n = m.n AND {equal}
            WHERE ((t.route_id = m.route_id AND t.told = m.told) OR NOT t.spelled)
                AND {_FULLER if same == "fuller" else "1 = 1"}) AS every_pair
        WHERE choice = 1"""),
        log,
    )
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql("ANALYZE staged_pairs")


def fullest_run(conn: Connection, but: Collection[int]) -> int | None:
    """Find the run that most of the pairs are of; None if there is no other."""
    per_run = select(staged_pairs.c.run_id).group_by(staged_pairs.c.run_id)
    for run_id in conn.scalars(per_run.order_by(func.count().desc(), staged_pairs.c.run_id)).all():
        if run_id not in but:
            return int(run_id)
    return None


def find_corrections(conn: Connection, log: dict[str, str], run_id: int, met: str) -> None:
    """Set the rows of a log that are not found beside those of a run that are not in the log any more.

    They have the same task, route and time (or trial, where the log says it); n-th by n-th.
    """
    conn.execute(text("DELETE FROM staged_corrections"))
    conn.execute(
        text(f"""
        INSERT INTO staged_corrections (position, route_id, trial)
        WITH mine AS (
            SELECT position, task_id, route_id, told, moment,
                row_number() OVER (PARTITION BY task_id, route_id, told, moment ORDER BY position) AS n
            FROM (SELECT s.*, {_TOLD} AS told, {_MOMENT} AS moment FROM staged_outcomes AS s
                WHERE run_id IS NULL AND source = :source AND run = :run AND NOT EXISTS (
                    SELECT 1 FROM {met} AS p WHERE p.run_id = :run_id AND p.position = s.position)) AS left_mine
        ), theirs AS (
            SELECT task_id, route_id, trial, told, moment,
                row_number() OVER (PARTITION BY task_id, route_id, told, moment ORDER BY trial) AS n
            FROM (SELECT o.*, {_TOLD} AS told, {_MOMENT} AS moment FROM outcomes AS o
                WHERE o.run_id = :run_id AND NOT EXISTS (
                    SELECT 1 FROM {met} AS p WHERE p.run_id = :run_id AND p.task_id = o.task_id
                        AND p.route_id = o.route_id AND p.trial = o.trial)) AS left_theirs
        )
        SELECT position, route_id, trial FROM (
            SELECT m.position, t.route_id, t.trial,
                row_number() OVER (PARTITION BY m.position ORDER BY t.route_id) AS choice
            FROM mine AS m
            JOIN staged_routes AS q ON q.route_id = m.route_id
            JOIN theirs AS t ON t.task_id = m.task_id AND t.route_id = q.stored_id
                AND t.told = m.told AND t.moment = m.moment AND t.n = m.n
            WHERE t.route_id = m.route_id OR NOT (SELECT spelled FROM runs WHERE id = :run_id)) AS every_correction
        WHERE choice = 1"""),
        {**log, "run_id": run_id},
    )


def take(conn: Connection, run_id: int, found: str) -> None:
    """Give staged rows the keys of the rows of a run that they were found to be, or to correct."""
    of_run = " AND f.run_id = :run_id" if found == "staged_pairs" else ""
    conn.execute(
        text(
            "UPDATE staged_outcomes SET run_id = :run_id, route_id = f.route_id, trial = f.trial"
            f" FROM {found} AS f WHERE staged_outcomes.position = f.position{of_run}"
        ),
        {"run_id": run_id},
    )
