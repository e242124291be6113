"""Tables and figures of `cost`: what a budget buys, from its rows alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.cost.frontiers import TEST_RULE, TRAINING_RULE, BudgetRule, Frontiers
from hmrouter.bench.experiments.summaries import mean_of
from hmrouter.bench.report.parts import Cell, Figure, ReportTable, Series

BUDGETS = (0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""The paper's, in dollars per task."""
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Of what Fixed costs on the same benchmark: budgets that fit the data's own range."""


def headline(rows: Sequence[Row]) -> str:
    """Say what half of Fixed's cost buys, by settings that were chosen on training tasks."""
    frontiers, said = Frontiers(rows), []
    budget = {b: 0.5 * c for b, c in frontiers.fixed_costs.items()}
    for m in ("hm", "safe", "fixed", "avengers_pro") if budget else ():
        value = frontiers.accuracy(m, TRAINING_RULE, budget)
        said += [f"{m} {value:.1f}"] if value is not None else []
    start = "Within half of Fixed's cost, the setting chosen on training tasks, percent of the oracle"
    return f"{start}: {', '.join(said)}." if said else ""


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Budgets in dollars and relative to Fixed, each with the paper's rule and the honest one; hull areas."""
    frontiers = Frontiers(rows)
    out = []
    for rule in (TEST_RULE, TRAINING_RULE):
        dollars = {f"${b:g}": dict.fromkeys(frontiers.benchmarks, b) for b in BUDGETS}
        out.append(_table("Accuracy within a dollar budget", frontiers, rule, dollars, "Dollars per task"))
    for rule in (TEST_RULE, TRAINING_RULE) if frontiers.fixed_costs else ():
        relative = {f"{s:g}x": {b: s * c for b, c in frontiers.fixed_costs.items()} for s in SHARES}
        words = "Budgets are shares of what Fixed costs on the same benchmark"
        out.append(_table("Accuracy within a share of Fixed's cost", frontiers, rule, relative, words))
    areas: list[list[Cell]] = []
    for m in frontiers.methods:
        per = [frontiers.area(b, m) for b in frontiers.benchmarks]
        areas.append([m, *per, mean_of(per)])
    note = (
        "RouterBench's summary: area under the non-decreasing convex hull of (cost, accuracy), extended flat to "
        "the largest cost and divided by it, in percent. `fixed` is the hull over single routes, the zero router."
    )
    out.append(ReportTable("Hull area", ["method", *frontiers.benchmarks, "mean"], areas, note, best="column"))
    return out


def _table(
    title: str, frontiers: Frontiers, rule: BudgetRule, budgets: Mapping[str, Mapping[str, float]], words: str
) -> ReportTable:
    body: list[list[Cell]] = [
        [m, *(frontiers.accuracy(m, rule, budget) for budget in budgets.values())] for m in frontiers.methods
    ]
    note = (
        f"{words}; percent of the oracle's accuracy, mean of {len(frontiers.benchmarks)} benchmarks. {rule.words} "
        f"A dash: no setting fits on at least one benchmark. {frontiers.which_costs}"
    )
    return ReportTable(f"{title}, {rule.label}", ["method", *budgets], body, note, best="column")


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Accuracy against the budget, mean of benchmarks."""
    frontiers, series = Frontiers(rows), []
    if not frontiers.fixed_costs:
        return []
    for method in frontiers.methods:
        points = []
        for share in np.geomspace(0.03, 1.2, 25).tolist():
            budget = {b: share * c for b, c in frontiers.fixed_costs.items()}
            value = frontiers.accuracy(method, TEST_RULE, budget)
            if value is not None:
                points.append((share, value))
        if points:
            series.append(Series(method, [p[0] for p in points], [p[1] for p in points]))
    return [
        Figure(
            "cost", f"Accuracy within a budget, mean of {len(frontiers.benchmarks)} benchmarks", "lines",
            "budget as a share of Fixed's cost", "normalised accuracy, %", series, log_x=True,
            note="The best setting affordable by realised test spend (the paper's rule).",
        )
    ]  # fmt: skip
