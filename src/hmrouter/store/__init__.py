"""Outcomes at rest: SQLite by default, PostgreSQL by URL.

store.py        OutcomeStore, the only class that others use
database.py     addresses, connections and transactions of the two databases, and their errors in clear words
schema.py       the tables as they are now, and points in time as they are kept
migrations.py   how a store gets there from any earlier version
rows.py         an outcome <-> its row, and all outcomes as a stream
ingest.py       many outcomes in, all or nothing, and a report of them
decision_log.py what OutcomeStore offers of decisions, reports and executions under way
decisions.py    the decision log: decisions, and what was reported of them
attempts.py     executions that the program started itself, and how far they are
runs.py         the runs that outcomes came with, and forgetting one
merges.py       names that are read as another one
suites.py       settings of suites, and dropping texts that are older than these allow
summary.py      counts and room taken, and giving room back
vectors.py      the cache of embedding vectors
"""

from hmrouter.store.attempts import AttemptState, LedgerEntry
from hmrouter.store.decisions import DecisionCounts, ReportResult
from hmrouter.store.ingest import AddReport
from hmrouter.store.merges import Merge
from hmrouter.store.runs import ForgetReport, RunInfo
from hmrouter.store.store import DEFAULT_URL, OutcomeStore
from hmrouter.store.suites import UNCHANGED, SuiteSettings
from hmrouter.store.summary import Summary

__all__ = [
    "DEFAULT_URL",
    "UNCHANGED",
    "AddReport",
    "AttemptState",
    "DecisionCounts",
    "ForgetReport",
    "LedgerEntry",
    "Merge",
    "OutcomeStore",
    "ReportResult",
    "RunInfo",
    "SuiteSettings",
    "Summary",
]
