"""`hmrouter plan`: a task into attempts in order, for whoever can check what an attempt gives."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.cli.history import Known, router_of_history
from hmrouter.cli.output import (
    DEFAULT_ROUTER,
    DEFAULT_STORE,
    Json,
    Store,
    console,
    dollars,
    given_text,
    percent,
    print_json,
    say,
    table,
)
from hmrouter.cli.route import TEXT_LIMIT
from hmrouter.cli.words import counted
from hmrouter.types import DEFAULT_SUITE, Plan, Task

if TYPE_CHECKING:
    from hmrouter.router import Router


def plan(
    text: Annotated[
        str, typer.Argument(help="The task; - reads standard input. Without it, the plan is for a usual task.")
    ] = "",
    attempts: Annotated[int, typer.Option("--k", help="Attempts, at most.")] = 3,
    cost_weight: Annotated[
        float | None, typer.Option("--cost-weight", help="Lambda: the success that a dollar must buy.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", help="Expected dollars of the whole plan, at most.")
    ] = None,
    target: Annotated[
        float | None, typer.Option("--target", help="Success, at least: the cheapest plan that reaches, say, 0.9.")
    ] = None,
    false_pass: Annotated[
        float, typer.Option("--false-pass", help="Share of wrong answers that your check passes.")
    ] = 0.0,
    false_fail: Annotated[
        float, typer.Option("--false-fail", help="Share of right answers that your check fails.")
    ] = 0.0,
    router: Annotated[
        str | None,
        typer.Option(
            "--router", help=f"The router file: {DEFAULT_ROUTER}, or without one what is known from other suites.",
            envvar="HMROUTER_ROUTER",
        ),
    ] = None,
    pool: Annotated[Path | None, typer.Option("--pool", help="TOML file with the routes that may be used.")] = None,
    allow: Annotated[
        list[str] | None, typer.Option("--allow", help="Only these: model=A,B or harness=A,B or harness:model.")
    ] = None,
    deny: Annotated[list[str] | None, typer.Option("--deny", help="Not these; same form as --allow.")] = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", help="Cap on expected dollars of each attempt.")
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option("--suite", help="Where the task comes from; without a router file, whose outcomes count as own."),
    ] = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Plan attempts in order: try the first, check what it gives, go on to the next only if the check fails.

    For tasks whose result can be checked, by tests or by a judge. Give one of --cost-weight, --budget and --target, or
    none for the most success. A target may have a budget beside it.
    """
    from hmrouter.errors import InputError
    from hmrouter.plan import Goal, Verifier
    from hmrouter.plan.document import to_dict
    from hmrouter.pool import read_pool
    from hmrouter.router import Router

    said = [v for v in (cost_weight, budget, target) if v is not None]
    goal, verifier = Goal(cost_weight, budget, target), Verifier(false_pass, false_fail)
    task = Task.of_text(given_text(text, "the task").strip(), DEFAULT_SUITE if suite is None else suite)
    if len(task.text) > TEXT_LIMIT:
        raise InputError(f"the task has {len(task.text):,} characters; the limit is {TEXT_LIMIT:,}, as in logs")
    untrained = router is None and not os.path.lexists(DEFAULT_ROUTER)
    loaded: Router = router_of_history(Known.ALL, suite, store) if untrained else Router.load(router or DEFAULT_ROUTER)
    made = loaded.plan(
        task,
        attempts=attempts,
        pool=read_pool(pool) if pool else loaded.known_routes if untrained else None,
        allow=allow or (),
        deny=deny or (),
        max_cost=max_cost,
        goal=goal if said else None,
        verifier=verifier,
    )
    if untrained:
        say("note: there is no router file; this rests on what other suites say and on the store's runs, if any")
    if as_json:
        print_json(to_dict(made))
        return
    _show(made)


def _show(plan: Plan) -> None:
    sure, n = plan.interval is not None, len(plan.attempts)
    title = f"Plan: {percent(plan.success)}% success for {dollars(plan.cost)} with {counted(n, 'attempt')} at most"
    spans = ["90% interval"] * sure
    out = table(title, "attempt", "started %", "alone %", "cost", "so far %", *spans, "cost so far", *spans)
    for number, a in enumerate(plan.attempts, start=1):
        cells = [percent(a.reached), percent(a.success), dollars(a.cost), percent(a.plan_success)]
        cells += [_span(a.plan_interval, lambda v: percent(v, 0))] * sure
        cells.append(dollars(a.plan_cost))
        cells += [_span(a.plan_cost_interval, dollars)] * sure
        out.add_row(f"{number}. {a.route}", *cells)
    console().print(out)
    for reason, n in plan.excluded.items():
        say(f"left out: {counted(n, 'route')} ({reason})")


def _span(interval: tuple[float, float] | None, write: Callable[[float], str]) -> str:
    return "-" if interval is None else f"{write(interval[0])} to {write(interval[1])}"
