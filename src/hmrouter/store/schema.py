"""The tables as they are now; `migrations.py` makes them, and a test holds the two together.

A task, a route and a run are stored once and outcomes point to them by number. Times are microseconds since 1970
in UTC: both databases keep them exactly and can calculate with them.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
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

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

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
    Column("added_us", BigInteger),  # since when the text is here, or the task where it has none
    UniqueConstraint("suite", "task"),
)

# As logs spell them: `spellings` says which names these are read as.
routes = Table(
    "routes",
    _metadata,
    Column("id", BigInteger, primary_key=True),
    Column("model", _Name, nullable=False),
    Column("harness", _Name, nullable=False),
    UniqueConstraint("model", "harness"),
)

spellings = Table(
    "spellings",
    _metadata,
    Column("kind", _Name, primary_key=True),  # model or harness
    Column("spelling", _Name, primary_key=True),
    Column("name", _Name, nullable=False),
    Column("given", Boolean, nullable=False),  # by a person; else by the rules and tables of the package
)

# By which rules and tables the names were made that nobody gave: one row.
naming = Table("naming", _metadata, Column("rules", _Name, primary_key=True))

runs = Table(
    "runs",
    _metadata,
    Column("id", BigInteger, primary_key=True),
    Column("source", _Name, nullable=False),
    Column("run", _Name, nullable=False),
    Column("added_us", BigInteger),  # NULL: by a version that did not note it
    Column("spelled", Boolean, nullable=False),  # false: how the log spells its routes is not known
    UniqueConstraint("source", "run"),
)


def _measured() -> list[Column[object]]:
    """Make the columns of an outcome apart from its key; fresh ones, because each belongs to one table."""
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
        Column("token_cost", Double),
        Column("model_version", _Name, nullable=False),
        Column("harness_version", _Name, nullable=False),
        Column("dataset_version", _Name, nullable=False),
        Column("attempt", BigInteger, nullable=False),
    ]


outcomes = Table(
    "outcomes",
    _metadata,
    Column("task_id", BigInteger, primary_key=True),
    Column("route_id", BigInteger, primary_key=True),
    Column("run_id", BigInteger, primary_key=True),
    Column("trial", _Name, primary_key=True),
    *_measured(),
    Column("content", _Name, nullable=False),  # the hash of what was measured
    Column("import_id", BigInteger),  # NULL: added by no import that could be undone
    Index("outcomes_by_run", "run_id"),
    Index("outcomes_by_import", "import_id"),
)

imports = Table(
    "imports",
    _metadata,
    Column("id", BigInteger, primary_key=True),
    Column("token", _Name, nullable=False),  # of the command, whose logs are added one by one
    Column("what", Text, nullable=False),
    Column("added_us", BigInteger, nullable=False),
    UniqueConstraint("token"),
)

# Outcomes as they were before an import replaced them, to undo it.
replaced = Table(
    "replaced",
    _metadata,
    Column("import_id", BigInteger, primary_key=True),
    Column("task_id", BigInteger, primary_key=True),
    Column("route_id", BigInteger, primary_key=True),
    Column("run_id", BigInteger, primary_key=True),
    Column("trial", _Name, primary_key=True),
    *_measured(),
    Column("content", _Name, nullable=False),
)

# Names that are read as another one of their kind; the rows that carry them stay as they are.
merges = Table(
    "merges",
    _metadata,
    Column("kind", _Name, primary_key=True),  # model or harness
    Column("name", _Name, primary_key=True),
    Column("into_name", _Name, nullable=False),  # never merged itself
    Column("merged_us", BigInteger, nullable=False),
)

suites = Table(
    "suites",
    _metadata,
    Column("suite", _Name, primary_key=True),
    Column("half_life_days", Double),
    Column("text_days", Double),
)

embeddings = Table(
    "embeddings",
    _metadata,
    Column("embedder", _Name, primary_key=True),
    Column("text_hash", _Name, primary_key=True),
    Column("dims", Integer, nullable=False),
    Column("vector", LargeBinary, nullable=False),
)

# The decision log. A decision is written once; reports are only ever added, and the last of an attempt counts.
decisions = Table(
    "decisions",
    _metadata,
    Column("id", _Name, primary_key=True),  # a UUID of version 7: in the order of time
    Column("namespace", _Name, nullable=False),
    Column("kind", _Name, nullable=False),  # route or plan
    Column("suite", _Name, nullable=False),
    Column("task", _Name, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_hash", _Name),
    Column("meta", Text),
    Column("made_us", BigInteger, nullable=False),
    Column("routes", Text, nullable=False),  # JSON: the chosen one, or those of the plan
    Column("incumbent", Text),
    Column("snapshot", Text, nullable=False),
    Column("explored", Boolean, nullable=False),
    Column("tags", Text),
    Column("document", Text, nullable=False),
)

reports = Table(
    "reports",
    _metadata,
    Column("decision", _Name, primary_key=True),
    Column("attempt", BigInteger, primary_key=True),
    Column("revision", BigInteger, primary_key=True),
    Column("report", _Name, nullable=False),  # the sender's own id, or empty
    Column("reported_us", BigInteger, nullable=False),
    Column("source", _Name, nullable=False),
    Column("score", Double),
    Column("status", _Name, nullable=False),
    Column("cost", Double),
    Column("cost_basis", _Name),
    Column("seconds", Double),
    Column("input_tokens", BigInteger),
    Column("cached_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("route", _Name),  # the executed one, NULL: as decided
    Column("harness_version", _Name, nullable=False),
    Column("note", Text, nullable=False),
    Column("when_us", BigInteger),
)

# The ledger of executions that this program starts itself: what is under way, what it left on disk.
attempts = Table(
    "attempts",
    _metadata,
    Column("plan", _Name, primary_key=True),
    Column("attempt", BigInteger, primary_key=True),
    Column("batch", _Name, nullable=False),
    Column("state", _Name, nullable=False),  # started, ran, ended
    Column("route", _Name, nullable=False),
    Column("folder", Text, nullable=False),
    Column("base", Text, nullable=False),  # the commit that it started from
    Column("started_us", BigInteger, nullable=False),
    Column("detail", Text, nullable=False),  # JSON: what the harness said of itself
    Index("attempts_by_batch", "batch"),
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
    Column("content", _Name, nullable=False),
    Column("source_is_file", Boolean, nullable=False),
    Column("spelled", Boolean, nullable=False),
    # Of the row that it is in the store, once that is found.
    Column("task_id", BigInteger),
    Column("route_id", BigInteger),
    Column("run_id", BigInteger),
    Index("staged_outcomes_by_row", "run_id", "task_id", "route_id", "trial"),
    prefixes=["TEMPORARY"],
)

# Staged outcomes beside stored ones that say the same: of several runs perhaps.
staged_pairs = Table(
    "staged_pairs",
    _metadata,
    Column("run_id", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("task_id", BigInteger, nullable=False),
    Column("route_id", BigInteger, nullable=False),
    Column("trial", _Name, nullable=False),
    Column("telling", Integer, nullable=False),
    Index("staged_pairs_by_row", "run_id", "task_id", "route_id", "trial"),
    prefixes=["TEMPORARY"],
)

# Staged outcomes beside the stored ones that they correct, of one run.
staged_corrections = Table(
    "staged_corrections",
    _metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("route_id", BigInteger, nullable=False),
    Column("trial", _Name, nullable=False),
    prefixes=["TEMPORARY"],
)

# Which stored routes a staged one may be, in runs that were stored by name only.
staged_routes = Table(
    "staged_routes",
    _metadata,
    Column("route_id", BigInteger, primary_key=True, autoincrement=False),
    Column("stored_id", BigInteger, primary_key=True, autoincrement=False),
    prefixes=["TEMPORARY"],
)

KEPT = (
    schema_version, tasks, routes, spellings, naming, runs, outcomes, imports, replaced, merges, suites, embeddings,
    decisions, reports, attempts,
)  # fmt: skip
STAGED = (staged_tasks, staged_outcomes, staged_routes, staged_pairs, staged_corrections)
MEASURED = tuple(column.name for column in _measured())
KEY = ("task_id", "route_id", "run_id", "trial")


def now_us() -> int:
    """Tell the present time as it is kept."""
    return time.time_ns() // 1000


def microseconds(when: datetime) -> int:
    """Turn a time into microseconds as they are kept; one without a zone is taken as UTC.

    >>> microseconds(datetime(1970, 1, 2))
    86400000000
    """
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (aware.astimezone(UTC) - _EPOCH) // _MICROSECOND


def moment(us: int | None) -> datetime | None:
    """Turn kept microseconds back into a time in UTC, if there is one."""
    return None if us is None else _EPOCH + timedelta(microseconds=us)
