"""Adding many outcomes, all or nothing, and the report of it.

Outcomes are first staged in temporary tables, batch by batch, so that memory stays constant and nobody waits for a
slow reader of logs. Then `resolve` finds which stored row each of them is, and statements merge them into the store.
Each inserts in the order of its table's key, and every import takes the tables in the same order: two imports can wait
for each other, but never in a circle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    select,
    true,
    update,
)

from hmrouter.store import imports, resolve, rows, spellings, suites
from hmrouter.store.database import insert
from hmrouter.store.resolve import Likeness
from hmrouter.store.runs import make_runs
from hmrouter.store.schema import (
    KEY,
    MEASURED,
    STAGED,
    now_us,
    outcomes,
    routes,
    runs,
    staged_outcomes,
    staged_tasks,
    tasks,
)
from hmrouter.types import Outcome, Route, Task

BATCH = 1000
SHOWN_CHANGES = 20
_IMPORT_LOCK = 0x686D7269  # any constant that other applications on the same server are unlikely to use
_REMEMBERED = 200_000  # tasks; some 40 MB
_COMPARED = ("score", "status", "cost", "input_tokens", "cached_tokens", "output_tokens", "seconds", "n_trials")


@dataclass(frozen=True, slots=True)
class AddReport:
    """Counts after adding outcomes. All but `new`, `known` and `differing` are of everything given, new or known.

    The database counts, so that memory does not grow with their number.
    """

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
    replaced: int = 0
    """Of the differing ones, those whose values took the place of the kept ones."""
    changes: tuple[Change, ...] = field(default=(), compare=False)
    """The first few of the differing outcomes."""
    known_as: tuple[str, ...] = field(default=(), compare=False)
    """Other sources, such as files, under which outcomes of these were added before."""
    alike: tuple[Likeness, ...] = field(default=(), compare=False)
    """Runs that these outcomes resemble, but not enough to be taken for the same."""


@dataclass(frozen=True, slots=True)
class Change:
    """An outcome that is known with other values."""

    task: Task
    route: Route
    values: dict[str, tuple[object, object]]
    """What differs: the value that is kept, or was, and the other one."""


@dataclass(frozen=True, slots=True)
class Import:
    """An import that can be undone as a whole, though its logs are added one by one."""

    token: str
    """The same for all of its logs, and no other import's."""
    what: str
    """What was imported, for people."""


def batches(incoming: Iterable[Outcome]) -> Iterator[list[Outcome]]:
    """Cut a stream of outcomes into lists that are small beside the program itself."""
    iterator = iter(incoming)
    while batch := list(itertools.islice(iterator, BATCH)):
        yield batch


@dataclass(frozen=True, slots=True)
class Manner:
    """How outcomes are added."""

    keep_text: bool = True
    """Else only the hashes of texts."""
    replace: bool = False
    """Known outcomes take the values that come."""
    names_given: bool = False
    """The names of routes are a person's, and hold for whatever has their spellings."""
    of: Import | None = None
    """The import that they belong to, if it is to be undone later."""


def add(
    conn: Connection,
    incoming: Iterable[list[Outcome]],
    progress: Callable[[int], None] | None = None,
    manner: Manner = Manner(),  # noqa: B008  frozen
) -> AddReport:
    """Stage and merge batches in the transaction that `conn` is in."""
    for table in STAGED:
        table.create(conn, checkfirst=False)
    total = 0
    seen: set[tuple[str, str, bool, bool]] = set()
    told: dict[tuple[str, str], Route] = {}
    for batch in incoming:
        staged = [rows.outcome_row(outcome, total + i) for i, outcome in enumerate(batch)]
        conn.execute(staged_outcomes.insert(), staged)
        _stage_tasks(conn, batch, seen, manner.keep_text)
        told |= {outcome.route.spelling: outcome.route for outcome in batch}
        total += len(batch)
        if progress:
            progress(len(batch))
    added = _merge(conn, total, told.values(), manner) if total else AddReport(0, 0, 0, 0, 0, 0, 0, 0, {})
    for table in STAGED:
        table.drop(conn, checkfirst=False)
    return added


def _stage_tasks(
    conn: Connection, batch: list[Outcome], seen: set[tuple[str, str, bool, bool]], keep_text: bool
) -> None:
    """Send each task once; its text may be long, and comes with every one of its outcomes."""
    if len(seen) > _REMEMBERED:
        seen.clear()  # forgetting only costs a second sending
    staged = []
    for task in (outcome.task for outcome in batch):
        brings = (task.suite, task.id, bool(task.text or task.text_hash), bool(task.meta))
        if brings not in seen:
            seen.add(brings)
            staged.append(rows.task_row(task, keep_text))
    if staged:
        statement = insert(conn, staged_tasks)
        conn.execute(
            statement.on_conflict_do_update(
                index_elements=["suite", "task"],
                set_=_filled(staged_tasks.c, statement.excluded),
                where=_has_gap(staged_tasks.c, statement.excluded),
            ),
            staged,
        )


def _merge(conn: Connection, total: int, told: Collection[Route], manner: Manner) -> AddReport:
    """Move what is staged to its place, and report it."""
    if conn.dialect.name == "postgresql":
        for table in (staged_tasks, staged_outcomes):
            conn.exec_driver_sql(f"ANALYZE {table.name}")  # nobody else does it for temporary tables
        # One at a time: whether a row is new depends on all that the store has of its log.
        conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_IMPORT_LOCK})")
    now = now_us()
    _merge_tasks(conn, now)
    spellings.keep(conn, told, manner.names_given)
    _merge_routes(conn)
    met = _locate(conn, told, manner.replace)
    import_id = None if manner.of is None else imports.begin(conn, manner.of.token, manner.of.what)
    new = _merge_outcomes(conn, import_id)
    differing, changes = _differing(conn) if new < total else (0, ())
    replaced = imports.replace_differing(conn, import_id, _DIFFERS) if manner.replace and differing else 0
    if import_id is not None:
        imports.drop_empty(conn, import_id)
    suites.drop_expired_texts(conn, now)
    return _report(conn, total, new, differing, replaced, changes, met)


def _locate(conn: Connection, told: Collection[Route], corrected: bool) -> resolve.Met:
    """Find the task, the route and the run of every staged outcome, and what they are known as or resemble."""
    staged = staged_outcomes.c
    task = select(tasks.c.id).where(tasks.c.suite == staged.suite, tasks.c.task == staged.task)
    route = select(routes.c.id).where(routes.c.model == staged.model, routes.c.harness == staged.harness)
    conn.execute(update(staged_outcomes).values(task_id=task.scalar_subquery(), route_id=route.scalar_subquery()))
    resolve.stage_routes(conn, told)
    met = resolve.resolve_content(conn, corrected) | resolve.resolve_renamed(conn, corrected)
    make_runs(conn)
    run = select(runs.c.id).where(runs.c.source == staged.source, runs.c.run == staged.run)
    conn.execute(update(staged_outcomes).where(staged.run_id.is_(None)).values(run_id=run.scalar_subquery()))
    resolve.resolve_names(conn)
    return met


def _merge_tasks(conn: Connection, now: int) -> None:
    staged = staged_tasks.c
    same = and_(tasks.c.suite == staged.suite, tasks.c.task == staged.task)
    news = (
        select(staged_tasks, literal(now))
        .select_from(staged_tasks.outerjoin(tasks, same))
        .where(or_(tasks.c.id.is_(None), _has_gap(tasks.c, staged)))
        .order_by(staged.suite, staged.task)
    )
    statement = insert(conn, tasks)
    told = and_(tasks.c.text_hash.is_(None), statement.excluded.text_hash.is_not(None))
    since = case((told, statement.excluded.added_us), else_=tasks.c.added_us)
    conn.execute(
        statement.from_select([*staged.keys(), "added_us"], news).on_conflict_do_update(
            index_elements=["suite", "task"],
            set_=_filled(tasks.c, statement.excluded) | {"added_us": since},
            where=_has_gap(tasks.c, statement.excluded),
        )
    )


def _merge_routes(conn: Connection) -> None:
    names = (staged_outcomes.c.model, staged_outcomes.c.harness)
    # WHERE true: without a WHERE, SQLite takes ON CONFLICT for the ON of a join.
    found = select(*names).where(true()).distinct().order_by(*names)
    conn.execute(insert(conn, routes).from_select(["model", "harness"], found).on_conflict_do_nothing())


def _merge_outcomes(conn: Connection, import_id: int | None) -> int:
    columns = (*KEY, *MEASURED, "content")
    staged = [staged_outcomes.c[name] for name in columns]
    found = (
        select(*staged, cast(literal(import_id), BigInteger))
        .where(true())
        .order_by(*staged[: len(KEY)], staged_outcomes.c.position)
    )
    statement = insert(conn, outcomes).from_select([*columns, "import_id"], found).on_conflict_do_nothing()
    return conn.execute(statement, execution_options={"preserve_rowcount": True}).rowcount


def _has_gap(old: Any, new: Any) -> ColumnElement[bool]:
    """Whether a task is known without something that the other row brings."""
    return or_(
        and_(old.text_hash.is_(None), new.text_hash.is_not(None)),
        and_(old.meta.is_(None), new.meta.is_not(None)),
    )


def _filled(old: Any, new: Any) -> dict[str, ColumnElement[Any]]:
    """Keep the known values of a task and take the missing ones from the other row.

    A hash is known for good: a text that was dropped, or never kept, does not come back with the next import.
    """
    return {
        "text": case((old.text_hash.is_(None), new.text), else_=old.text),
        "text_hash": func.coalesce(old.text_hash, new.text_hash),
        "meta": func.coalesce(old.meta, new.meta),
    }


def _report(
    conn: Connection,
    total: int,
    new: int,
    differing: int,
    replaced: int,
    changes: tuple[Change, ...],
    met: resolve.Met,
) -> AddReport:
    """Count what is staged, after it was merged into the store."""
    staged, named = staged_outcomes.c, spellings.named_routes()
    with_cost, with_token_cost = conn.execute(select(func.count(staged.cost), func.count(staged.token_cost))).one()
    per_status = select(staged.status, func.count().label("number")).group_by(staged.status).order_by(staged.status)
    on_routes = staged_outcomes.join(named, named.c.id == staged.route_id)
    return AddReport(
        new=new,
        known=total - new,
        differing=differing,
        tasks=conn.scalar(select(func.count()).select_from(staged_tasks)) or 0,
        routes=_distinct(conn, select(named.c.model, named.c.harness).select_from(on_routes)),
        cells=_distinct(conn, select(staged.task_id, named.c.model, named.c.harness).select_from(on_routes)),
        with_cost=with_cost,
        with_token_cost=with_token_cost,
        statuses={row.status: row.number for row in conn.execute(per_status)},
        replaced=replaced,
        changes=changes,
        known_as=tuple(sorted(met.known_as)),
        alike=met.alike,
    )


def _distinct(conn: Connection, rows: Select[Any]) -> int:
    return conn.scalar(select(func.count()).select_from(rows.distinct().subquery())) or 0


_SAME_KEY = and_(*(outcomes.c[name] == staged_outcomes.c[name] for name in KEY))
_DIFFERS = and_(
    outcomes.c.content != staged_outcomes.c.content,
    or_(*(outcomes.c[name].is_distinct_from(staged_outcomes.c[name]) for name in _COMPARED)),
)


def _differing(conn: Connection) -> tuple[int, tuple[Change, ...]]:
    """Find staged outcomes that differ from the stored one; a new outcome equals it, so only known ones are found."""
    kept, staged, named = outcomes.c, staged_outcomes.c, spellings.named_routes()
    both = staged_outcomes.join(outcomes, _SAME_KEY)
    number = conn.scalar(select(func.count()).select_from(both).where(_DIFFERS)) or 0
    columns = [column for name in _COMPARED for column in (kept[name], staged[name].label(f"new_{name}"))]
    first = conn.execute(
        select(staged.suite, staged.task, named.c.model, named.c.harness, *columns)
        .select_from(both.join(named, named.c.id == kept.route_id))
        .where(_DIFFERS)
        .order_by(staged.position)
        .limit(SHOWN_CHANGES)
    )
    return number, tuple(
        Change(
            Task(row.task, row.suite),
            Route(row.model, row.harness),
            {
                name: (getattr(row, name), getattr(row, f"new_{name}"))
                for name in _COMPARED
                if getattr(row, name) != getattr(row, f"new_{name}")
            },
        )
        for row in first
    )
