"""`hmrouter plan`: plan attempts at a task, for whoever can check the answer of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.cli.asking import (
    Allow,
    CostWeight,
    Deny,
    Elsewhere,
    Family,
    Pool,
    Record,
    RouterFile,
    SuiteOfTask,
    TaskId,
    asked_pool,
    asked_router,
    asked_task,
    kept_in_log,
    say_unknown,
)
from hmrouter.cli.error_words import REASONS
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

if TYPE_CHECKING:
    from hmrouter.router import Router

SELDOM = 0.005
"""Attempts that are started with a lower probability than this are not in the table."""


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
    task_id: TaskId = None,
    family: Family = None,
    history: Elsewhere = None,
    store: Store = DEFAULT_STORE,
    record: Record = False,
    as_json: Json = False,
) -> None:
    """Plan attempts in order: try the first, check what it gives, go on to the next only if the check fails.

    For tasks whose result can be checked, by tests or by a judge. Give one of --cost-weight, --budget and --target, or
    none for the most success. A target may have a budget beside it.

    Example: `hmrouter plan "Fix the failing CI job" --budget 1`
    Example: `hmrouter plan --target 0.9 --false-pass 0.05 --k 2`
    """
    from hmrouter.plan import Goal, VerifierErrors
    from hmrouter.plan.document import recorded, to_dict

    said = [v for v in (cost_weight, budget, target) if v is not None]
    goal, verifier = Goal(cost_weight, budget, target), VerifierErrors(false_pass, false_fail)
    task = asked_task(text, suite, task_id, family)
    loaded, untrained = asked_router(router, history, suite, store)
    made = loaded.plan(
        task,
        attempts=attempts,
        pool=asked_pool(pool) or (loaded.known_routes if untrained else None),
        allow=allow or (),
        deny=deny or (),
        max_cost=max_cost,
        goal=goal if said else None,
        verifier=verifier,
    )
    for note in _notes(loaded, untrained):
        say(f"note: {note}")
    if record:
        kept_in_log(recorded(made), store)
    if as_json:
        print_json("plan", to_dict(made))
        return
    _show(made)


def _notes(router: Router, untrained: bool) -> list[str]:
    """Say how little a plan rests on, where that is so."""
    report, notes = router.report_, list[str]()
    own = counted(report.outcomes, "own run")
    if untrained:
        notes.append(f"there is no router file; this rests on {report.history or f'{own} only'}")
    if not router.snapshot.difficulty.slopes:  # nothing was learned of any route
        few = f"{own} of {counted(report.tasks, 'task')} are few" if report.outcomes else "there are no own runs"
        notes.append(f"{few}: how tasks differ in difficulty is that of usual suites, and the plan is a rough guess")
    return notes


def _show(plan: Plan) -> None:
    from hmrouter.costs.cost import is_guess

    shown = [a for a in plan.attempts if a.reached >= SELDOM]
    last, sure, guessed = shown[-1], plan.interval is not None, any(is_guess(a.cost_basis) for a in shown)
    title = (
        f"Plan: {percent(last.plan_success)}% success for {dollars(last.plan_cost, guessed)} "
        f"with {counted(len(shown), 'attempt')} at most"
    )
    # In two lines, so that a terminal of 100 columns holds all of them.
    priced = any(a.plan_cost_interval is not None for a in shown)
    columns = ("attempt", "own\nruns", "started\n%", "alone\n%", "cost", "so far\n%", *["90%\ninterval"] * sure,
               "cost\nso far", *["90% of\ncost"] * priced)  # fmt: skip
    out = table(title, *columns, least=("90% of\ncost", "90%\ninterval"))
    for number, a in enumerate(shown, start=1):
        cells = [str(a.evidence.pair) if a.observed else "never", percent(a.reached), percent(a.success)]
        cells += [dollars(a.cost, is_guess(a.cost_basis)), percent(a.plan_success)]
        cells += [_span(a.plan_interval, lambda v: percent(v, 0))] * sure
        cells += [dollars(a.plan_cost), *[_span(a.plan_cost_interval, dollars)] * priced]
        out.add_row(f"{number}. {a.route}", *cells)
    console().print(out)
    if seldom := len(plan.attempts) - len(shown):
        say(f"not shown: {counted(seldom, 'attempt')} more, started in less than {percent(SELDOM)}% of cases (--json)")
    for reason, n in plan.excluded.items():
        say(f"left out: {counted(n, 'route')} ({REASONS.get(reason, reason)})")
    say_unknown(plan.unknown)


def _span(interval: tuple[float, float] | None, write: Callable[[float], str]) -> str:
    return "-" if interval is None else f"{write(interval[0])} to {write(interval[1])}"
