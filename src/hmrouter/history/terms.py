"""The terms of the hierarchical model: effects that two routes, each on some suite, have in common.

    theta = mu + suite + vendor + family + model + release + price + harness + harness family + vendor x harness + pair
          + suite x (release, vendor, model, harness family, harness, pair)

Which terms there are was settled by the predictive density of benchmarks left out of the fit (docs/decisions/0008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log10
from typing import Any

import numpy as np

from hmrouter.features.descriptions import HarnessDescriptions
from hmrouter.names.models import ModelInfo, describe_model
from hmrouter.names.prices import token_cost
from hmrouter.state import Floats
from hmrouter.types import Route

MIDDLE = 2025.0
"""The year that releases are counted from, so that the slope's effect is small there."""
USUAL_PRICE = 10.0
"""Dollars per million output tokens."""
REMEMBERED = 4096
"""Models and harnesses whose description is kept."""


@dataclass(frozen=True, slots=True)
class Point:
    """A route on a suite, described by its model and harness."""

    suite: str
    model: str
    harness: str
    vendor: str
    family: str
    harness_family: str
    release: float
    """Years since `MIDDLE`; 0 if unknown."""
    price: float
    """Logarithm (base 10) of the list price of output tokens, relative to `USUAL_PRICE`; 0 if unknown."""


LABELS: dict[str, Callable[[Point], Any]] = {
    "suite": lambda p: p.suite,
    "model": lambda p: p.model,
    "vendor": lambda p: p.vendor,
    "family": lambda p: (p.vendor, p.family),
    "harness": lambda p: p.harness,
    "harness_family": lambda p: p.harness_family,
    "suite_model": lambda p: (p.suite, p.model),
    "suite_vendor": lambda p: (p.suite, p.vendor),
    "suite_harness": lambda p: (p.suite, p.harness),
    "suite_harness_family": lambda p: (p.suite, p.harness_family),
    "vendor_harness": lambda p: (p.vendor, p.harness),
    "pair": lambda p: (p.model, p.harness),
    "pair_on_suite": lambda p: (p.suite, p.model, p.harness),
}
"""Points with the same label share an effect, whose variance is learned."""
SLOPES: dict[str, Callable[[Point], float]] = {
    "release": lambda p: p.release,
    "price": lambda p: p.price,
}
"""Quantities that an effect is proportional to: newer models do better, and dearer ones."""
SLOPES_BY_SUITE = {"suite_release": "release"}
"""Slopes that differ from suite to suite."""
TERMS = (*LABELS, *SLOPES, *SLOPES_BY_SUITE)


def points_of(routes: Sequence[Route], suites: Sequence[str]) -> list[Point]:
    """Describe each route on its suite, by the shipped tables of models, harnesses and prices."""
    return [_point(route, suite) for route, suite in zip(routes, suites, strict=True)]


class PointIndex:
    """Points with their labels as numbers: made once for points that others are compared with again and again."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = points
        self._codes: dict[str, dict[Any, int]] = {term: {} for term in LABELS}
        self._labels = {
            term: np.array([codes.setdefault(LABELS[term](p), len(codes)) for p in points], dtype=np.int64)
            for term, codes in self._codes.items()
        }

    def __len__(self) -> int:
        return len(self._points)

    def shared(self, term: str, a: Sequence[Point]) -> Floats:
        """Compute how much of a term's effect points share, (a, these): 1 or 0 for a label, a product for a slope."""
        if term in SLOPES:
            return np.outer(_values(term, a), _values(term, self._points))
        if term in SLOPES_BY_SUITE:
            return self.shared(SLOPES_BY_SUITE[term], a) * self.shared("suite", a)
        codes, label = self._codes[term], LABELS[term]
        left = np.array([codes.get(label(p), -1) for p in a], dtype=np.int64)
        return np.equal(left[:, None], self._labels[term][None, :]).astype(np.float64)


def traits(routes: Sequence[Route]) -> Floats:
    """List the quantities of slopes, (routes, slopes): the age and the price of each route's model, 0 where unknown."""
    points = points_of(routes, [""] * len(routes))
    return np.array([_values(slope, points) for slope in SLOPES]).T


def _values(slope: str, points: Sequence[Point]) -> Floats:
    return np.array([SLOPES[slope](p) for p in points], dtype=np.float64)


def _point(route: Route, suite: str) -> Point:
    info = _info(route.model)
    release = 0.0 if info.release is None else info.release - MIDDLE
    family = _harness_family(route.harness)
    return Point(suite, route.model, route.harness, info.vendor, info.family, family, release, _price(route.model))


# Names come from logs, so their number has no limit.
@lru_cache(maxsize=REMEMBERED)
def _info(model: str) -> ModelInfo:
    return describe_model(model)


@lru_cache(maxsize=REMEMBERED)
def _harness_family(harness: str) -> str:
    # A harness of no known family shares nothing with others of no known family.
    return HarnessDescriptions().family(harness) or harness


@lru_cache(maxsize=REMEMBERED)
def _price(model: str) -> float:
    dollars = token_cost(model, 0, 0, 1_000_000)
    return log10(dollars / USUAL_PRICE) if dollars else 0.0
