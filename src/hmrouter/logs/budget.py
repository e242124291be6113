"""The one limit of what a log may become, whatever wraps it: an archive, gzip, the encodings of a table.

A few kilobytes can stand for gigabytes. So what comes out is counted, not what a header says: bytes that are unpacked,
and outcomes and texts that are read from them. Both may reach `FLOOR`, or `RATIO` times what was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hmrouter.logs.base import problem
from hmrouter.types import Outcome

FLOOR = 64 * 2**20
"""Bytes that anything may become, however small it is."""
RATIO = 200
"""Times its size that something larger may become; real logs shrink to a tenth, rarely to a fiftieth."""
CEILING = 8 * 2**30
"""Bytes that no archive may unpack to: they lie in the temporary folder."""
OUTCOME_BYTES = 64
"""What an outcome counts for, beside the text of its task: about the room that it takes in a store."""
MEMBERS = 200_000
DEPTH = 3
"""Archives inside each other."""

_NEXT_STEP = "if you trust it, unpack it yourself and import what comes out"


class Budget:
    """Limits what a file becomes; all that lies in an archive shares the archive's.

    >>> budget = Budget(packed=1000)
    >>> budget.spend(Path("a.zip"), size=FLOOR + 1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hmrouter.errors.LogError: a.zip: unpacks to more than 64 MiB, which is no size for a file of 1,000 bytes; ...
    """

    def __init__(self, packed: int) -> None:
        """For a file of that many bytes."""
        self._packed = packed
        limit = max(FLOOR, RATIO * packed)
        self._unpacked_limit, self._kept_limit = min(CEILING, limit), limit
        self._unpacked = 0
        self._kept: dict[Path, int] = {}
        self._members = 0
        self._depth = 0

    @property
    def members_left(self) -> int:
        """How many files and folders may still be unpacked."""
        return MEMBERS - self._members

    @classmethod
    def of_file(cls, path: Path) -> Budget:
        """For a file, by its size; one that is not there is told of by whoever opens it."""
        with suppress(OSError):
            return cls(path.stat().st_size)
        return cls(0)

    def spend(self, path: Path, *, size: int = 0, members: int = 0) -> None:
        """Count what came out of an archive; a `LogError` when it is too much."""
        self._unpacked += size
        self._members += members
        if self._unpacked > self._unpacked_limit:
            raise problem(path, f"unpacks to more than {self._too_much(self._unpacked_limit)}; {_NEXT_STEP}")
        if self._members > MEMBERS:
            raise problem(path, f"holds more than {MEMBERS:,} files and folders; {_NEXT_STEP}")

    def watch(self, path: Path, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        """Pass outcomes on and count them, each task's text once; a `LogError` when they are too much."""
        self._kept.pop(path, None)  # a log that is read again counts once
        before, kept = sum(self._kept.values()), 0
        tasks: set[int] = set()
        for outcome in outcomes:
            kept += OUTCOME_BYTES
            if (text := outcome.task.text) and (key := hash(outcome.task.key)) not in tasks:
                tasks.add(key)
                kept += len(text)
            if before + kept > self._kept_limit:
                much = self._too_much(self._kept_limit)
                raise problem(
                    path, f"holds outcomes and texts of more than {much}; if you trust it, import it in parts"
                )
            yield outcome
        self._kept[path] = kept

    @contextmanager
    def deeper(self, path: Path) -> Iterator[None]:
        """Count an open archive that may lie in others; a `LogError` when it lies too deep."""
        if self._depth >= DEPTH:
            raise problem(path, f"is an archive more than {DEPTH} archives deep; {_NEXT_STEP}")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _too_much(self, limit: int) -> str:
        return f"{limit // 2**20:,} MiB, which is no size for a file of {self._packed:,} bytes"
