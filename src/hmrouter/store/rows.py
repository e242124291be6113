"""An outcome <-> its row."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from hmrouter.errors import InvalidOutcome
from hmrouter.types import Outcome, Route, Status, Task

Row = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LARGEST = 2**63 - 1
# Two names of this many bytes fit into one index entry of PostgreSQL (2704 bytes).
_NAME_BYTES = 1000


def text_hash(text: str) -> str:
    """What identifies a text in the store and in the cache of vectors.

    >>> text_hash("Fix the failing CI job")[:16]
    'c923006d4049edfa'
    """
    return hashlib.sha256(text.encode()).hexdigest()


def task_row(task: Task) -> Row:
    """A task as it is staged."""
    _check_text(task, task.text)
    return {
        "suite": task.suite,
        "task": task.id,
        "text": task.text,
        "text_hash": text_hash(task.text) if task.text else None,
        "meta": _json(task) if task.meta else None,
    }


def outcome_row(outcome: Outcome, position: int) -> Row:
    """An outcome as it is staged; `position` is its place in the import."""
    together = "".join(outcome.key)
    _check_text(outcome.task, together)
    if len(together) > _NAME_BYTES // 4:  # else it cannot be too long in any script
        _check_lengths(outcome)
    suite, source, run, task, model, harness, trial = outcome.key
    return {
        "position": position,
        "suite": suite, "task": task, "model": model, "harness": harness,
        "source": source, "run": run, "trial": trial,
        "score": _float(outcome.score),
        "n_trials": _int(outcome, outcome.n_trials),
        "status": outcome.status.value,
        "cost": _float(outcome.cost),
        "cost_is_route_mean": bool(outcome.cost_is_route_mean),
        "input_tokens": _int(outcome, outcome.input_tokens),
        "cached_tokens": _int(outcome, outcome.cached_tokens),
        "output_tokens": _int(outcome, outcome.output_tokens),
        "seconds": _float(outcome.seconds),
        "when_us": None if outcome.when is None else _microseconds(outcome, outcome.when),
    }  # fmt: skip


def task_of(row: Any) -> Task:
    """A task from its row."""
    return Task(id=row.task, suite=row.suite, text=row.text, meta=json.loads(row.meta) if row.meta else {})


def outcome_of(row: Any, task: Task, route: Route) -> Outcome:
    """An outcome from its row, on a task and a route that it shares with others."""
    return Outcome(
        task, route, row.score,
        n_trials=row.n_trials, status=Status(row.status),
        cost=row.cost, cost_is_route_mean=row.cost_is_route_mean,
        input_tokens=row.input_tokens, cached_tokens=row.cached_tokens, output_tokens=row.output_tokens,
        seconds=row.seconds,
        when=None if row.when_us is None else _EPOCH + timedelta(microseconds=row.when_us),
        source=row.source, run=row.run, trial=row.trial,
    )  # fmt: skip


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)  # NumPy's numbers are strangers to the drivers


def _int(outcome: Outcome, value: int | None) -> int | None:
    if value is None:
        return None
    if value > _LARGEST:
        raise InvalidOutcome(f"task {outcome.task.id!r}: {value} is too large a count; at most {_LARGEST}")
    return int(value)


def _microseconds(outcome: Outcome, when: datetime) -> int:
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)  # a time without a zone is taken as UTC
    try:
        return (aware.astimezone(UTC) - _EPOCH) // _MICROSECOND
    except OverflowError:
        raise InvalidOutcome(f"task {outcome.task.id!r}: {when} is outside the years 1 to 9999 in UTC") from None


def _json(task: Task) -> str:
    try:
        return json.dumps(dict(task.meta))
    except (TypeError, ValueError) as error:
        raise InvalidOutcome(f"the meta of task {task.id!r} cannot be written as JSON: {error}") from None


def _check_text(task: Task, text: str) -> None:
    """Refuse what one of the databases cannot hold, so that a store can move from one to the other."""
    if "\0" in text:
        raise InvalidOutcome(f"task {task.id!r} has a NUL character in its text or names; a store cannot hold it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidOutcome(f"task {task.id!r} has half a surrogate pair in its text or names") from None


def _check_lengths(outcome: Outcome) -> None:
    for kind, name in zip(("suite", "source", "run", "task id", "model", "harness", "trial"), outcome.key, strict=True):
        size = len(name.encode())
        if size > _NAME_BYTES:
            raise InvalidOutcome(f"{kind} {name[:40]!r}... has {size} bytes; a name has at most {_NAME_BYTES}")
