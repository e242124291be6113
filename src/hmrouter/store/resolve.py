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

from sqlalchemy import Connection, text

from hmrouter.store import pairs
from hmrouter.store.runs import make_runs
from hmrouter.store.schema import routes, staged_routes
from hmrouter.store.spellings import CANONICAL
from hmrouter.types import Route


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
            f" WHERE run {pairs.BY_CONTENT} GROUP BY source, run ORDER BY source, run"
        )
    )
    for source, run, is_file in groups.all():
        log = {"source": source, "run": run}
        search = _Search(conn, log, own_name=source if is_file else None, corrected=corrected)
        found = search.run("identical") or search.run("fuller")
        for run_id in found:
            pairs.find_corrections(conn, log, run_id, pairs.STAGED_ROWS)
            pairs.take(conn, run_id, "staged_corrections")
        spelled = (run_id for run_id in found if _is_spelled(conn, run_id))
        _number(conn, log, next(spelled, None) or _make_run(conn, log))
        met |= Met(frozenset(found.values()) - {source}, () if found else tuple(search.alike))
    return met


def resolve_renamed(conn: Connection, corrected: bool) -> Met:
    """Find the runs of files that name a run, but no source, and that were imported under another file's name."""
    found = conn.execute(
        text(f"""
        SELECT s.source AS given, s.run, r.id AS run_id, r.source,
            sum(CASE WHEN t.content = s.content THEN 1 ELSE 0 END) AS same,
            sum(CASE WHEN t.content = s.content THEN 0 ELSE 1 END) AS differing,
            sum(CASE WHEN t.content = s.content THEN {pairs.TELLING} ELSE 0 END) AS telling,
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
            WHERE s.run NOT {pairs.BY_CONTENT}
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
        looked_at: set[int] = set()
        pairs.find(self._conn, self._log, same)
        while (best := pairs.fullest_run(self._conn, looked_at)) is not None:
            looked_at.add(best)
            likeness = self._likeness(best)
            if likeness.is_same_log:
                found[best] = likeness.source
                pairs.take(self._conn, best, "staged_pairs")
                pairs.find(self._conn, self._log, same)  # anew: of identical rows, the first are taken now
            elif likeness.is_alike:
                self.alike.append(likeness)
        return found

    def _likeness(self, run_id: int) -> Likeness:
        pairs.find_corrections(self._conn, self._log, run_id, pairs.PAIRED_ROWS)
        row = self._conn.execute(
            text("""
            SELECT (SELECT source FROM runs WHERE id = :run_id) AS source,
                (SELECT count(*) FROM staged_pairs WHERE run_id = :run_id) AS same,
                (SELECT count(*) FROM staged_corrections) AS differing,
                (SELECT count(*) FROM staged_outcomes WHERE source = :source AND run = :run) AS mine,
                (SELECT count(*) FROM outcomes WHERE run_id = :run_id) AS theirs,
                (SELECT coalesce(sum(telling), 0) FROM staged_pairs WHERE run_id = :run_id) AS telling"""),
            {**self._log, "run_id": run_id},
        ).one()
        trusted = self._corrected or row.source == self._own_name
        return Likeness(row.source, row.same, row.differing, row.mine, row.theirs, int(row.telling), trusted)


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
            WHERE run_id IS NULL AND source = :source AND run = :run AND trial {pairs.NUMBERED})
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
