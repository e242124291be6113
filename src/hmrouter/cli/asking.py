"""Options, task, pool and router of the commands that ask about a task."""

from __future__ import annotations

import os.path
import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.cli.completion import rules
from hmrouter.cli.history import opened_store, router_of_history
from hmrouter.cli.output import DEFAULT_ROUTER, DEFAULT_STORE, given_text, say
from hmrouter.cli.words import counted
from hmrouter.errors import HMRouterError, InputError, UsageError
from hmrouter.types import DEFAULT_SUITE, DecisionKind, DecisionRecord, HistorySources, Route, Status, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hmrouter.router import Router
    from hmrouter.store import OutcomeStore
    from hmrouter.types import UnknownRoute

TEXT_LIMIT = 2**20
"""The most characters that a task may have."""
MOST_UNKNOWN = 5
"""Routes of which nothing is known that are named one by one."""
MOST_COUNTED = 20_000
"""The most outcomes of a store that are counted one by one to see whether a router is out of date."""

RouterFile = Annotated[
    str | None,
    typer.Option(
        "--router",
        help=f"The file that hmrouter train wrote; {DEFAULT_ROUTER} if it is here. Without a file the answer comes "
        "from the store and from --history.",
        envvar="HMROUTER_ROUTER",
    ),
]
Pool = Annotated[
    Path | None,
    typer.Option("--pool", help='TOML file with the routes that may be used, such as routes = ["codex:gpt-5"].'),
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", help="Only these: model=A,B or harness=A,B or harness:model.", autocompletion=rules),
]
Deny = Annotated[
    list[str] | None, typer.Option("--deny", help="Not these; same form as --allow.", autocompletion=rules)
]
CostWeight = Annotated[float | None, typer.Option("--cost-weight", help="Lambda: the success that a dollar must buy.")]
SuiteOfTask = Annotated[
    str | None,
    typer.Option("--suite", help="Where the task comes from; without a router file, whose outcomes count as own."),
]
TaskId = Annotated[
    str | None, typer.Option("--task", help="The task's id in your logs, where its text alone does not tell.")
]
Family = Annotated[str | None, typer.Option("--family", help="What the task is a variant of, as it was imported.")]
Elsewhere = Annotated[
    HistorySources | None,
    typer.Option("--history", help="Without a router file, what of other suites has a say; all if not said."),
]


Record = Annotated[
    bool, typer.Option("--record", help="Keep it in the store's log, for hmrouter report to tell what came of it.")
]


def kept_in_log(record: DecisionRecord, store: str) -> None:
    """Write a decision to the log of the store and say how to report on it."""
    from hmrouter.store import OutcomeStore

    with OutcomeStore(store) as kept:
        kept.record(record)
    number = " --attempt 1" if record.kind is DecisionKind.PLAN else ""
    say(f"recorded {record.id}; tell what came of it with: hmrouter report {record.id}{number} --score 1 --cost 0.42")


def asked_task(text: str, suite: str | None, task_id: str | None = None, family: str | None = None) -> Task:
    """Make the task that is asked about; `-` stands for standard input."""
    task = Task.of_text(given_text(text, "the task").strip(), DEFAULT_SUITE if suite is None else suite)
    if task_id or family:
        task = replace(task, id=task_id or task.id, meta={"family": family} if family else {})
    if len(task.text) > TEXT_LIMIT:
        raise InputError(f"the task has {len(task.text):,} characters; the limit is {TEXT_LIMIT:,}, as in logs")
    return task


def asked_pool(file: Path | None) -> tuple[Route, ...] | None:
    """Read the routes of a pool file; None without a file."""
    from hmrouter.decide.pool import read_pool

    if file is not None and not os.path.lexists(file):
        raise InputError(
            f"cannot read the pool file {file}: No such file or directory; write one that holds "
            'routes = ["codex:gpt-5"], or leave --pool out'
        )
    return None if file is None else read_pool(file)


def asked_router(
    router: str | None, history: HistorySources | None, suite: str | None, store: str, embedder: str = "lsa"
) -> tuple[Router, bool]:
    """Return the router that answers, and whether it is untrained: made of the store and other suites, no file."""
    from hmrouter.router import Router
    from hmrouter.store.glance import count_outcomes

    if router is None and not os.path.lexists(DEFAULT_ROUTER):
        return router_of_history(history or HistorySources.ALL, suite, store, embedder), True
    file = router or DEFAULT_ROUTER
    loaded = Router.load(file)
    if history is not None and (history is not HistorySources.NONE or loaded.report_.history is not None):
        raise UsageError(
            f"{file} was trained with what it knows of other suites; leave --history out, "
            f"or train again with: hmrouter train --history {history}"
        )
    rows = count_outcomes(store)
    if rows is not None and rows <= _known(loaded):  # the usual case, which must cost nothing
        return loaded, False
    # The answer does not need the store: one that is not there, is locked or is no store at all is no reason to fail.
    with suppress(HMRouterError, OSError), opened_store(_soon(store), timeout=1.0) as kept:
        if kept is not None and (note := stale(loaded, file, kept, store)):
            say(f"note: {note}")
    return loaded, False


def stale(router: Router, file: str, store: OutcomeStore, address: str) -> str:
    """Say that a router is out of date when the store has more outcomes of its suites than it knows; else nothing."""
    from hmrouter.store.database import parse, shown

    known = _known(router)
    if store.count() <= known:
        return ""
    suites = store.suites()
    own = [suite for suite in router.report_.suites if suite in suites]
    rows = sum(suites[suite] for suite in own)
    if rows <= MOST_COUNTED:
        # As a router counts: a row may stand for several executions, or for none (a run that never took place).
        rows = sum(o.n_trials if o.status is Status.OK else 1 for suite in own for o in store.outcomes(suite))
    elif rows <= known + router.report_.cells:
        return ""  # the difference may be rows that stand for none
    if rows <= known:
        return ""
    again = ["hmrouter", "train"]
    if address not in (DEFAULT_STORE, os.environ.get("HMROUTER_STORE")):
        again += ["--store", shown(parse(address))]  # never with a password
    if {*own} != {*suites}:
        again += [word for suite in own for word in ("--suite", suite)]
    if router.scorer.name != "safe":
        again += ["--scorer", router.scorer.name]
    if file != DEFAULT_ROUTER:
        again += ["--out", file]
    return (
        f"{file} was trained on {counted(known, 'outcome')}, the store now has {rows:,}; "
        f"train again with: {shlex.join(again)}"
    )


def _known(router: Router) -> int:
    """Count the outcomes that a router was trained on, observed later, or left aside because they have no score."""
    return sum(router.evidence(route).pair for route in router.pool_) + sum(router.report_.ignored.values())


def _soon(store: str) -> str:
    """Return the store's address with a short timeout, so that a database that does not answer is not waited for."""
    if not store.startswith("postgres") or "connect_timeout" in store:
        return store
    return f"{store}{'&' if '?' in store else '?'}connect_timeout=2"


def say_unknown(routes: Sequence[UnknownRoute]) -> None:
    """Name the routes that were not ranked, as nothing is known of them."""
    from hmrouter.decide.known import in_words

    for unknown in routes[:MOST_UNKNOWN]:
        say(f"not ranked: {in_words(unknown)}")
    if len(routes) > MOST_UNKNOWN:
        say(f"not ranked: {counted(len(routes) - MOST_UNKNOWN, 'route')} more of which nothing is known (--json)")
