"""The decision log: decisions as they were made, and reports of what came of them, which are only ever added."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, func, select

from hmrouter.errors import InvalidOutcome, UnknownName, UsageError
from hmrouter.store import ingest, rows
from hmrouter.store.schema import decisions, microseconds, moment, now_us, outcomes, reports, runs
from hmrouter.types import Billing, DecisionKind, DecisionRecord, LoggedDecision, Report, Revision, Route, Status
from hmrouter.types.reports import SOURCE, ReportSource

_SUGGESTED = 1000
_SAID = ("score", "status", "cost", "cost_basis", "seconds", "input_tokens", "cached_tokens", "output_tokens", "route",
         "source", "harness_version", "note")  # fmt: skip
"""What two reports are compared by."""


@dataclass(frozen=True, slots=True)
class ReportResult:
    """What became of a report."""

    counted: bool
    """Whether it said something new; the same report again counts once."""
    revision: int
    """Its number among the reports of the attempt; more than 1: it replaced another."""
    decision: LoggedDecision
    """The decision with all its reports, this one among them."""


@dataclass(frozen=True, slots=True)
class DecisionCounts:
    """How many decisions were made, and of how many nothing is known."""

    decisions: int
    open: int

    @property
    def open_share(self) -> float:
        """The share of decisions without an outcome; 0 where there are none."""
        return self.open / self.decisions if self.decisions else 0.0


def record(conn: Connection, made: DecisionRecord, keep_text: bool) -> None:
    """Write a decision to the log; one whose id is known is refused."""
    row = rows.task_row(made.task, keep_text)
    if conn.scalar(select(exists().where(decisions.c.id == made.id))):
        raise UsageError(f"decision {made.id} is recorded already", argument="decision")
    conn.execute(
        decisions.insert().values(
            **row, id=made.id, namespace=made.namespace, kind=made.kind.value, made_us=microseconds(made.made),
            routes=json.dumps([str(route) for route in made.routes]),
            incumbent=None if made.incumbent is None else str(made.incumbent), snapshot=made.snapshot,
            explored=made.explored, tags=json.dumps(dict(made.tags)) if made.tags else None,
            document=json.dumps(dict(made.document)),
        )
    )  # fmt: skip


def report(conn: Connection, told: Report, where: str) -> ReportResult:
    """Add a report; a report that says what the last one said changes nothing. Outcomes follow the last ones."""
    known = one(conn, told.decision, where)
    if known.record.kind is DecisionKind.ROUTE and told.attempt > 1:
        raise UsageError("is for plans; this decision has one", argument="attempt", value=told.attempt)
    of_attempt = [r for r in known.revisions if r.report.attempt == told.attempt]
    for earlier in of_attempt:
        if told.id and earlier.report.id == told.id:
            if _said(earlier.report) != _said(told):
                raise UsageError(f"report {told.id!r} was sent before and said something else", argument="id")
            return ReportResult(False, earlier.number, known)
    if of_attempt and _said(of_attempt[-1].report) == _said(told):
        return ReportResult(False, of_attempt[-1].number, known)
    now = now_us()
    told = replace(told, when=told.when or moment(now))
    new = Revision(told, len(of_attempt) + 1, moment(now) or datetime.now(UTC))
    revisions = sorted((*known.revisions, new), key=lambda r: (r.report.attempt, r.number))
    after = LoggedDecision(known.record, tuple(revisions))
    conn.execute(reports.insert().values(**_row(told, new.number, now)))
    _replace_outcomes(conn, after)
    return ReportResult(True, new.number, after)


def one(conn: Connection, decision: str, where: str) -> LoggedDecision:
    """Read one decision with its reports."""
    found = _read(conn, [decisions.c.id == decision], limit=1)
    if not found:
        newest = select(decisions.c.id).order_by(decisions.c.id.desc()).limit(_SUGGESTED)
        raise UnknownName("decision", decision, conn.scalars(newest), where)
    return found[0]


def some(conn: Connection, namespace: str | None, is_open: bool | None, limit: int) -> list[LoggedDecision]:
    """Read decisions with their reports, the newest first."""
    conditions: list[ColumnElement[bool]] = []
    if namespace is not None:
        conditions.append(decisions.c.namespace == namespace)
    if is_open is not None:
        conditions.append(~_reported() if is_open else _reported())
    return _read(conn, conditions, limit)


def counts(conn: Connection, namespace: str | None) -> DecisionCounts:
    """Count decisions, and those without a report."""
    of = [] if namespace is None else [decisions.c.namespace == namespace]
    total = conn.scalar(select(func.count()).select_from(decisions).where(*of)) or 0
    without = conn.scalar(select(func.count()).select_from(decisions).where(~_reported(), *of)) or 0
    return DecisionCounts(total, without)


def _reported() -> ColumnElement[bool]:
    return exists().where(reports.c.decision == decisions.c.id)


def _said(told: Report) -> tuple[Any, ...]:
    return tuple(getattr(told, name) for name in _SAID)


def _row(told: Report, number: int, now: int) -> dict[str, Any]:
    if "\0" in told.note + told.id:
        raise InvalidOutcome("the report has a NUL character in its note or id; a store cannot hold it")
    row = {name: getattr(told, name) for name in _SAID}
    return row | {
        "decision": told.decision, "attempt": told.attempt, "revision": number, "report": told.id,
        "reported_us": now, "status": told.status.value, "source": told.source.value,
        "cost_basis": None if told.cost_basis is None else told.cost_basis.value,
        "route": None if told.route is None else str(told.route),
        "when_us": None if told.when is None else microseconds(told.when),
    }  # fmt: skip


def _replace_outcomes(conn: Connection, decision: LoggedDecision) -> None:
    """Let the outcomes of a decision be those of its current reports."""
    same_run = select(runs.c.id).where(runs.c.source == SOURCE, runs.c.run == decision.record.id)
    conn.execute(delete(outcomes).where(outcomes.c.run_id.in_(same_run)))
    ingest.add(conn, [decision.outcomes()], manner=ingest.Manner(keep_text=bool(decision.record.task.text)))


def _read(conn: Connection, conditions: Sequence[ColumnElement[bool]], limit: int) -> list[LoggedDecision]:
    asked = select(decisions).where(*conditions).order_by(decisions.c.id.desc()).limit(limit)
    found = conn.execute(asked).all()
    told: dict[str, list[Revision]] = {row.id: [] for row in found}
    for ids in _parts(list(told)):
        order = (reports.c.decision, reports.c.attempt, reports.c.revision)
        for row in conn.execute(select(reports).where(reports.c.decision.in_(ids)).order_by(*order)):
            told[row.decision].append(_revision(row))
    return [LoggedDecision(_record(row), tuple(told[row.id])) for row in found]


def _parts(ids: list[str], size: int = 500) -> Iterable[list[str]]:
    return (ids[i : i + size] for i in range(0, len(ids), size))


def _record(row: Any) -> DecisionRecord:
    return DecisionRecord(
        kind=DecisionKind(row.kind), task=rows.task_of(row),
        routes=tuple(Route.parse(text) for text in json.loads(row.routes)),
        made=moment(row.made_us) or datetime.now(UTC), document=json.loads(row.document), namespace=row.namespace,
        incumbent=None if row.incumbent is None else Route.parse(row.incumbent), snapshot=row.snapshot,
        explored=row.explored, tags=json.loads(row.tags) if row.tags else {}, id=row.id,
    )  # fmt: skip


def _revision(row: Any) -> Revision:
    told = Report(
        row.decision, row.score, row.attempt, Status(row.status), row.cost,
        None if row.cost_basis is None else Billing(row.cost_basis), row.seconds,
        row.input_tokens, row.cached_tokens, row.output_tokens,
        None if row.route is None else Route.parse(row.route), ReportSource(row.source), row.harness_version,
        row.note, row.report, moment(row.when_us),
    )  # fmt: skip
    return Revision(told, row.revision, moment(row.reported_us) or datetime.now(UTC))
