"""`hmrouter plan`: a task into attempts in order, for whoever can check what an attempt gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from hmrouter.cli.asking import (
    Allow,
    CostWeight,
    Deny,
    Elsewhere,
    Pool,
    RouterFile,
    SuiteOfTask,
    asked_router,
    asked_task,
)
from hmrouter.cli.output import (
    DEFAULT_STORE,
    Json,
    Store,
    console,
    dollars,
    percent,
    print_json,
    say,
    table,
)
from hmrouter.cli.words import counted
from hmrouter.types import Plan


def plan(
    text: Annotated[
        str, typer.Argument(help="The task; - reads standard input. Without it, the plan is for a usual task.")
    ] = "",
    attempts: Annotated[int, typer.Option("--k", help="Attempts, at most.")] = 3,
    cost_weight: CostWeight = None,
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
    router: RouterFile = None,
    pool: Pool = None,
    allow: Allow = None,
    deny: Deny = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", help="Cap on expected dollars of each attempt.")
    ] = None,
    suite: SuiteOfTask = None,
    history: Elsewhere = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Plan attempts in order: try the first, check what it gives, go on to the next only if the check fails.

    For tasks whose result can be checked, by tests or by a judge. Give one of --cost-weight, --budget and --target, or
    none for the most success. A target may have a budget beside it.
    """
    from hmrouter.plan import Goal, Verifier
    from hmrouter.plan.document import to_dict
    from hmrouter.pool import read_pool

    said = [v for v in (cost_weight, budget, target) if v is not None]
    goal, verifier = Goal(cost_weight, budget, target), Verifier(false_pass, false_fail)
    task = asked_task(text, suite)
    loaded, untrained = asked_router(router, history, suite, store)
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
