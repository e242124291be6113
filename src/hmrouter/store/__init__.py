"""Outcomes at rest: SQLite by default, PostgreSQL by URL.

store.py        OutcomeStore, the only class that others use
url.py          which addresses are stores, and how they are shown without their password
engine.py       connections and transactions of the two databases
failures.py     what a database says -> one clear line
schema.py       the tables as they are now
migrations.py   how a store gets there from any released version
rows.py         an outcome <-> its row
ingest.py       many outcomes in, all or nothing
reading.py      outcomes out, one at a time
vectors.py      the cache of embedding vectors
"""

from hmrouter.store.ingest import AddReport
from hmrouter.store.reading import Summary
from hmrouter.store.rows import text_hash
from hmrouter.store.store import DEFAULT_URL, OutcomeStore

__all__ = ["DEFAULT_URL", "AddReport", "OutcomeStore", "Summary", "text_hash"]
