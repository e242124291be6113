"""`hmrouter decisions`: recorded decisions, and what was reported of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmrouter.cli.output import DEFAULT_STORE, Json, Store, console, dollars, echo, percent, print_json, table
from hmrouter.cli.words import counted
from hmrouter.types import LoggedDecision, Revision, Status

if TYPE_CHECKING:
    from hmrouter.store import DecisionCounts


def decisions(
    decision: Annotated[str | None, typer.Argument(help="One decision, with every revision.")] = None,
    is_open: Annotated[
        bool | None, typer.Option("--open/--reported", help="Only those without an outcome, or only the others.")
    ] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", help="Only those of this namespace.")] = None,
    limit: Annotated[int, typer.Option("--limit", help="The newest so many.", min=1)] = 20,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """List recorded decisions, the newest first, and the share of them without an outcome.

    Example: `hmrouter decisions --open`
    Example: `hmrouter decisions --limit 100 --json`
    """
    from hmrouter.store import OutcomeStore

    with OutcomeStore(store, create=False) as kept:
        found = (
            [kept.decision(decision)] if decision else kept.decisions(namespace=namespace, is_open=is_open, limit=limit)
        )
        counts = kept.decision_counts(namespace)
    if as_json:
        print_json("decisions", _document(found, counts))
        return
    out = table("Decisions" if decision is None else f"Decision {decision}", "decision", "made", "task", "route",
                "score", "cost", "said by", "revision")  # fmt: skip
    for logged in found:
        for cells in _rows(logged, every=decision is not None):
            out.add_row(*cells)
    console().print(out)
    echo(f"{counted(counts.decisions, 'decision')}, {counts.open} without an outcome ({percent(counts.open_share)}%).")


def _rows(logged: LoggedDecision, every: bool) -> list[tuple[str, ...]]:
    """Write a line for each report of a decision, or one for an open decision."""
    record = logged.record
    made = record.made.strftime("%Y-%m-%d %H:%M")
    task = (record.task.text or record.task.id).split("\n")[0]
    head = (record.id, made, f"{task[:37]}..." if len(task) > 40 else task)
    if logged.open:
        return [(*head, " > ".join(map(str, record.routes)), "open", "-", "-", "-")]
    replaced = {r.report.attempt: r.number for r in logged.revisions}
    rows = list[tuple[str, ...]]()
    for revision in logged.revisions if every else logged.current:
        told = revision.report
        score = f"{told.score:g}" if told.status is Status.OK and told.score is not None else told.status.value
        number = f"{revision.number} of {replaced[told.attempt]}"
        rows.append((*head, _executed(logged, revision), score, dollars(told.cost), told.source.value, number))
    return rows


def _executed(logged: LoggedDecision, revision: Revision) -> str:
    route = revision.report.outcome(logged.record).route
    return f"{revision.report.attempt}. {route}" if len(logged.record.routes) > 1 else str(route)


def _document(found: list[LoggedDecision], counts: DecisionCounts) -> dict[str, Any]:
    return {
        "decisions": [_one(logged) for logged in found],
        "counts": {"decisions": counts.decisions, "open": counts.open, "open_share": counts.open_share},
    }


def _one(logged: LoggedDecision) -> dict[str, Any]:
    record = logged.record
    return {
        "id": record.id, "kind": record.kind.value, "namespace": record.namespace, "made": record.made.isoformat(),
        "task": {"id": record.task.id, "suite": record.task.suite, "text": record.task.text},
        "routes": [str(route) for route in record.routes],
        "incumbent": None if record.incumbent is None else str(record.incumbent), "snapshot": record.snapshot,
        "explored": record.explored, "tags": dict(record.tags), **record.document,
        "reports": [
            {
                "attempt": r.report.attempt, "revision": r.number, "counts": r in logged.current,
                "reported": r.reported.isoformat(), "source": r.report.source.value, "score": r.report.score,
                "status": r.report.status.value, "cost": r.report.cost, "cost_basis": r.report.cost_basis,
                "seconds": r.report.seconds, "route": str(r.report.outcome(record).route), "note": r.report.note,
            }
            for r in logged.revisions
        ],
    }  # fmt: skip
