"""Outcomes at rest: SQLite by default, PostgreSQL by URL.

store.py        OutcomeStore, the only class that others use
url.py          which addresses are stores, and how they are shown without their password
engine.py       connections and transactions of the two databases
failures.py     what a database says -> one clear line
schema.py       the tables as they are now
migrations.py   how a store gets there from any released version
times.py        points in time <-> microseconds
rows.py         an outcome <-> its row
ingest.py       many outcomes in, all or nothing
add_report.py   what came of that, in numbers
reading.py      outcomes out, one at a time
summary.py      what there is, in numbers
runs.py         the runs that outcomes came with, and forgetting one
merges.py       names that are read as another one
suites.py       settings of suites
texts.py        dropping texts, keeping their hashes
size.py         room taken, and giving it back
vectors.py      the cache of embedding vectors
"""

from hmrouter.store.add_report import AddReport
from hmrouter.store.merges import Merge
from hmrouter.store.runs import Forgotten, RunInfo
from hmrouter.store.store import DEFAULT_URL, OutcomeStore
from hmrouter.store.suites import UNCHANGED, SuiteSettings
from hmrouter.store.summary import Summary

__all__ = [
    "DEFAULT_URL",
    "UNCHANGED",
    "AddReport",
    "Forgotten",
    "Merge",
    "OutcomeStore",
    "RunInfo",
    "SuiteSettings",
    "Summary",
]
