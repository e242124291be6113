"""The ledger of executions that the program starts itself, by which a killed process is taken up where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, select, update

from hmrouter.store.schema import attempts, microseconds, moment
from hmrouter.types import Route


class AttemptState(StrEnum):
    """How far an attempt is."""

    STARTED = "started"
    """The harness was started; what it does is lost with the process."""
    RAN = "ran"
    """The harness ended and its changes are on disk; they are not verified yet."""
    ENDED = "ended"
    """It is reported."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One execution: of which plan, how far, and what it left on disk."""

    plan: str
    attempt: int
    route: Route
    folder: str
    """Where its output and its changes are kept."""
    base: str
    """The commit that it started from."""
    batch: str = ""
    """The tasks that it belongs to, if there are many."""
    state: AttemptState = AttemptState.STARTED
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    detail: Mapping[str, Any] = field(default_factory=dict)
    """JSON values: what is known of the execution itself."""


def start(conn: Connection, entry: LedgerEntry) -> None:
    """Write down that an execution starts."""
    conn.execute(
        attempts.insert().values(
            plan=entry.plan, attempt=entry.attempt, route=str(entry.route), folder=entry.folder, base=entry.base,
            batch=entry.batch, state=entry.state.value, started_us=microseconds(entry.started),
            detail=json.dumps(dict(entry.detail)),
        )
    )  # fmt: skip


def advance(conn: Connection, plan: str, attempt: int, state: AttemptState, detail: Mapping[str, Any] | None) -> None:
    """Write down how far an execution is, and what is known of it where that is new."""
    values: dict[str, Any] = {"state": state.value}
    if detail is not None:
        values["detail"] = json.dumps(dict(detail))
    where = (attempts.c.plan == plan, attempts.c.attempt == attempt)
    conn.execute(update(attempts).where(*where).values(**values))


def of_batch(conn: Connection, batch: str) -> list[LedgerEntry]:
    """Read the executions of a batch, by plan and attempt."""
    return _read(conn, attempts.c.batch == batch)


def unfinished(conn: Connection) -> list[LedgerEntry]:
    """Read the executions that are not reported."""
    return _read(conn, attempts.c.state != AttemptState.ENDED.value)


def _read(conn: Connection, condition: Any) -> list[LedgerEntry]:
    asked = select(attempts).where(condition).order_by(attempts.c.plan, attempts.c.attempt)
    return [
        LedgerEntry(
            row.plan, row.attempt, Route.parse(row.route), row.folder, row.base, row.batch, AttemptState(row.state),
            moment(row.started_us) or datetime.now(UTC), json.loads(row.detail),
        )
        for row in conn.execute(asked)
    ]  # fmt: skip
