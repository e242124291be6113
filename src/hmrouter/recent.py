"""A bounded cache of the most recently used values, which threads may share."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, Self, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Keeps the last few values by key; if two threads make the value of one key, both get the first.

    >>> squares = Recent[int, int](most=2)
    >>> [squares(n, lambda n=n: n * n) for n in (3, 3, 4, 5)], len(squares)
    ([9, 9, 16, 25], 2)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key; call `make` if it is not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        made = make()  # outside the lock: making one may take long, or ask for another
        with self._lock:
            value = self._values.setdefault(key, made)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
            return value

    def __len__(self) -> int:
        return len(self._values)

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return type(self)(self._most)
