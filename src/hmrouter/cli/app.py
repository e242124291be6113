"""Build the tree of commands."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from hmrouter import __version__
from hmrouter.cli.command import ours

COMMANDS = {
    "import": "import_logs:import_logs",
    "store": "store:app",
    "names": "names:app",
    "history": "history:app",
    "train": "train:train",
    "route": "route:route",
    "plan": "plan:plan",
    "probe": "probe:app",
    "explain": "explain:explain",
    "doctor": "doctor:doctor",
    "run": "run:run",
    "report": "report:report",
    "decisions": "decisions:decisions",
    "bench": "bench:app",
    "demo": "demo:demo",
}
"""For each command its module, and the function or group of commands in it."""


def tree(first: str = "") -> typer.Typer:
    """Build the command line: all commands, or only the one that `first`, the first word typed, names."""
    app = typer.Typer(
        name="hmrouter",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",  # paragraphs of a docstring flow
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Choose the (model, harness) pair for each agent task, learned from your own execution outcomes.\n\n"
        "Start with hmrouter demo; then hmrouter import PATH, hmrouter train, hmrouter route TEXT.\n\n"
        'Example: hmrouter import runs.csv\nExample: hmrouter route "Fix the failing CI job" --max-cost 2',
    )
    app.callback()(_options)
    for name in [first] if first in COMMANDS else COMMANDS:
        module, _, attribute = COMMANDS[name].partition(":")
        found = getattr(import_module(f"hmrouter.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return ours(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hmrouter {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
