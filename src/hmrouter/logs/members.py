"""Entries of archives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

BLOCK = 2**18
"""Bytes in memory at once."""


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
