"""`hmrouter route`: a task into a choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

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
    DEFAULT_ROUTER,
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
from hmrouter.types import Decision

if TYPE_CHECKING:
    from rich.table import Table

    from hmrouter.decisions import Elsewhere as SeenElsewhere
    from hmrouter.router import Router

EVIDENCE = "runs of pair /\nmodel / harness"
EVIDENCE_AND_MORE = "runs here, suites elsewhere"
"""Where other suites have a say: the same, and how many of them report the pair."""


def route(
    text: Annotated[str, typer.Argument(help="The task, as you would give it to an agent; - reads standard input.")],
    router: RouterFile = None,
    pool: Pool = None,
    allow: Allow = None,
    deny: Deny = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", help="Cap on expected dollars per task.")] = None,
    cost_weight: CostWeight = None,
    budget_per_task: Annotated[
        float | None, typer.Option("--budget-per-task", help="Dollars that a task may cost on average.")
    ] = None,
    incumbent: Annotated[
        str | None, typer.Option("--incumbent", help="The route you use today, left only when the evidence says so.")
    ] = None,
    margin: Annotated[
        float | None, typer.Option("--margin", help="How much better another must be to leave the incumbent: 0.02.")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option("--embedder", help="Insist on this embedder; another one in the file is refused.")
    ] = None,
    suite: SuiteOfTask = None,
    history: Elsewhere = None,
    store: Store = DEFAULT_STORE,
    top: Annotated[int, typer.Option("--top", help="How many candidates to show.")] = 5,
    as_json: Json = False,
) -> None:
    """Choose a (model, harness) pair for a task, with the evidence behind the choice.

    Without a router file the answer rests on the outcomes in the store, if any, and on results of other suites: the
    shipped ones and those of `hmrouter history`.
    """
    from hmrouter.errors import EmbedderMismatch
    from hmrouter.pool import canonical_route, read_pool

    task = asked_task(text, suite)
    loaded, untrained = asked_router(router, history, suite, store, embedder or "lsa")
    if embedder is not None and embedder != loaded.embedder.name:
        raise EmbedderMismatch(
            f"{router or DEFAULT_ROUTER} was trained with the embedder {loaded.embedder.name!r}, not {embedder!r}; "
            f"leave --embedder out, or train again with: hmrouter train --embedder {embedder}"
        )
    if not task.text:
        say("note: the task has no text, so the choice rests on the routes alone")
    default = loaded.known_routes if untrained else None
    decision = loaded.route(
        task,
        pool=read_pool(pool) if pool else default,
        allow=allow or (),
        deny=deny or (),
        max_cost=max_cost,
        cost_weight=cost_weight,
        budget_per_task=budget_per_task,
        incumbent=canonical_route(incumbent) if incumbent else None,
        margin=margin,
        top=top,
    )
    if untrained:
        say(f"note: there is no router file; this rests on {basis(loaded, decision)}")
    show(decision, loaded.elsewhere(decision), as_json)


def basis(router: Router, decision: Decision) -> str:
    """What a decision without a trained router rests on, in a line."""
    elsewhere = router.elsewhere(decision)
    return f"{router.report_.outcomes:,} own runs only" if elsewhere is None else str(elsewhere.background)


def public_answer(
    text: str, allow: Sequence[str] = (), max_cost: float | None = None, top: int = 5
) -> tuple[Decision, SeenElsewhere | None]:
    """The first answer of a fresh installation: from the shipped results alone, whatever else there is."""
    from hmrouter.history.public import shipped
    from hmrouter.router import Router

    router = Router.from_history(shipped())
    decision = router.route(text, allow=allow, max_cost=max_cost, top=top)
    return decision, router.elsewhere(decision)


def show(decision: Decision, elsewhere: SeenElsewhere | None = None, as_json: bool = False) -> None:
    """Print a decision."""
    from hmrouter.decisions import to_dict

    if as_json:
        print_json(to_dict(decision, elsewhere))
        return
    console().print(candidates(decision, f"Route: {decision.route}", elsewhere))
    if decision.budget_per_task is not None:
        say(
            f"budget of {dollars(decision.budget_per_task)} per task: cost weight {decision.cost_weight:.3g}, "
            f"with which tasks are expected to cost {dollars(decision.spend_per_task)} on average"
        )
    for reason, n in decision.excluded.items():
        say(f"left out: {n} route{'s' if n > 1 else ''} ({reason})")


def candidates(decision: Decision, title: str, elsewhere: SeenElsewhere | None = None) -> Table:
    """The ranked candidates of a decision, with their evidence."""
    # Where the order is not that of success, what it is must be seen.
    weighed = bool(decision.cost_weight) or any(c.merit != c.success for c in decision.ranked)
    sure = decision.interval is not None
    told = elsewhere is not None and any(map(any, elsewhere.seen.values()))
    evidence = EVIDENCE_AND_MORE if told else EVIDENCE
    priced = any(c.cost_interval is not None for c in decision.ranked)
    # In two lines, so that a terminal of 100 columns holds all of them.
    columns = ("route", "success\n%", *["90%\ninterval", "best\n%"] * sure, "cost", *["90% of\ncost"] * priced,
               *["ranked\nby"] * weighed, evidence)  # fmt: skip
    out = table(title, *columns)
    for c in decision.ranked:
        e = c.evidence
        low, high = c.interval or (None, None)
        cells = [percent(c.success)]
        cells += [f"{percent(low, 0)} to {percent(high, 0)}", percent(c.p_best, 0)] * sure
        rough = c.cost_interval is None and c.cost_basis not in ("route", "unknown")
        cells.append(f"about {dollars(c.cost)}" if rough else dollars(c.cost))
        around = "-" if c.cost_interval is None else "-".join(dollars(v).removeprefix("$") for v in c.cost_interval)
        cells += [around] * priced
        cells += [f"{c.value:.3f}"] * weighed
        runs = f"{e.pair if c.observed else 'never'} / {e.model} / {e.harness}"
        if elsewhere is not None:
            runs = ", ".join([runs, *(f"{n} {kind}" for kind, n in elsewhere.seen[c.route]._asdict().items() if n)])
        cells.append(runs)
        out.add_row(str(c.route), *cells)
    return out
