"""Outcomes at rest: SQLite by default, PostgreSQL by URL.

store.py        OutcomeStore, the only class that others use
database.py     addresses, connections and transactions of the two databases, and their errors in clear words
schema.py       the tables as they are now, and points in time as they are kept
migrations.py   how a store gets there from any earlier version
rows.py         an outcome <-> its row, and all outcomes as a stream
told_by_content.py  what the third of these computes for older outcomes
ingest.py       many outcomes in, all or nothing, and a report of them
resolve.py      which stored row each incoming row is, whatever its file is called
spellings.py    which name each spelling of a log is read as
imports.py      what an import added and replaced, and undoing the last one
decision_log.py what OutcomeStore offers of decisions, reports and executions under way
decisions.py    the decision log: decisions, and what was reported of them
attempts.py     executions that the program started itself, and how far they are
runs.py         the runs that outcomes came with, and forgetting one
merges.py       names that are read as another one
suites.py       settings of suites, and dropping texts that are older than these allow
summary.py      counts and room taken, and giving room back
vectors.py      the cache of embedding vectors
glance.py       the number of outcomes, without SQLAlchemy

The names are loaded when they are first used: SQLAlchemy comes with the store, not before.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hmrouter.store.attempts import AttemptState, LedgerEntry
    from hmrouter.store.decisions import DecisionCounts, ReportResult
    from hmrouter.store.imports import ImportInfo, UndoReport
    from hmrouter.store.ingest import AddReport, Change, Import
    from hmrouter.store.merges import Merge
    from hmrouter.store.runs import ForgetReport, RunInfo
    from hmrouter.store.spellings import Spelling
    from hmrouter.store.store import DEFAULT_URL, OutcomeStore
    from hmrouter.store.suites import UNCHANGED, SuiteSettings
    from hmrouter.store.summary import Summary

_HOME = {
    "DEFAULT_URL": "store",
    "UNCHANGED": "suites",
    "AddReport": "ingest",
    "AttemptState": "attempts",
    "Change": "ingest",
    "DecisionCounts": "decisions",
    "ForgetReport": "runs",
    "Import": "ingest",
    "ImportInfo": "imports",
    "LedgerEntry": "attempts",
    "Merge": "merges",
    "OutcomeStore": "store",
    "ReportResult": "decisions",
    "RunInfo": "runs",
    "Spelling": "spellings",
    "SuiteSettings": "suites",
    "Summary": "summary",
    "UndoReport": "imports",
}

__all__ = [
    "DEFAULT_URL",
    "UNCHANGED",
    "AddReport",
    "AttemptState",
    "Change",
    "DecisionCounts",
    "ForgetReport",
    "Import",
    "ImportInfo",
    "LedgerEntry",
    "Merge",
    "OutcomeStore",
    "ReportResult",
    "RunInfo",
    "Spelling",
    "SuiteSettings",
    "Summary",
    "UndoReport",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
