"""The command line's tree."""

from __future__ import annotations

from typing import Annotated

import typer

from hmrouter import __version__
from hmrouter.cli import bench, demo, explain, history, import_logs, names, plan, probe, route, store, train

app = typer.Typer(
    name="hmrouter",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # paragraphs of a docstring flow
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Choose the (model, harness) pair for each agent task, learned from your own execution outcomes.",
    epilog="Start with: hmrouter demo. Then: hmrouter import RUNS, hmrouter train, hmrouter route TEXT.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hmrouter {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


app.command("import")(import_logs.import_logs)
app.add_typer(store.app, name="store")
app.add_typer(names.app, name="names")
app.add_typer(history.app, name="history")
app.command("train")(train.train)
app.command("route")(route.route)
app.command("plan")(plan.plan)
app.add_typer(probe.app, name="probe")
app.command("explain")(explain.explain)
app.add_typer(bench.app, name="bench")
app.command("demo")(demo.demo)
