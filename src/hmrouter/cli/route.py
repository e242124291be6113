"""`hmrouter route`: a task into a choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.cli.output import (
    DEFAULT_ROUTER,
    Json,
    RouterFile,
    console,
    dollars,
    given_text,
    percent,
    print_json,
    say,
    table,
)
from hmrouter.types import Decision, Task

if TYPE_CHECKING:
    from rich.table import Table

TEXT_LIMIT = 2**20
"""Characters of a task."""
EVIDENCE = "runs of pair / model / harness"


def route(
    text: Annotated[str, typer.Argument(help="The task, as you would give it to an agent; - reads standard input.")],
    router: RouterFile = DEFAULT_ROUTER,
    pool: Annotated[Path | None, typer.Option("--pool", help="TOML file with the routes that may be used.")] = None,
    allow: Annotated[
        list[str] | None, typer.Option("--allow", help="Only these: model=A,B or harness=A,B or harness:model.")
    ] = None,
    deny: Annotated[list[str] | None, typer.Option("--deny", help="Not these; same form as --allow.")] = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", help="Cap on expected dollars per task.")] = None,
    cost_weight: Annotated[
        float | None, typer.Option("--cost-weight", help="Lambda: the success that a dollar must buy.")
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
    suite: Annotated[
        str, typer.Option("--suite", help="Where the task comes from; kept with the decision.")
    ] = "default",
    top: Annotated[int, typer.Option("--top", help="How many candidates to show.")] = 5,
    as_json: Json = False,
) -> None:
    """Choose a (model, harness) pair for a task, with the evidence behind the choice."""
    from hmrouter.decisions import to_dict
    from hmrouter.errors import EmbedderMismatch, InputError
    from hmrouter.pool import canonical_route, read_pool
    from hmrouter.router import Router

    loaded = Router.load(router)
    if embedder is not None and embedder != loaded.embedder.name:
        raise EmbedderMismatch(
            f"{router} was trained with the embedder {loaded.embedder.name!r}, not {embedder!r}; "
            f"leave --embedder out, or train again with: hmrouter train --embedder {embedder}"
        )
    task = Task.of_text(given_text(text, "the task").strip(), suite)
    if len(task.text) > TEXT_LIMIT:
        raise InputError(f"the task has {len(task.text):,} characters; the limit is {TEXT_LIMIT:,}, as in logs")
    if not task.text:
        say("note: the task has no text, so the choice rests on the routes alone")
    decision = loaded.route(
        task,
        pool=read_pool(pool) if pool else None,
        allow=allow or (),
        deny=deny or (),
        max_cost=max_cost,
        cost_weight=cost_weight,
        incumbent=canonical_route(incumbent) if incumbent else None,
        margin=margin,
        top=top,
    )
    if as_json:
        print_json(to_dict(decision))
        return
    console().print(candidates(decision, f"Route: {decision.route}"))
    for reason, n in decision.excluded.items():
        say(f"left out: {n} route{'s' if n > 1 else ''} ({reason})")


def candidates(decision: Decision, title: str) -> Table:
    """The ranked candidates of a decision, with their evidence."""
    # Where the order is not that of success, what it is must be seen.
    weighed = bool(decision.cost_weight) or any(c.merit != c.success for c in decision.ranked)
    sure = decision.interval is not None
    columns = ("route", "success %", *["90% interval", "best %"] * sure, "cost", *["ranked by"] * weighed, EVIDENCE)
    out = table(title, *columns)
    for c in decision.ranked:
        e = c.evidence
        low, high = c.interval or (None, None)
        cells = [percent(c.success)]
        cells += [f"{percent(low, 0)} to {percent(high, 0)}", percent(c.p_best, 0)] * sure
        cells.append(dollars(c.cost) if c.cost_basis in ("route", "unknown") else f"about {dollars(c.cost)}")
        cells += [f"{c.value:.3f}"] * weighed
        cells.append(f"{e.pair if c.observed else 'never'} / {e.model} / {e.harness}")
        out.add_row(str(c.route), *cells)
    return out
