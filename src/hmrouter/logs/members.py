"""Entries of archives, and the limit of what may come out of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from hmrouter.logs.base import problem

BLOCK = 2**18
"""Bytes in memory at once."""

FLOOR = 64 * 2**20
"""Bytes that any archive may unpack to, however small it is."""
RATIO = 200
"""Times its size that a larger one may unpack to; real logs shrink to a tenth, rarely to a fiftieth."""
CEILING = 8 * 2**30
"""Bytes that no archive may exceed."""
MEMBERS = 200_000
DEPTH = 3
"""Archives inside each other."""

_NEXT_STEP = "if you trust it, unpack it yourself and import the folder"


class MemberKind(Enum):
    """The kind of an archive's entry."""

    FILE = auto()
    FOLDER = auto()
    OTHER = auto()
    """A link or a device: never made."""


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of an archive. Its blocks can be read until the next member is asked for."""

    name: str
    kind: MemberKind
    blocks: Iterator[bytes]


class Budget:
    """Limits what an archive and all those inside it unpack to, by what comes out: headers say anything.

    >>> budget = Budget(packed=1000)
    >>> budget.spend(Path("a.zip"), size=FLOOR + 1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hmrouter.errors.LogError: a.zip: unpacks to more than 64 MiB, which is no size for an archive of 1,000 bytes; ...
    """

    def __init__(self, packed: int) -> None:
        """For an archive of that many bytes."""
        self._packed = packed
        self._limit = self._left = min(CEILING, max(FLOOR, RATIO * packed))
        self._members = 0
        self._depth = 0

    def spend(self, path: Path, *, size: int = 0, members: int = 0) -> None:
        """Count what came out of an archive; a `LogError` when it is too much."""
        self._left -= size
        self._members += members
        if self._left < 0:
            raise problem(
                path,
                f"unpacks to more than {self._limit // 2**20:,} MiB, which is no size for an archive of"
                f" {self._packed:,} bytes; {_NEXT_STEP}",
            )
        if self._members > MEMBERS:
            raise problem(path, f"holds more than {MEMBERS:,} files and folders; {_NEXT_STEP}")

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
