"""What commands that ask about a task have in common: their options, the task, and the router that answers."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.cli.history import Known, router_of_history
from hmrouter.cli.output import DEFAULT_ROUTER, given_text
from hmrouter.types import DEFAULT_SUITE, Task

if TYPE_CHECKING:
    from hmrouter.router import Router

TEXT_LIMIT = 2**20
"""Characters of a task."""

RouterFile = Annotated[
    str | None,
    typer.Option(
        "--router", help=f"The router file: {DEFAULT_ROUTER}, or without one --history.", envvar="HMROUTER_ROUTER"
    ),
]
Pool = Annotated[Path | None, typer.Option("--pool", help="TOML file with the routes that may be used.")]
Allow = Annotated[
    list[str] | None, typer.Option("--allow", help="Only these: model=A,B or harness=A,B or harness:model.")
]
Deny = Annotated[list[str] | None, typer.Option("--deny", help="Not these; same form as --allow.")]
CostWeight = Annotated[float | None, typer.Option("--cost-weight", help="Lambda: the success that a dollar must buy.")]
SuiteOfTask = Annotated[
    str | None,
    typer.Option("--suite", help="Where the task comes from; without a router file, whose outcomes count as own."),
]
Elsewhere = Annotated[
    Known | None,
    typer.Option("--history", help="Without a router file, what of other suites has a say; all if not said."),
]


def asked_task(text: str, suite: str | None) -> Task:
    """The task that is asked about; - stands for standard input."""
    from hmrouter.errors import InputError

    task = Task.of_text(given_text(text, "the task").strip(), DEFAULT_SUITE if suite is None else suite)
    if len(task.text) > TEXT_LIMIT:
        raise InputError(f"the task has {len(task.text):,} characters; the limit is {TEXT_LIMIT:,}, as in logs")
    return task


def asked_router(
    router: str | None, history: Known | None, suite: str | None, store: str, embedder: str = "lsa"
) -> tuple[Router, bool]:
    """The router that answers, and whether it is untrained: made of the store and of other suites, without a file."""
    from hmrouter.errors import UsageError
    from hmrouter.router import Router

    if router is None and not os.path.lexists(DEFAULT_ROUTER) and history is not Known.NONE:
        return router_of_history(history or Known.ALL, suite, store, embedder), True
    loaded = Router.load(router or DEFAULT_ROUTER)
    if history is not None and (history is not Known.NONE or loaded.report_.history is not None):
        raise UsageError(
            f"{router or DEFAULT_ROUTER} was trained with what it knows of other suites; leave --history out, "
            f"or train again with: hmrouter train --history {history}"
        )
    return loaded, False
