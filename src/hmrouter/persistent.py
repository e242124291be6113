"""A map that never changes: setting a key gives another map, and copies next to nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, Self, TypeVar

Value = TypeVar("Value")

WIDE = 64
"""Setting a key copies two times this many references and one small dict: microseconds up to millions of keys."""


class IntMap(Generic[Value]):
    """Maps whole numbers to values. `put` returns a map with one more; this one stays as it is, for whoever reads it.

    >>> old = IntMap[str]()
    >>> new = old.put(7, "seven")
    >>> old.get(7), new.get(7), len(new), list(new.items())
    (None, 'seven', 1, [(7, 'seven')])
    """

    __slots__ = ("_parts", "_size")

    def __init__(self) -> None:
        self._parts: tuple[tuple[Mapping[int, Value], ...], ...] = (({},) * WIDE,) * WIDE
        self._size = 0

    def get(self, key: int) -> Value | None:
        """Return the value of a key; None if it has none."""
        return self._parts[key % WIDE][key // WIDE % WIDE].get(key)

    def put(self, key: int, value: Value) -> Self:
        """Return a map in which the key has this value."""
        first, second = key % WIDE, key // WIDE % WIDE
        part = self._parts[first]
        inner = (*part[:second], {**part[second], key: value}, *part[second + 1 :])
        new = type(self)()
        new._parts = (*self._parts[:first], inner, *self._parts[first + 1 :])
        new._size = self._size + (key not in part[second])
        return new

    def items(self) -> Iterator[tuple[int, Value]]:
        """Go through keys and values, in no particular order."""
        return (item for part in self._parts for small in part for item in small.items())

    def __len__(self) -> int:
        return self._size
