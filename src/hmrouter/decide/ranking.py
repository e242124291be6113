"""The order in which routes are chosen, and the tie rule: of equal value the cheaper, then the first by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hmrouter.costs import Cost
from hmrouter.state import Bools, Floats, Ints
from hmrouter.types import Route


@dataclass(frozen=True, slots=True)
class Ranking:
    """The routes that keep the constraints, by their position in the pool, best first."""

    order: Ints
    value: Floats
    """The value of each route of the pool: success less cost weight times cost."""
    excluded: dict[str, int]
    """How many routes each constraint ruled out."""


def best_first(value: Floats, dollars: Floats, names: Ints, feasible: Bools) -> Ints:
    """Order the feasible routes by value; ties go to the cheaper (an unknown price comes last), then to the name.

    >>> best_first(np.array([0.5, 0.7, 0.7]), np.array([0.1, 2.0, 1.0]), np.arange(3), np.ones(3, bool)).tolist()
    [2, 1, 0]
    """
    kept = np.flatnonzero(feasible)
    price = np.where(np.isnan(dollars), np.inf, dollars)[kept]
    return kept[np.lexsort((names[kept], price, -value[kept]))]


def known_dollars(costs: Sequence[Cost]) -> Floats:
    """Collect expected dollars in an array, NaN where they are not known."""
    return np.array([np.nan if c.dollars is None else c.dollars for c in costs], dtype=np.float64)


def name_ranks(routes: Sequence[Route]) -> Ints:
    """Give each route's place in the order of names, which decides ties."""
    names = np.array([str(route) for route in routes], dtype=object)
    return np.argsort(np.argsort(names, kind="stable"), kind="stable").astype(np.int64)
