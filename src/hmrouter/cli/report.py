"""`hmrouter report`: tell what came of a recorded decision."""

from __future__ import annotations

from typing import Annotated

import typer

from hmrouter.cli.output import DEFAULT_STORE, Json, Store, echo, print_json
from hmrouter.types import Billing, LoggedDecision, ReportSource, Status


def report(
    decision: Annotated[str, typer.Argument(help="The id that `route --record` or `plan --record` gave.")],
    score: Annotated[
        float | None, typer.Option("--score", help="How well it did, 0 to 1; none where --status says why.")
    ] = None,
    cost: Annotated[float | None, typer.Option("--cost", help="Dollars.")] = None,
    cost_basis: Annotated[Billing | None, typer.Option("--cost-basis", help="What these dollars are.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", help="How long it took.")] = None,
    status: Annotated[
        Status, typer.Option("--status", help="infra_error: the machinery failed, which says nothing about the pair.")
    ] = Status.OK,
    route: Annotated[
        str | None, typer.Option("--route", help="The pair that was executed, if another than decided.")
    ] = None,
    attempt: Annotated[int | None, typer.Option("--attempt", help="Which attempt of a plan: 1, 2, ...")] = None,
    source: Annotated[ReportSource, typer.Option("--source", help="Who says so.")] = ReportSource.HUMAN,
    note: Annotated[str, typer.Option("--note", help="Why, in a line; kept with the report.")] = "",
    report_id: Annotated[
        str, typer.Option("--id", help="A name of this report: sent again it counts once, whatever came between.")
    ] = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Tell what came of a decision: it becomes an outcome that `hmrouter train` learns from.

    The same report again counts once. Another one for the same decision replaces it (tests were green, then the change
    was reverted); the earlier ones stay in the log. For a plan, report each attempt that was started.

    Example: `hmrouter report 0197a3c2-... --score 1 --cost 0.42 --source ci`
    Example: `hmrouter report 0197a3c2-... --attempt 2 --status infra_error`
    """
    from hmrouter.decide.pool import canonical_route
    from hmrouter.errors import UsageError
    from hmrouter.store import OutcomeStore
    from hmrouter.types import DecisionKind, Report

    if score is None and status is Status.OK:
        raise UsageError("a report needs a score from 0 to 1, or a status infra_error or unknown", argument="score")
    with OutcomeStore(store, create=False) as kept:
        if attempt is None and kept.decision(decision).record.kind is DecisionKind.PLAN:
            raise UsageError("a plan has several attempts; say which one with --attempt", argument="attempt")
        executed = canonical_route(route) if route else None
        told = kept.report(
            Report(
                decision, score, attempt or 1, status, cost, cost_basis, seconds, route=executed, source=source,
                note=note, id=report_id,
            )
        )  # fmt: skip
    following = next_attempt(told.decision)
    if as_json:
        print_json(
            "report",
            {
                "decision": decision, "attempt": attempt or 1, "revision": told.revision, "counted": told.counted,
                "next_attempt": following,
            },
        )  # fmt: skip
        return
    if not told.counted:
        echo(f"Known already: revision {told.revision} of {decision} says the same.")
    elif told.revision > 1:
        echo(f"Replaced: this is revision {told.revision} of {decision}; the earlier ones stay in the log.")
    else:
        echo(f"Reported on {decision}.")
    if following is not None:
        echo(f"Next attempt of the plan, number {following['attempt']}: {following['route']}")


def next_attempt(decision: LoggedDecision) -> dict[str, object] | None:
    """Give the next attempt of a plan; None for a plan that is at its end, or that has passed, or for a decision."""
    current = decision.current
    if not current or any(revision.report.passed for revision in current):
        return None
    number = current[-1].report.attempt + 1
    routes = decision.record.routes
    return {"attempt": number, "route": str(routes[number - 1])} if number <= len(routes) else None
