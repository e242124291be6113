"""Which stored row each staged row is: by its key where its log names one, else by what it says.

A log that names its run keeps that key. A table without one is known by its rows. A run that was stored before is the
same log, renamed, grown or corrected, if most of what the two have in common is identical: `_same_log`. Then

- a row that is identical to a stored one is that one, the second of two identical rows the second one;
- a row that differs, on a task and route of which a stored row is not in the file any more, corrects that one;
- any other row is new in that run.

What is found is written into the staged rows: `route_id`, `run_id` and `trial` of the row that each of them is.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, RowMapping, bindparam, text

from hmrouter.store.runs import make_runs
from hmrouter.store.schema import routes, staged_routes
from hmrouter.store.spellings import CANONICAL
from hmrouter.types import CONTENT_RUN, Route

_BY_CONTENT = f"LIKE '{CONTENT_RUN}%'"
_NUMBERED = "LIKE '________________.%'"
"""A trial that is a hash of content and a running number; any other was said by the log."""
_NO_TIME = -(2**63) + 1

# What two rows must share to be one. `identical`: all that was measured. `fuller`: what both of them say, as when a
# column for the cost was added to a file.
_SAME = {"identical": ("content",), "fuller": ("score", "status", "n_trials")}
_FULLER = " AND ".join(
    f"(m.{name} IS NULL OR t.{name} IS NULL OR m.{name} = t.{name})"
    for name in ("cost", "input_tokens", "output_tokens", "seconds", "when_us")
)

# The pairs of open rows of a log and rows of runs that are known by content, n-th like by n-th like.
_PAIRS = """
mine AS (
    SELECT s.*, row_number() OVER (PARTITION BY task_id, route_id, {same} ORDER BY position) AS n
    FROM staged_outcomes AS s WHERE run_id IS NULL AND source = :source AND run = :run
), theirs AS (
    SELECT o.*, r.spelled, row_number() OVER (PARTITION BY run_id, task_id, route_id, {same} ORDER BY trial) AS n
    FROM outcomes AS o JOIN runs AS r ON r.id = o.run_id
    WHERE r.run {by_content} AND {which} AND o.task_id IN (SELECT task_id FROM mine)
), pairs AS (
    SELECT * FROM (
        SELECT m.position, t.run_id, t.task_id, t.route_id, t.trial,
            row_number() OVER (PARTITION BY m.position, t.run_id ORDER BY t.route_id) AS choice
        FROM mine AS m
        JOIN staged_routes AS q ON q.route_id = m.route_id
        JOIN theirs AS t ON t.task_id = m.task_id AND t.route_id = q.stored_id AND t.n = m.n AND {equal}
        WHERE (t.route_id = m.route_id OR NOT t.spelled) AND {fuller}) AS all_pairs
    WHERE choice = 1
)
"""

# Open rows that correct a row of one run: same task, route and time (or trial, where the log says it).
_CORRECTIONS = f"""
left_mine AS (
    SELECT position, task_id, route_id, told, moment,
        row_number() OVER (PARTITION BY task_id, route_id, told, moment ORDER BY position) AS n
    FROM (SELECT s.*, CASE WHEN trial {_NUMBERED} THEN '' ELSE trial END AS told,
            CASE WHEN trial {_NUMBERED} THEN coalesce(when_us, {_NO_TIME}) ELSE 0 END AS moment
        FROM staged_outcomes AS s WHERE run_id IS NULL AND source = :source AND run = :run) AS mine_told
    WHERE position NOT IN (SELECT position FROM met)
), left_theirs AS (
    SELECT task_id, route_id, trial, told, moment,
        row_number() OVER (PARTITION BY task_id, route_id, told, moment ORDER BY trial) AS n
    FROM (SELECT o.*, CASE WHEN trial {_NUMBERED} THEN '' ELSE trial END AS told,
            CASE WHEN trial {_NUMBERED} THEN coalesce(when_us, {_NO_TIME}) ELSE 0 END AS moment
        FROM outcomes AS o WHERE run_id = :run_id) AS theirs_told
    WHERE NOT EXISTS (SELECT 1 FROM met
        WHERE met.run_id = :run_id AND met.task_id = theirs_told.task_id
        AND met.route_id = theirs_told.route_id AND met.trial = theirs_told.trial)
), corrections AS (
    SELECT * FROM (
        SELECT m.position, t.route_id, t.trial,
            row_number() OVER (PARTITION BY m.position ORDER BY t.route_id) AS choice
        FROM left_mine AS m
        JOIN staged_routes AS q ON q.route_id = m.route_id
        JOIN left_theirs AS t ON t.task_id = m.task_id AND t.route_id = q.stored_id
            AND t.told = m.told AND t.moment = m.moment AND t.n = m.n
        WHERE t.route_id = m.route_id OR NOT (SELECT spelled FROM runs WHERE id = :run_id)) AS all_corrections
    WHERE choice = 1
)
"""
_MET_PAIRS = "met AS (SELECT position, run_id, task_id, route_id, trial FROM pairs)"
_MET_STAGED = (
    "met AS (SELECT position, run_id, task_id, route_id, trial FROM staged_outcomes"
    " WHERE run_id IS NOT NULL AND source = :source AND run = :run)"
)
_TAKE = "UPDATE staged_outcomes SET run_id = :run_id, route_id = {found}.route_id, trial = {found}.trial"


def resolve_content(conn: Connection) -> set[str]:
    """Find the runs of logs that name none; return the sources of those that go by another name in the store."""
    others: set[str] = set()
    groups = conn.execute(text(f"SELECT DISTINCT source, run FROM staged_outcomes WHERE run {_BY_CONTENT}")).mappings()
    for log in groups.all():
        found = _known_runs(conn, log, "identical") or _known_runs(conn, log, "fuller")
        for run_id in found:
            conn.execute(
                text(
                    f"WITH {_MET_STAGED}, {_CORRECTIONS} {_TAKE.format(found='corrections')}"
                    " FROM corrections WHERE staged_outcomes.position = corrections.position"
                ),
                {**log, "run_id": run_id},
            )
        home = found[0] if found else _make_run(conn, log)
        _number(conn, log, home)
        others |= {source for run_id in found if (source := _source(conn, run_id)) != log["source"]}
    return others


def resolve_renamed(conn: Connection) -> set[str]:
    """Find the runs of files that name a run, but no source, and that were imported under another file's name."""
    found = conn.execute(
        text("""
        SELECT s.source, s.run, r.id AS run_id, r.source AS other,
            sum(CASE WHEN o.content = s.content THEN 1 ELSE 0 END) AS same,
            sum(CASE WHEN o.content = s.content THEN 0 ELSE 1 END) AS differing,
            (SELECT count(*) FROM outcomes AS g WHERE g.run_id = r.id) AS theirs,
            (SELECT count(*) FROM staged_outcomes AS f WHERE f.run = s.run AND f.source = s.source) AS mine
        FROM staged_outcomes AS s
        JOIN runs AS r ON r.run = s.run AND r.source <> s.source
        JOIN staged_routes AS q ON q.route_id = s.route_id AND (q.stored_id = s.route_id OR NOT r.spelled)
        JOIN outcomes AS o ON o.run_id = r.id AND o.task_id = s.task_id AND o.route_id = q.stored_id
            AND o.trial = s.trial
        WHERE s.source_is_file AND s.run_id IS NULL
            AND NOT EXISTS (SELECT 1 FROM runs AS own WHERE own.source = s.source AND own.run = s.run)
        GROUP BY s.source, s.run, r.id, r.source
        ORDER BY same, r.id DESC""")
    ).mappings()
    best = {(row["source"], row["run"]): row for row in found if _same_log(**_counts(row))}
    if best:
        conn.execute(
            text("UPDATE staged_outcomes SET run_id = :run_id WHERE source = :source AND run = :run"),
            [{name: row[name] for name in ("run_id", "source", "run")} for row in best.values()],
        )
    return {row["other"] for row in best.values()}


def resolve_names(conn: Connection) -> None:
    """Find rows that were stored by a version which kept names only: under the name, not under the spelling."""
    conn.execute(
        text("""
        UPDATE staged_outcomes SET route_id = older.stored_id FROM (
            SELECT s.position, min(q.stored_id) AS stored_id
            FROM staged_outcomes AS s
            JOIN runs AS r ON r.id = s.run_id AND NOT r.spelled
            JOIN staged_routes AS q ON q.route_id = s.route_id AND q.stored_id <> s.route_id
            JOIN outcomes AS o ON o.task_id = s.task_id AND o.route_id = q.stored_id AND o.run_id = s.run_id
                AND o.trial = s.trial
            WHERE NOT EXISTS (SELECT 1 FROM outcomes AS e WHERE e.task_id = s.task_id AND e.route_id = s.route_id
                AND e.run_id = s.run_id AND e.trial = s.trial)
            GROUP BY s.position) AS older
        WHERE staged_outcomes.position = older.position""")
    )


def stage_routes(conn: Connection, told: Iterable[Route]) -> None:
    """Note which stored routes each staged one may be: itself, and what a version that kept names only made of it."""
    ids = {(row.model, row.harness): row.id for row in conn.execute(routes.select())}
    pairs = set()
    for route in told:
        own = ids[route.spelling]
        shipped = tuple(CANONICAL[kind](name) for kind, name in zip(CANONICAL, route.spelling, strict=True))
        names = {route.spelling, (route.model, route.harness), shipped}
        pairs |= {(own, ids[name]) for name in names if name in ids}
    conn.execute(staged_routes.insert(), [{"route_id": own, "stored_id": stored} for own, stored in sorted(pairs)])


def _known_runs(conn: Connection, log: RowMapping, same: str) -> list[int]:
    """Find the runs that hold the log, or a part of it, and give the rows found their keys; the fullest run first."""
    total = conn.scalar(text("SELECT count(*) FROM staged_outcomes WHERE source = :source AND run = :run"), {**log})
    found: list[int] = []
    refused = [-1]
    while True:
        best = conn.execute(
            text(
                f"WITH {_pairs(same, 'o.run_id NOT IN :refused')}"
                " SELECT run_id, count(*) AS same FROM pairs GROUP BY run_id ORDER BY same DESC, run_id LIMIT 1"
            ).bindparams(bindparam("refused", expanding=True)),
            {**log, "refused": refused},
        ).one_or_none()
        if best is None:
            return found
        refused.append(best.run_id)
        one_run, known = _pairs(same, "o.run_id = :run_id"), {**log, "run_id": best.run_id}
        differing = conn.scalar(
            text(f"WITH {one_run}, {_MET_PAIRS}, {_CORRECTIONS} SELECT count(*) FROM corrections"), known
        )
        theirs = conn.scalar(text("SELECT count(*) FROM outcomes WHERE run_id = :run_id"), known)
        if _same_log(best.same, differing or 0, total or 0, theirs or 0):
            found.append(best.run_id)
            take = _TAKE.format(found="pairs")
            where = " FROM pairs WHERE staged_outcomes.position = pairs.position"
            conn.execute(text(f"WITH {one_run} {take}{where}"), known)


def _same_log(same: int, differing: int, mine: int, theirs: int) -> bool:
    """Whether two files are one log: what they have in common is mostly identical, and most of the smaller one.

    >>> _same_log(same=49, differing=2, mine=51, theirs=51), _same_log(same=1, differing=9, mine=50, theirs=50)
    (True, False)
    """
    return same >= differing and 2 * same >= min(mine, theirs)


def _counts(row: RowMapping) -> dict[str, int]:
    return {name: int(row[name]) for name in ("same", "differing", "mine", "theirs")}


def _pairs(same: str, which: str) -> str:
    columns = _SAME[same]
    equal = " AND ".join(f"coalesce(m.{c}, -1) = coalesce(t.{c}, -1)" if c == "score" else f"m.{c} = t.{c}"
                         for c in columns)  # fmt: skip
    fuller = _FULLER if same == "fuller" else "1 = 1"
    return _PAIRS.format(same=", ".join(columns), by_content=_BY_CONTENT, which=which, equal=equal, fuller=fuller)


def _make_run(conn: Connection, log: RowMapping) -> int:
    make_runs(conn, source=log["source"], run=log["run"])
    return int(conn.scalar(text("SELECT id FROM runs WHERE source = :source AND run = :run"), {**log}) or 0)


def _number(conn: Connection, log: RowMapping, run_id: int) -> None:
    """Put the rows that are left into a run, each with a running number that no stored row like it has."""
    conn.execute(
        text(f"""
        WITH fresh AS (
            SELECT position, task_id, route_id, content,
                row_number() OVER (PARTITION BY task_id, route_id, content ORDER BY position) - 1 AS n
            FROM staged_outcomes
            WHERE run_id IS NULL AND source = :source AND run = :run AND trial {_NUMBERED})
        UPDATE staged_outcomes SET run_id = :run_id, trial = fresh.content || '.' || CAST(fresh.n + (
            SELECT count(*) FROM outcomes AS o WHERE o.task_id = fresh.task_id AND o.route_id = fresh.route_id
                AND o.run_id = :run_id AND o.trial LIKE fresh.content || '.%') AS TEXT)
        FROM fresh WHERE staged_outcomes.position = fresh.position"""),
        {**log, "run_id": run_id},
    )
    conn.execute(
        text("UPDATE staged_outcomes SET run_id = :run_id WHERE run_id IS NULL AND source = :source AND run = :run"),
        {**log, "run_id": run_id},
    )


def _source(conn: Connection, run_id: int) -> str:
    return str(conn.scalar(text("SELECT source FROM runs WHERE id = :id"), {"id": run_id}))
