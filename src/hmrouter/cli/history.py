"""`hmrouter history`: tables of results that inform suites with few outcomes, and what has a say about one."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmrouter.cli.output import DEFAULT_STORE, Json, console, print_json, say, table
from hmrouter.cli.words import counted

if TYPE_CHECKING:
    from hmrouter.evidence.dataset import Dataset
    from hmrouter.evidence.fading import HalfLife
    from hmrouter.history.public import HistoryTables
    from hmrouter.history.records import Record
    from hmrouter.router import Router
    from hmrouter.store import OutcomeStore

app = typer.Typer(
    no_args_is_help=True,
    help="Results of other suites, which inform a suite with few outcomes or none. Example: hmrouter history list",
)
MOST_SHOWN = 20
"""How many rows of a table that cannot be used are told one by one."""
TRAINED = "A router that is trained already knows nothing of this change until: hmrouter train"


class Known(StrEnum):
    """What of other suites has a say."""

    NONE = "none"
    STORE = "store"
    PUBLIC = "public"
    ALL = "all"


HistoryOption = Annotated[
    Known,
    typer.Option(
        "--history",
        help="What of other suites has a say: nothing, those of the store, tables of results (hmrouter history), all.",
    ),
]

# -- commands -------------------------------------------------------------------------------------------------------


@app.command("list")
def list_tables(as_json: Json = False) -> None:
    """Show the tables in use: how many results, of which suites and from when.

    Example: `hmrouter history list`
    """
    from hmrouter.history.public import HistoryTables

    tables = HistoryTables()
    rows = [_summary(tables, name) for name in tables.names()]
    if as_json:
        print_json({"folder": str(tables.folder.path), "tables": rows})
        return
    if not rows:
        typer.echo("No table is in use. The shipped one comes back with: hmrouter history add public")
        typer.echo("Tables of your own: hmrouter history add FILE")
        return
    shown = table("Results of other suites", "table", "results", "routes", "suites", "newest")
    for row in rows:
        counts = [str(row["results"]), str(row["routes"]), str(len(row["suites"]))]
        shown.add_row(row["name"], *counts, row["newest"] or "-")
    console().print(shown)
    typer.echo(f"Your own tables are kept in {tables.folder.path}.")


@app.command()
def add(
    file: Annotated[str, typer.Argument(help="A CSV or TOML file, or `public`: the shipped table, after a removal.")],
    name: Annotated[
        str | None,
        typer.Option("--name", help="What to call it, else as the file; a known one is replaced."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Add a table of results: columns suite, model, harness, tasks, mean_score, and if known family, mean_cost, source,
    commit and date.

    Example: `hmrouter history add results.csv`
    """
    from hmrouter.errors import InputError
    from hmrouter.history.public import PUBLIC, HistoryTables

    tables, replaced = HistoryTables(), False
    if file == PUBLIC:
        name = PUBLIC
        tables.show_public()
    else:
        name, replaced, problems = tables.add(Path(file), name)
        for problem in problems[:MOST_SHOWN]:
            say(f"error: {problem}")
        if problems:
            n = counted(len(problems), "row")
            raise InputError(f"{file}: {n} cannot be used, so nothing was added; mend them and add it again")
    row = _summary(tables, name)
    if as_json:
        print_json(row | {"replaced": replaced})
        return
    did = "Replaced" if replaced else "Added"
    routes, suites = counted(row["routes"], "route"), counted(len(row["suites"]), "suite")
    typer.echo(f"{did} {name}: {counted(row['results'], 'result')} of {routes} on {suites}.")
    typer.echo(TRAINED)
    typer.echo("Next, without a router file: hmrouter route TEXT")


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="The table's name, see `hmrouter history list`.")], as_json: Json = False
) -> None:
    """Remove a table; the shipped one is hidden until `hmrouter history add public`.

    Example: `hmrouter history remove results`
    """
    from hmrouter.history.public import PUBLIC, HistoryTables

    HistoryTables().remove(name)
    if as_json:
        print_json({"removed": name})
        return
    back = "; bring it back with: hmrouter history add public" if name == PUBLIC else ""
    typer.echo(f"Removed {name}{back}.")
    typer.echo(TRAINED)


def _summary(tables: HistoryTables, name: str) -> dict[str, Any]:
    from hmrouter.history.public import Background

    records = tables.read(name)
    whole = Background.of(records, 0)
    return {
        "name": name,
        "results": whole.records,
        "routes": whole.routes,
        "suites": list(whole.public_suites),
        "oldest": whole.oldest,
        "newest": whole.newest,
    }


# -- what other commands ask for ------------------------------------------------------------------------------------


def known_elsewhere(
    known: Known, data: Dataset, suites: Collection[str], store: OutcomeStore | None, half_life: HalfLife = None
) -> list[Record]:
    """What has a say about a workload of these suites with the outcomes `data`: tables, other suites of the store."""
    from hmrouter.costs import priced
    from hmrouter.evidence.dataset import Dataset
    from hmrouter.history.families import families_of_suites, own_families
    from hmrouter.history.public import HistoryTables
    from hmrouter.history.records import records_of

    if known is Known.NONE:
        return []
    published = HistoryTables().records() if known in (Known.PUBLIC, Known.ALL) else []
    workload = {*suites, *data.suites}
    others: dict[str, Dataset] = {}
    if store is not None and known in (Known.STORE, Known.ALL):
        others = {
            s: Dataset(priced(store.outcomes(s)), half_life=half_life) for s in store.suites() if s not in workload
        }
    tasks = {s: [t for t in data.tasks if t.suite == s] for s in workload} | {s: d.tasks for s, d in others.items()}
    family = families_of_suites(tasks, published)
    own = {family[s] for s in workload}
    own |= own_families([s for s in family if family[s] in own], published)
    found = [*published, *(record for other in others.values() for record in records_of(other, family))]
    return [record for record in found if record.family not in own]


def router_of_history(known: Known, suite: str | None, store: str = DEFAULT_STORE, embedder: str = "lsa") -> Router:
    """A router without training one: own outcomes of the store, if there is one, and what is known from elsewhere."""
    from hmrouter.costs import priced
    from hmrouter.errors import InputError
    from hmrouter.evidence.dataset import Dataset
    from hmrouter.router import Router

    with opened_store(store) as kept:
        data, fades = Dataset([]), {}
        if kept is not None:
            settings = kept.suite_settings().items()
            fades = {name: s.half_life_days for name, s in settings if s.half_life_days is not None}
            if suite is None or suite in kept.suites():
                data = Dataset(priced(kept.outcomes(suite)), half_life=fades)
        records = known_elsewhere(known, data, [] if suite is None else [suite], kept, fades)
        if not records and not len(data.cells):
            if known is Known.NONE:
                raise InputError(
                    "there is no router file and no outcome in the store, and --history none leaves nothing else; "
                    "import outcomes with: hmrouter import PATH, or leave --history out"
                )
            raise InputError(
                "there is no router file, no outcome in the store and no table of results that may have a say; "
                "import outcomes with: hmrouter import PATH, or see: hmrouter history list"
            )
        return Router(embedder=embedder).fit(data, cache=kept, history=records)


def opened_store(store: str, timeout: float = 300.0) -> AbstractContextManager[OutcomeStore | None]:
    """The store; nothing where it is the default one and not there, as before the first import.

    `timeout`: seconds to wait for another writer.
    """
    if store == DEFAULT_STORE and not Path(DEFAULT_STORE.removeprefix("sqlite:///")).exists():
        return nullcontext()
    from hmrouter.store import OutcomeStore

    return OutcomeStore(store, create=False, timeout=timeout)
