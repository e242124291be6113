"""The tables as they are now; `migrations.py` makes them, and a test holds the two together.

A task, a route and a run are stored once and outcomes point to them by number. Times are microseconds since 1970
in UTC: both databases keep them exactly and can calculate with them.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects import postgresql

# Byte order, as in SQLite and in Python's own sorting; a server's locale would give another order on each machine.
_Name = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")

_metadata = MetaData()

schema_version = Table(
    "schema_version",
    _metadata,
    Column("version", Integer, primary_key=True),
    Column("applied_us", BigInteger, nullable=False),
)

tasks = Table(
    "tasks",
    _metadata,
    Column("id", BigInteger, primary_key=True),
    Column("suite", _Name, nullable=False),
    Column("task", _Name, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_hash", _Name),  # NULL until a text was seen; it stays where the text itself is not kept
    Column("meta", Text),  # JSON, NULL where there is none
    UniqueConstraint("suite", "task"),
)

routes = Table(
    "routes",
    _metadata,
    Column("id", BigInteger, primary_key=True),
    Column("model", _Name, nullable=False),
    Column("harness", _Name, nullable=False),
    UniqueConstraint("model", "harness"),
)

runs = Table(
    "runs",
    _metadata,
    Column("id", BigInteger, primary_key=True),
    Column("source", _Name, nullable=False),
    Column("run", _Name, nullable=False),
    UniqueConstraint("source", "run"),
)


def _measured() -> list[Column[object]]:
    """What an outcome says, apart from its key; fresh columns, because each belongs to one table."""
    return [
        Column("score", Double),
        Column("n_trials", BigInteger, nullable=False),
        Column("status", Text, nullable=False),
        Column("cost", Double),
        Column("cost_is_route_mean", Boolean, nullable=False),
        Column("input_tokens", BigInteger),
        Column("cached_tokens", BigInteger),
        Column("output_tokens", BigInteger),
        Column("seconds", Double),
        Column("when_us", BigInteger),
    ]


outcomes = Table(
    "outcomes",
    _metadata,
    Column("task_id", BigInteger, primary_key=True),
    Column("route_id", BigInteger, primary_key=True),
    Column("run_id", BigInteger, primary_key=True),
    Column("trial", _Name, primary_key=True),
    *_measured(),
)

embeddings = Table(
    "embeddings",
    _metadata,
    Column("embedder", _Name, primary_key=True),
    Column("text_hash", _Name, primary_key=True),
    Column("dims", Integer, nullable=False),
    Column("vector", LargeBinary, nullable=False),
)

# What an import has read so far, in tables that only its own connection sees and that end with its transaction.
staged_tasks = Table(
    "staged_tasks",
    _metadata,
    Column("suite", _Name, primary_key=True),
    Column("task", _Name, primary_key=True),
    Column("text", Text, nullable=False),
    Column("text_hash", _Name),
    Column("meta", Text),
    prefixes=["TEMPORARY"],
)

staged_outcomes = Table(
    "staged_outcomes",
    _metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    *(Column(name, _Name, nullable=False) for name in ("suite", "task", "model", "harness", "source", "run", "trial")),
    *_measured(),
    prefixes=["TEMPORARY"],
)

KEPT = (schema_version, tasks, routes, runs, outcomes, embeddings)
STAGED = (staged_tasks, staged_outcomes)
MEASURED = tuple(column.name for column in _measured())
