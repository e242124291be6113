"""Finds rectangles: two models and two harnesses with all four of their routes run."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import comb
from typing import NamedTuple

from hmrouter.types import Route


class Rectangle(NamedTuple):
    """Two models and two harnesses, each in the order of names."""

    models: tuple[str, str]
    harnesses: tuple[str, str]

    @property
    def corners(self) -> tuple[Route, Route, Route, Route]:
        """The four routes: (m1,h1), (m1,h2), (m2,h1), (m2,h2)."""
        (m1, m2), (h1, h2) = self
        return Route(m1, h1), Route(m1, h2), Route(m2, h1), Route(m2, h2)


def rectangles(routes: Iterable[Route]) -> list[Rectangle]:
    """List all choices of two models and two harnesses with all four of their routes among these.

    >>> [r.models for r in rectangles(Route(m, h) for m in ("a", "b", "c") for h in ("x", "y"))]
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    models = _models_by_harness(routes)
    return [
        Rectangle(pair, (one, other))
        for one, other in combinations(sorted(models), 2)
        for pair in combinations(sorted(models[one] & models[other]), 2)
    ]


def count_rectangles(routes: Iterable[Route]) -> int:
    """Count them without listing them: there may be millions.

    >>> count_rectangles(Route(m, h) for m in ("a", "b", "c") for h in ("x", "y"))
    3
    """
    models = _models_by_harness(routes)
    return sum(comb(len(one & other), 2) for one, other in combinations(models.values(), 2))


def _models_by_harness(routes: Iterable[Route]) -> dict[str, set[str]]:
    models: dict[str, set[str]] = {}
    for route in routes:
        models.setdefault(route.harness, set()).add(route.model)
    return models
