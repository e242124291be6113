"""Which stored row each staged row is: by its key where its log names one, else by what it says.

A log that names its run keeps that key. A table without one is known by its rows. A run that was stored before is the
same log, renamed, grown or corrected, if what the two have in common is mostly identical: `Likeness.is_same_log`. Then

- a row that is identical to a stored one is that one, the second of two identical rows the second one;
- a row that differs, on a task and route of which a stored row is not in the file any more, corrects that one;
- any other row is new in that run.

What is found is written into the staged rows: `route_id`, `run_id` and `trial` of the row that each of them is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, text

from hmrouter.store.runs import make_runs
from hmrouter.store.schema import routes, staged_routes
from hmrouter.store.spellings import CANONICAL
from hmrouter.types import CONTENT_RUN, Route

_BY_CONTENT = f"LIKE '{CONTENT_RUN}%'"
_NUMBERED = "LIKE '________________.%'"
"""A trial that is a hash of content and a running number; any other was said by the log."""
_TOLD = f"CASE WHEN trial {_NUMBERED} THEN '' ELSE trial END"
"""The trial as far as the log says it."""
_NO_TIME = -(2**63) + 1

# What two rows must share to be one. `identical`: all that was measured. `fuller`: what both of them say, as when a
# column for the cost was added to a file.
_SAME = {"identical": ("content",), "fuller": ("score", "status", "n_trials")}
_FULLER = " AND ".join(
    f"(m.{name} IS NULL OR t.{name} IS NULL OR m.{name} = t.{name})"
    for name in ("cost", "input_tokens", "output_tokens", "seconds", "when_us")
)

# Whether a row says more than a verdict, so that another execution would hardly say the same.
_TELLING = (
    "CASE WHEN t.seconds IS NOT NULL OR t.when_us IS NOT NULL OR t.output_tokens IS NOT NULL"
    " OR (t.cost IS NOT NULL AND NOT t.cost_is_route_mean) THEN 1 ELSE 0 END"
)

# The pairs of open rows of a log and rows of runs that are known by content, n-th like by n-th like.
_PAIRS = """
mine AS (
    SELECT s.*, {told} AS told,
        row_number() OVER (PARTITION BY task_id, route_id, {same}, {told} ORDER BY position) AS n
    FROM staged_outcomes AS s WHERE run_id IS NULL AND source = :source AND run = :run
), theirs AS (
    SELECT o.*, r.spelled, {told} AS told,
        row_number() OVER (PARTITION BY run_id, task_id, route_id, {same}, {told} ORDER BY trial) AS n
    FROM outcomes AS o JOIN runs AS r ON r.id = o.run_id
    WHERE r.run {by_content} AND {which} AND o.task_id IN (SELECT task_id FROM mine)
), pairs AS (
    SELECT * FROM (
        SELECT m.position, t.run_id, t.task_id, t.route_id, t.trial, {telling} AS telling,
            row_number() OVER (PARTITION BY m.position, t.run_id ORDER BY t.route_id) AS choice
        FROM mine AS m
        JOIN staged_routes AS q ON q.route_id = m.route_id
        JOIN theirs AS t ON t.task_id = m.task_id AND t.route_id = q.stored_id AND t.n = m.n AND {equal}
        WHERE ((t.route_id = m.route_id AND t.told = m.told) OR NOT t.spelled) AND {fuller}) AS all_pairs
    WHERE choice = 1
)
"""

# Open rows that correct a row of one run: same task, route and time (or trial, where the log says it).
_CORRECTIONS = f"""
left_mine AS (
    SELECT position, task_id, route_id, told, moment,
        row_number() OVER (PARTITION BY task_id, route_id, told, moment ORDER BY position) AS n
    FROM (SELECT s.*, {_TOLD} AS told,
            CASE WHEN trial {_NUMBERED} THEN coalesce(when_us, {_NO_TIME}) ELSE 0 END AS moment
        FROM staged_outcomes AS s WHERE run_id IS NULL AND source = :source AND run = :run) AS mine_told
    WHERE position NOT IN (SELECT position FROM met)
), left_theirs AS (
    SELECT task_id, route_id, trial, told, moment,
        row_number() OVER (PARTITION BY task_id, route_id, told, moment ORDER BY trial) AS n
    FROM (SELECT o.*, {_TOLD} AS told,
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


@dataclass(frozen=True, slots=True)
class Likeness:
    """A log beside a run that the store has."""

    source: str
    """Of the run."""
    same: int
    """Rows that are identical."""
    differing: int
    """Rows on the same task and route that are not, where neither has its like in the other."""
    mine: int
    """Rows of the log."""
    theirs: int
    """Rows of the run."""
    telling: int
    """Of the identical rows, those that say more than a verdict: another execution would hardly have the same."""
    trusted: bool
    """The file has the name that the run came with, or the caller says that it is a corrected one."""

    @property
    def is_same_log(self) -> bool:
        """Whether they are one log: most of the smaller one, and mostly identical.

        Two executions of the same tasks often agree in nine verdicts of ten. So verdicts alone, under another name,
        must agree in more.

        >>> from dataclasses import replace
        >>> log = Likeness("runs", same=45, differing=6, mine=51, theirs=51, telling=45, trusted=False)
        >>> log.is_same_log, replace(log, telling=0).is_same_log, replace(log, telling=0, trusted=True).is_same_log
        (True, False, True)
        """
        return self.is_alike and (self.trusted or 2 * self.telling >= self.same or 10 * self.differing <= self.same)

    @property
    def is_alike(self) -> bool:
        """Whether they might be one log."""
        return self.same >= self.differing and 2 * self.same >= min(self.mine, self.theirs)


@dataclass(frozen=True, slots=True)
class Met:
    """What resolving met beside keys."""

    known_as: frozenset[str] = frozenset()
    """Other names of logs in the store of which the given ones are further versions."""
    alike: tuple[Likeness, ...] = ()
    """Runs that the given logs resemble, but not enough to be taken for one."""

    def __or__(self, other: Met) -> Met:
        return Met(self.known_as | other.known_as, self.alike + other.alike)


def resolve_content(conn: Connection, corrected: bool) -> Met:
    """Find the runs of logs that name none; `corrected` says that they correct what is stored."""
    met = Met()
    groups = conn.execute(
        text(
            "SELECT source, run, max(CASE WHEN source_is_file THEN 1 ELSE 0 END) FROM staged_outcomes"
            f" WHERE run {_BY_CONTENT} GROUP BY source, run ORDER BY source, run"
        )
    )
    for source, run, is_file in groups.all():
        log = {"source": source, "run": run}
        search = _Search(conn, log, own_name=source if is_file else None, corrected=corrected)
        found = search.run("identical") or search.run("fuller")
        for run_id in found:
            conn.execute(
                text(
                    f"WITH {_MET_STAGED}, {_CORRECTIONS} {_TAKE.format(found='corrections')}"
                    " FROM corrections WHERE staged_outcomes.position = corrections.position"
                ),
                {**log, "run_id": run_id},
            )
        _number(
            conn, log, next((run_id for run_id in found if _is_spelled(conn, run_id)), None) or _make_run(conn, log)
        )
        met |= Met(frozenset(found.values()) - {source}, () if found else tuple(search.alike))
    return met


def resolve_renamed(conn: Connection, corrected: bool) -> Met:
    """Find the runs of files that name a run, but no source, and that were imported under another file's name."""
    found = conn.execute(
        text(f"""
        SELECT s.source AS given, s.run, r.id AS run_id, r.source,
            sum(CASE WHEN t.content = s.content THEN 1 ELSE 0 END) AS same,
            sum(CASE WHEN t.content = s.content THEN 0 ELSE 1 END) AS differing,
            sum(CASE WHEN t.content = s.content THEN {_TELLING} ELSE 0 END) AS telling,
            (SELECT count(*) FROM outcomes AS g WHERE g.run_id = r.id) AS theirs,
            (SELECT count(*) FROM staged_outcomes AS f WHERE f.run = s.run AND f.source = s.source) AS mine
        FROM staged_outcomes AS s
        JOIN runs AS r ON r.run = s.run AND r.source <> s.source
        JOIN staged_routes AS q ON q.route_id = s.route_id AND (q.stored_id = s.route_id OR NOT r.spelled)
        JOIN outcomes AS t ON t.run_id = r.id AND t.task_id = s.task_id AND t.route_id = q.stored_id
            AND t.trial = s.trial
        WHERE s.source_is_file AND s.run_id IS NULL
            AND NOT EXISTS (SELECT 1 FROM runs AS own WHERE own.source = s.source AND own.run = s.run)
        GROUP BY s.source, s.run, r.id, r.source
        ORDER BY same, r.id DESC""")
    ).all()
    best, alike = {}, []
    for row in found:
        telling = int(row.telling)  # PostgreSQL sums to numbers of any size, which come as Decimal
        likeness = Likeness(row.source, int(row.same), int(row.differing), row.mine, row.theirs, telling, corrected)
        if likeness.is_same_log:
            best[row.given, row.run] = row
        elif likeness.is_alike:
            alike.append(likeness)
    if best:
        conn.execute(
            text("UPDATE staged_outcomes SET run_id = :run_id WHERE source = :given AND run = :run"),
            [{"run_id": row.run_id, "given": row.given, "run": row.run} for row in best.values()],
        )
    return Met(frozenset(row.source for row in best.values()), tuple(alike))


def resolve_names(conn: Connection) -> None:
    """Find rows that were stored by a version which kept names only: under the name, not under the spelling."""
    conn.execute(
        text(f"""
        UPDATE staged_outcomes SET route_id = older.stored_id FROM (
            SELECT s.position, min(q.stored_id) AS stored_id
            FROM staged_outcomes AS s
            JOIN runs AS r ON r.id = s.run_id AND NOT r.spelled
            JOIN staged_routes AS q ON q.route_id = s.route_id AND q.stored_id <> s.route_id
            JOIN outcomes AS o ON o.task_id = s.task_id AND o.route_id = q.stored_id AND o.run_id = s.run_id
                AND o.trial = s.trial
            WHERE s.run NOT {_BY_CONTENT}
                AND NOT EXISTS (SELECT 1 FROM outcomes AS e WHERE e.task_id = s.task_id AND e.route_id = s.route_id
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


class _Search:
    """Finds the runs that hold a log, or parts of it."""

    def __init__(self, conn: Connection, log: dict[str, str], own_name: str | None, corrected: bool) -> None:
        self._conn, self._log, self._own_name, self._corrected = conn, log, own_name, corrected
        self.alike: list[Likeness] = []
        """Runs that resemble the log, but not enough."""

    def run(self, same: str) -> dict[int, str]:
        """Give the rows that are found in stored runs the keys of these; return runs and sources, the fullest first."""
        self.alike = []
        found: dict[int, str] = {}
        looked_at = [-1]
        best_run = text(
            f"WITH {_pairs(same, 'o.run_id NOT IN :looked_at')}"
            " SELECT run_id, count(*) AS same FROM pairs GROUP BY run_id ORDER BY same DESC, run_id LIMIT 1"
        ).bindparams(bindparam("looked_at", expanding=True))
        while best := self._conn.execute(best_run, {**self._log, "looked_at": looked_at}).one_or_none():
            looked_at.append(best.run_id)
            one_run, known = _pairs(same, "o.run_id = :run_id"), {**self._log, "run_id": best.run_id}
            likeness = self._likeness(one_run, known)
            if likeness.is_same_log:
                found[best.run_id] = likeness.source
                take = f"{_TAKE.format(found='pairs')} FROM pairs WHERE staged_outcomes.position = pairs.position"
                self._conn.execute(text(f"WITH {one_run} {take}"), known)
            elif likeness.is_alike:
                self.alike.append(likeness)
        return found

    def _likeness(self, one_run: str, known: dict[str, Any]) -> Likeness:
        row = self._conn.execute(
            text(f"""
            WITH {one_run}, {_MET_PAIRS}, {_CORRECTIONS}
            SELECT (SELECT source FROM runs WHERE id = :run_id) AS source, (SELECT count(*) FROM pairs) AS same,
                (SELECT count(*) FROM corrections) AS differing,
                (SELECT count(*) FROM staged_outcomes WHERE source = :source AND run = :run) AS mine,
                (SELECT count(*) FROM outcomes WHERE run_id = :run_id) AS theirs,
                (SELECT coalesce(sum(telling), 0) FROM pairs) AS telling"""),
            known,
        ).one()
        trusted = self._corrected or row.source == self._own_name
        return Likeness(row.source, row.same, row.differing, row.mine, row.theirs, int(row.telling), trusted)


def _pairs(same: str, which: str) -> str:
    columns = _SAME[same]
    equal = " AND ".join(f"coalesce(m.{c}, -1) = coalesce(t.{c}, -1)" if c == "score" else f"m.{c} = t.{c}"
                         for c in columns)  # fmt: skip
    fuller = _FULLER if same == "fuller" else "1 = 1"
    return _PAIRS.format(
        same=", ".join(columns), by_content=_BY_CONTENT, which=which, equal=equal, fuller=fuller, telling=_TELLING,
        told=_TOLD,
    )  # fmt: skip


def _make_run(conn: Connection, log: dict[str, str]) -> int:
    make_runs(conn, **log)
    return int(conn.scalar(text("SELECT id FROM runs WHERE source = :source AND run = :run"), {**log}) or 0)


def _is_spelled(conn: Connection, run_id: int) -> bool:
    """Whether a run knows how its log spells routes. Else further rows of the log, which do, get a run of their own."""
    return bool(conn.scalar(text("SELECT spelled FROM runs WHERE id = :run_id"), {"run_id": run_id}))


def _number(conn: Connection, log: dict[str, str], run_id: int) -> None:
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
