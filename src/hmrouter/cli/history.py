"""`hmrouter history`: tables of results that inform suites with few outcomes, and what has a say about one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmrouter.cli.output import DEFAULT_STORE, Json, console, echo, print_json, say, table
from hmrouter.cli.words import counted
from hmrouter.types import HistorySources

if TYPE_CHECKING:
    from hmrouter.history.public import HistoryTables
    from hmrouter.router import Router
    from hmrouter.store import OutcomeStore

app = typer.Typer(
    no_args_is_help=True,
    help="Results of other suites, which inform a suite with few outcomes or none. Example: hmrouter history list",
)
MOST_SHOWN = 20
"""How many unusable rows of a table are reported one by one."""
TRAINED = "A router that is trained already knows nothing of this change until: hmrouter train"


HistoryOption = Annotated[
    HistorySources,
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
        echo("No table is in use. The shipped one comes back with: hmrouter history add public")
        echo("Tables of your own: hmrouter history add FILE")
        return
    shown = table("Results of other suites", "table", "results", "routes", "suites", "newest")
    for row in rows:
        counts = [str(row["results"]), str(row["routes"]), str(len(row["suites"]))]
        shown.add_row(row["name"], *counts, row["newest"] or "-")
    console().print(shown)
    echo(f"Your own tables are kept in {tables.folder.path}.")


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
    echo(f"{did} {name}: {counted(row['results'], 'result')} of {routes} on {suites}.")
    echo(TRAINED)
    echo("Next, without a router file: hmrouter route TEXT")


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
    echo(f"Removed {name}{back}.")
    echo(TRAINED)


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


def router_of_history(
    history: HistorySources, suite: str | None, store: str = DEFAULT_STORE, embedder: str = "lsa"
) -> Router:
    """Make a router without a router file: from own outcomes in the store, if any, and results of other suites."""
    from hmrouter.errors import InputError
    from hmrouter.router import Router
    from hmrouter.workload import Workload

    with opened_store(store) as kept:
        suites = [] if suite is None else [suite]
        workload = Workload.of_store(kept, suites=suites, history=history, new_suites=True)
        if not workload.records and not len(workload.data.cells):
            if history is HistorySources.NONE:
                raise InputError(
                    "there is no router file and no outcome in the store, and --history none leaves nothing else; "
                    "import outcomes with: hmrouter import PATH, or leave --history out"
                )
            raise InputError(
                "there is no router file, no outcome in the store and no table of results that may have a say; "
                "import outcomes with: hmrouter import PATH, or see: hmrouter history list"
            )
        return Router(embedder=embedder).learn(workload, kept)


def opened_store(store: str, timeout: float = 300.0) -> AbstractContextManager[OutcomeStore | None]:
    """Open the store; give None where it is the default one and not there, as before the first import.

    `timeout`: seconds to wait for another writer.
    """
    if store == DEFAULT_STORE and not Path(DEFAULT_STORE.removeprefix("sqlite:///")).exists():
        return nullcontext()
    from hmrouter.store import OutcomeStore

    return OutcomeStore(store, create=False, timeout=timeout)
