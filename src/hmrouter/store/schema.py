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
    and_,
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
    Column("added_us", BigInteger),  # NULL: by a version that did not note it
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
    Index("outcomes_by_run", "run_id"),
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
    prefixes=["TEMPORARY"],
)

# Staged outcomes beside the rows that their names stand for, once those are in their places.
staged_found = (
    staged_outcomes.join(tasks, and_(tasks.c.suite == staged_outcomes.c.suite, tasks.c.task == staged_outcomes.c.task))
    .join(routes, and_(routes.c.model == staged_outcomes.c.model, routes.c.harness == staged_outcomes.c.harness))
    .join(runs, and_(runs.c.source == staged_outcomes.c.source, runs.c.run == staged_outcomes.c.run))
)

KEPT = (schema_version, tasks, routes, runs, outcomes, merges, suites, embeddings, decisions, reports, attempts)
STAGED = (staged_tasks, staged_outcomes)
MEASURED = tuple(column.name for column in _measured())


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
