"""What the third migration computes for outcomes that were stored before rows were known by their content."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from sqlalchemy import Connection, text

from hmrouter.names import canonical_harness, canonical_model
from hmrouter.store.schema import moment
from hmrouter.types import CONTENT_RUN, content_digest

_HASHED = re.compile(r"[0-9a-f]{16}")
_PAGE = 5000
_NUMBERS = (
    "score", "n_trials", "cost", "cost_is_route_mean", "input_tokens", "cached_tokens", "output_tokens", "seconds",
)  # fmt: skip
"""In the order in which `Outcome.content` hashes them."""


def rename_runs(conn: Connection) -> None:
    """Mark the runs that were named by the hash of a file, as those are found by content from now on."""
    hashed = [row for row in conn.execute(text("SELECT id, run FROM runs")).all() if _HASHED.fullmatch(row.run)]
    if hashed:
        conn.execute(
            text("UPDATE runs SET run = :run WHERE id = :id"),
            [{"run": CONTENT_RUN + row.run, "id": row.id} for row in hashed],
        )


def fill(conn: Connection) -> None:
    """Compute the content of every outcome. In runs known by content, running numbers of rows become those among
    identical rows, as an import counts them now."""
    by_content = set(conn.scalars(text("SELECT id FROM runs WHERE run LIKE :begin"), {"begin": f"{CONTENT_RUN}%"}))
    page = text(
        "SELECT * FROM outcomes WHERE (task_id, route_id, run_id, trial) > (:task, :route, :run, :trial)"
        " ORDER BY task_id, route_id, run_id, trial LIMIT :page"
    )
    change = text(
        "UPDATE outcomes SET content = :content, trial = :new"
        " WHERE task_id = :task AND route_id = :route AND run_id = :run AND trial = :trial"
    )
    last = {"task": -1, "route": -1, "run": -1, "trial": ""}
    seen: Counter[str] = Counter()
    cell: tuple[int, ...] = ()
    while rows := conn.execute(page, last | {"page": _PAGE}).all():
        changes = []
        for row in rows:
            if (row.task_id, row.route_id, row.run_id) != cell:
                cell, seen = (row.task_id, row.route_id, row.run_id), Counter()
            last = {"task": row.task_id, "route": row.route_id, "run": row.run_id, "trial": row.trial}
            if row.content:  # renamed by an earlier page
                continue
            content, trial = _content(row), row.trial
            if row.run_id in by_content and trial.isdecimal():
                trial = f"{content}.{seen[content]}"
                seen[content] += 1
            changes.append(last | {"content": content, "new": trial})
        if changes:
            conn.execute(change, changes)


def spell_names(conn: Connection) -> None:
    """Take the names of stored routes as their spellings: how their logs spelled them is not known any more."""
    for kind, canonical in (("model", canonical_model), ("harness", canonical_harness)):
        names = conn.scalars(text(f"SELECT DISTINCT {kind} FROM routes")).all()
        if names:
            conn.execute(
                text("INSERT INTO spellings (kind, spelling, name, given) VALUES (:kind, :name, :name, :given)"),
                [{"kind": kind, "name": name, "given": canonical(name) != name} for name in names],
            )


def _content(row: Any) -> str:
    return content_digest(row.status, [getattr(row, name) for name in _NUMBERS], moment(row.when_us))
