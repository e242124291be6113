"""Frontiers of (cost, accuracy): the accuracy of each method within a budget, by a rule that picks its setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hmrouter.bench.experiments.base import Row

Setting = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """Picks the setting for a budget; gives the normalised test accuracy that follows, None if nothing fits."""

    label: str
    words: str
    choose: Callable[[Sequence[Setting], float], float | None]


def _by_test_spend(settings: Sequence[Setting], budget: float) -> float | None:
    return max((s["normalized_accuracy"] for s in settings if s["cost_usd"] <= budget), default=None)


def _by_training(settings: Sequence[Setting], budget: float) -> float | None:
    fitting = [s for s in settings if s["train_cost_usd"] <= budget]
    best = max(fitting, key=lambda s: (s["train_accuracy"], -s["train_cost_usd"]), default=None)
    return None if best is None else best["normalized_accuracy"]


TEST_RULE = BudgetRule(
    "setting chosen by test spend (the paper's rule)",
    "Per benchmark the best setting affordable by realised test spend.",
    _by_test_spend,
)
TRAINING_RULE = BudgetRule(
    "setting chosen on training tasks",
    "Per benchmark the setting that fits and does best on training tasks, whatever it then costs on test tasks.",
    _by_training,
)


class Frontiers:
    """The settings of every method on every benchmark, as means over splits."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.benchmarks: list[str] = list(dict.fromkeys(r["benchmark"] for r in rows))
        self.methods: list[str] = list(dict.fromkeys(r["method"] for r in rows))
        keys = ("accuracy", "normalized_accuracy", "cost_usd", "train_accuracy", "train_cost_usd")
        grouped: dict[tuple[str, str], dict[str, list[list[Any]]]] = {}
        for r in rows:
            if all(r[k] is not None for k in keys):
                of = grouped.setdefault((r["benchmark"], r["method"]), {})
                of.setdefault(r["setting"], []).append([r[k] for k in keys])
        self._settings: dict[tuple[str, str], dict[str, Setting]] = {
            place: {s: dict(zip(keys, np.mean(v, axis=0).tolist(), strict=True)) for s, v in found.items()}
            for place, found in grouped.items()
        }
        exact = {r["benchmark"] for r in rows if r["cost_per_task"]}
        self.which_costs = f"Costs are per task on {', '.join(sorted(exact)) or 'no benchmark'}, else route means."

    @property
    def fixed_costs(self) -> dict[str, float]:
        """Give what Fixed, without weight on cost, costs on each benchmark; empty if one is missing."""
        found = {b: self._settings.get((b, "fixed"), {}).get("lambda=0") for b in self.benchmarks}
        return {b: s["cost_usd"] for b, s in found.items() if s} if all(found.values()) else {}

    def accuracy(self, method: str, rule: BudgetRule, budgets: Mapping[str, float]) -> float | None:
        """Percent of the oracle's accuracy, mean over benchmarks; None if no setting fits on one of them."""
        found = []
        for b in self.benchmarks:
            value = rule.choose(list(self._settings.get((b, method), {}).values()), budgets[b])
            if value is None:
                return None
            found.append(value)
        return 100.0 * float(np.mean(found)) if found else None

    def area(self, benchmark: str, method: str) -> float | None:
        """Percent of the area under the method's hull, up to the largest cost that any method has there."""
        costs = [s["cost_usd"] for (b, _), of in self._settings.items() if b == benchmark for s in of.values()]
        points = [(s["cost_usd"], s["accuracy"]) for s in self._settings.get((benchmark, method), {}).values()]
        largest = max(costs, default=0.0)
        return 100.0 * hull_area(points, largest) if points and largest > 0 else None


def hull_area(points: Sequence[tuple[float, float]], max_cost: float) -> float:
    """RouterBench's summary of a frontier: area under the non-decreasing convex hull of (cost, accuracy), extended
    flat to `max_cost` and divided by it; below the cheapest point there is nothing.

    >>> hull_area([(1.0, 0.5), (2.0, 0.7)], max_cost=4.0)
    0.5
    """
    hull: list[tuple[float, float]] = []
    for cost, accuracy in sorted(points):
        if cost > max_cost or (hull and accuracy <= hull[-1][1]):
            continue
        while len(hull) >= 2 and _slope(hull[-2], hull[-1]) <= _slope(hull[-2], (cost, accuracy)):
            hull.pop()
        if hull and hull[-1][0] == cost:
            hull.pop()
        hull.append((cost, accuracy))
    if not hull:
        return 0.0
    hull.append((max_cost, hull[-1][1]))
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(hull))
    return area / max_cost


def _slope(a: tuple[float, float], b: tuple[float, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0]) if b[0] > a[0] else float("inf")
