"""State: how a fitted part is saved, as named arrays and JSON values, nothing that executes when loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class State:
    """Arrays and JSON-able values of one part of a router."""

    arrays: Mapping[str, Array] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def join(cls, **parts: State) -> State:
        """Put several parts into one; `part` takes them out again.

        >>> State.join(a=State(meta={"k": 1})).part("a").meta
        {'k': 1}
        """
        return cls(
            {f"{name}/{key}": value for name, part in parts.items() for key, value in part.arrays.items()},
            {name: dict(part.meta) for name, part in parts.items()},
        )

    def part(self, name: str) -> State:
        """Take out the part that `join` stored under this name."""
        prefix = f"{name}/"
        arrays = {key.removeprefix(prefix): a for key, a in self.arrays.items() if key.startswith(prefix)}
        return State(arrays, self.meta[name])
