"""Names that are read as another one: applied while reading, so that the rows stay and a merge can be undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, Subquery, delete, func, select, update

from hmrouter.errors import UnknownName, UsageError
from hmrouter.store.database import insert
from hmrouter.store.schema import merges, now_us, outcomes
from hmrouter.store.spellings import named_routes, read_through

KINDS = ("model", "harness")


@dataclass(frozen=True, slots=True)
class Merge:
    """A model or a harness that is read as another one."""

    kind: str
    name: str
    into: str


def merged_routes() -> Subquery:
    """Select the routes as they are read: `id`, `model`, `harness`."""
    return read_through(named_routes(), merges, "name", "into_name", "merged_routes")


def all_merges(conn: Connection) -> list[Merge]:
    """List all merges, by kind and name."""
    rows = conn.execute(select(merges.c.kind, merges.c.name, merges.c.into_name).order_by(merges.c.kind, merges.c.name))
    return [Merge(*row) for row in rows]


def names(conn: Connection) -> dict[str, dict[str, int]]:
    """Count the outcomes per model and per harness, by their names before merges."""
    per_route = select(outcomes.c.route_id, func.count().label("number")).group_by(outcomes.c.route_id).subquery()
    named = named_routes()
    rows = conn.execute(select(named, per_route).join(per_route, per_route.c.route_id == named.c.id)).all()
    found: dict[str, dict[str, int]] = {}
    for kind in KINDS:
        counts: Counter[str] = Counter()
        for row in rows:
            counts[getattr(row, kind)] += row.number
        found[kind] = dict(sorted(counts.items()))
    return found


def merge(conn: Connection, kind: str, name: str, into: str, where: str) -> Merge:
    """Read `name` as `into` from now on, or as what that is merged into."""
    _require("kind of name", kind, KINDS)
    known = set(conn.scalars(select(named_routes().c[kind])))
    for given in (name, into):
        _require(kind, given, known, where)
    merged = {each.name: each.into for each in all_merges(conn) if each.kind == kind}
    target = merged.get(into, into)
    if target == name:
        undo = f"; split {into!r} first" if into != name else ""
        raise UsageError(f"{kind} {name!r} cannot be merged into itself{undo}")
    # Nothing is ever two steps away: what was read as `name` is now read as its target, too.
    of_kind = merges.c.kind == kind
    conn.execute(update(merges).where(of_kind, merges.c.into_name == name).values(into_name=target))
    conn.execute(delete(merges).where(of_kind, merges.c.name == name))
    conn.execute(insert(conn, merges).values(kind=kind, name=name, into_name=target, merged_us=now_us()))
    return Merge(kind, name, target)


def split(conn: Connection, kind: str, name: str, where: str) -> None:
    """Read `name` as itself again."""
    _require("kind of name", kind, KINDS)
    merged = {each.name for each in all_merges(conn) if each.kind == kind}
    _require(f"merged {kind}", name, merged, where)
    conn.execute(delete(merges).where(merges.c.kind == kind, merges.c.name == name))


def _require(what: str, name: str, valid: Collection[str], where: str = "") -> None:
    if name not in valid:
        raise UnknownName(what, name, valid, where)
