"""Which name each spelling of a model or a harness is read as.

Rows keep what their log said; names are put on them when they are read. So a name that is corrected is corrected for
all that was ever imported. A name that a person gave stays until a person gives another; the others are those of the
package's rules and tables, and follow these when they change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, FromClause, Subquery, Table, and_, delete, func, select, update

from hmrouter.names import Names, canonical_harness, canonical_model, edition
from hmrouter.store.database import TransactionKind, insert, transaction
from hmrouter.store.schema import naming, routes, spellings
from hmrouter.types import Route

CANONICAL: Mapping[str, Callable[[str], str]] = {"model": canonical_model, "harness": canonical_harness}


@dataclass(frozen=True, slots=True)
class Spelling:
    """A model or a harness as logs spell it, and the name that it is read as."""

    kind: str
    spelling: str
    name: str
    given: bool
    """Whether a person gave the name; else the rules and tables of the package did."""


def named_routes() -> Subquery:
    """Select the routes by their names: `id`, `model`, `harness`."""
    return read_through(routes, spellings, "spelling", "name", "named_routes")


def read_through(given: FromClause, table: Table, key: str, name: str, label: str) -> Subquery:
    """Select routes with each model and harness that a table has (by `kind` and `key`) as the `name` it has for it."""
    models, harnesses = (table.alias(f"{label}_{kind}") for kind in ("models", "harnesses"))
    return (
        select(
            given.c.id,
            func.coalesce(models.c[name], given.c.model).label("model"),
            func.coalesce(harnesses.c[name], given.c.harness).label("harness"),
        )
        .outerjoin_from(given, models, and_(models.c.kind == "model", models.c[key] == given.c.model))
        .outerjoin(harnesses, and_(harnesses.c.kind == "harness", harnesses.c[key] == given.c.harness))
        .subquery(label)
    )


def all_spellings(conn: Connection) -> list[Spelling]:
    """List all spellings, by kind and spelling."""
    return [
        Spelling(row.kind, row.spelling, row.name, bool(row.given))
        for row in conn.execute(select(spellings).order_by(spellings.c.kind, spellings.c.spelling))
    ]


def keep(conn: Connection, told: Iterable[Route], names_given: bool) -> None:
    """Note the names of routes that an import brings, in one order of rows for all imports.

    A name that differs from the package's own is a person's and replaces what is noted. One that does not is noted
    where there is none; with `names_given` the person's table holds for every spelling that came with it.
    """
    given: dict[tuple[str, str], tuple[str, bool]] = {}
    own: dict[tuple[str, str], tuple[str, bool]] = {}
    for route in told:
        for kind, spelling, name in zip(CANONICAL, route.spelling, (route.model, route.harness), strict=True):
            by_person = CANONICAL[kind](spelling) != name
            replaces = route.spelled is not None and (by_person or names_given)
            (given if replaces else own)[kind, spelling] = (name, by_person)
    for notes, replace in ((given, True), (own, False)):
        if not notes:
            continue
        statement = insert(conn, spellings)
        changed = statement.on_conflict_do_update(
            index_elements=["kind", "spelling"],
            set_={"name": statement.excluded.name, "given": statement.excluded.given},
        )
        rows = [
            {"kind": kind, "spelling": spelling, "name": name, "given": by_person}
            for (kind, spelling), (name, by_person) in sorted(notes.items())
        ]
        conn.execute(changed if replace else statement.on_conflict_do_nothing(), rows)


def apply(conn: Connection, names: Names) -> list[tuple[Spelling, Spelling]]:
    """Read every spelling by these names from now on; return those that are read otherwise than before."""
    changes = []
    for old in all_spellings(conn):
        name = names.model(old.spelling) if old.kind == "model" else names.harness(old.spelling)
        new = Spelling(old.kind, old.spelling, name, CANONICAL[old.kind](old.spelling) != name)
        if new != old:
            _change(conn, new)
        if new.name != old.name:
            changes.append((old, new))
    return changes


def refresh(engine: Engine) -> None:
    """Make the names anew that nobody gave, if the package's rules and tables are others than when they were made.

    A store that nobody can write to from here is read by the names that it has.
    """
    if engine.url.query.get("mode") == "ro":
        return
    present = edition()
    with transaction(engine, TransactionKind.SNAPSHOT) as conn:
        if conn.scalars(select(naming.c.rules)).all() == [present]:
            return
    with transaction(engine, TransactionKind.ALONE) as conn:
        for old in all_spellings(conn):
            name = CANONICAL[old.kind](old.spelling)
            if not old.given and name != old.name:
                _change(conn, Spelling(old.kind, old.spelling, name, given=False))
        conn.execute(delete(naming))
        conn.execute(naming.insert().values(rules=present))


def _change(conn: Connection, new: Spelling) -> None:
    same = and_(spellings.c.kind == new.kind, spellings.c.spelling == new.spelling)
    conn.execute(update(spellings).where(same).values(name=new.name, given=new.given))
