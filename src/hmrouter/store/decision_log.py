"""The part of a store that keeps decisions, what was reported of them, and executions under way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection

from hmrouter.store import attempts, decisions
from hmrouter.store.attempts import AttemptState, LedgerEntry
from hmrouter.store.database import TransactionKind
from hmrouter.store.decisions import DecisionCounts, ReportResult
from hmrouter.types import DecisionRecord, LoggedDecision, Report


class DecisionLog(ABC):
    """Decisions and reports in the database of a store."""

    @abstractmethod
    def _transaction(self, begin: TransactionKind) -> AbstractContextManager[Connection]:
        """Begin a transaction."""

    @property
    @abstractmethod
    def _where(self) -> str:
        """The store, for messages."""

    # -- the decision log ---------------------------------------------------------------------------------------

    def record(self, decision: DecisionRecord, *, keep_text: bool = True) -> None:
        """Write a decision to the log, so that what comes of it can be reported. Without `keep_text`, only a hash."""
        with self._transaction(TransactionKind.ALONE) as conn:
            decisions.record(conn, decision, keep_text)

    def report(self, report: Report) -> ReportResult:
        """Add a report to a decision of the log; what it says is an outcome from then on.

        The same report again counts once. Another one for the same attempt replaces it: it is the next revision, and
        those before it stay in the log.
        """
        with self._transaction(TransactionKind.ALONE) as conn:
            return decisions.report(conn, report, self._where)

    def decision(self, decision: str) -> LoggedDecision:
        """Read a decision of the log with its reports."""
        with self._transaction(TransactionKind.SNAPSHOT) as conn:
            return decisions.one(conn, decision, self._where)

    def decisions(
        self, *, namespace: str | None = None, is_open: bool | None = None, limit: int = 100
    ) -> list[LoggedDecision]:
        """Read decisions of the log, the newest first; `is_open`: only those without a report, or only the others."""
        with self._transaction(TransactionKind.SNAPSHOT) as conn:
            return decisions.some(conn, namespace, is_open, limit)

    def decision_counts(self, namespace: str | None = None) -> DecisionCounts:
        """Count the decisions of the log and those without a report."""
        with self._transaction(TransactionKind.SNAPSHOT) as conn:
            return decisions.counts(conn, namespace)

    # -- executions under way -----------------------------------------------------------------------------------

    def start_attempt(self, entry: LedgerEntry, record: DecisionRecord | None = None) -> None:
        """Write down that an execution of a plan starts; `record`: the plan, if this is its first."""
        with self._transaction(TransactionKind.ALONE) as conn:
            if record is not None:
                decisions.record(conn, record, keep_text=True)
            attempts.start(conn, entry)

    def advance_attempt(
        self, plan: str, attempt: int, state: AttemptState, detail: Mapping[str, Any] | None = None
    ) -> None:
        """Write down how far an execution is."""
        with self._transaction(TransactionKind.ALONE) as conn:
            attempts.advance(conn, plan, attempt, state, detail)

    def finish_attempt(self, report: Report, detail: Mapping[str, Any] | None = None) -> ReportResult:
        """Report an execution and mark it as ended, in one transaction: it is never one without the other."""
        with self._transaction(TransactionKind.ALONE) as conn:
            attempts.advance(conn, report.decision, report.attempt, AttemptState.ENDED, detail)
            return decisions.report(conn, report, self._where)

    def attempts(self, batch: str) -> list[LedgerEntry]:
        """Read the executions of a batch, by plan and attempt."""
        with self._transaction(TransactionKind.SNAPSHOT) as conn:
            return attempts.of_batch(conn, batch)

    def unfinished_attempts(self) -> list[LedgerEntry]:
        """Read the executions that are not reported."""
        with self._transaction(TransactionKind.SNAPSHOT) as conn:
            return attempts.unfinished(conn)
