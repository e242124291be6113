"""The tables and figures of `unseen`: how routing does when some routes were never run, from rows alone."""

from __future__ import annotations

from collections.abc import Sequence

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.summaries import (
    ACCURACY,
    accuracy_table,
    distinct,
    known,
    level,
    overall_difference,
)
from hmrouter.bench.experiments.unseen.hiding import BEST_FIRST, LEVELS, OBSERVED, RANDOM
from hmrouter.bench.report.parts import Cell, Figure, ReportTable, Series

PAIRS = (("hm", "hm_observed"), ("hm", "blind"), ("hm", "component_average"), ("hm", "fixed"),
         ("safe", "fixed"), ("safe", "blind"))  # fmt: skip
"""The differences worth an interval: what access to hidden routes brings, and what of it a blind pick brings too."""


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """The paper's table, the same with routes hidden at random, differences, and the benchmarks at 90%."""
    out = [_levels_table(rows, order) for order in (BEST_FIRST, RANDOM)]
    pairs = [(a, b) for a, b in PAIRS if {a, b} <= set(distinct(rows, "method"))]
    body: list[list[Cell]] = [
        [setting, *(overall_difference(rows, a, b, setting=setting) for a, b in pairs)]
        for setting in distinct(rows, "setting")
    ]
    if pairs:
        note = (
            "Points of normalised accuracy, with 95% intervals for other benchmarks like these. What beats the "
            "visible routes best-first but not a blind pick has learned nothing about the hidden ones."
        )
        columns = ["hidden", *(f"{label(a)} above {label(b)}" for a, b in pairs)]
        out.append(ReportTable("Hidden routes: differences", columns, body, note))
    for setting in (f"{order} 90%" for order in (BEST_FIRST, RANDOM)):
        if known(rows, ACCURACY, setting=setting):
            out.append(accuracy_table(rows, f"Normalised accuracy, {setting} hidden", setting=setting))
    return out


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Accuracy against how much is hidden, for both ways of hiding."""
    out = []
    for order, how in ((BEST_FIRST, "the best routes hidden first"), (RANDOM, "routes hidden at random")):
        series = []
        for method in distinct(rows, "method"):
            levels = [level(rows, method, setting=f"{order} {name}") for name in LEVELS]
            points = [(float(i), y) for i, y in enumerate(levels) if y is not None]
            if points:
                series.append(Series(label(method), *zip(*points, strict=True)))
        if series:
            out.append(
                Figure(
                    f"unseen_{order.replace('-', '_')}", f"Routing with {how}", "lines", "routes hidden",
                    "percent of the oracle's accuracy", series, x_names=LEVELS,
                    note="Mean of benchmarks. random (hidden) picks blindly among the routes that were never run.",
                )
            )  # fmt: skip
    return out


def headline(rows: Sequence[Row]) -> str:
    """Say what a blind pick gets where the paper's protocol is hardest."""
    setting = f"{BEST_FIRST} 90%"
    found = {m: level(rows, m, setting=setting) for m in ("hm", "blind", "safe", "fixed")}
    said = [f"{label(m)} {value:.1f}" for m, value in found.items() if value is not None]
    return f"90% of the routes hidden, best first, percent of the oracle: {', '.join(said)}." if said else ""


def label(method: str) -> str:
    """A method with what it may choose among, as the paper's table writes it.

    >>> label("hm_observed"), label("safe"), label("blind")
    ('hm (observed)', 'safe (all)', 'random (hidden)')
    """
    if method == "blind":
        return "random (hidden)"
    return f"{method.removesuffix('_observed')} ({'observed' if method in OBSERVED else 'all'})"


def _levels_table(rows: Sequence[Row], order: str) -> ReportTable:
    own = [r for r in rows if r["setting"].startswith(f"{order} ")]
    methods = distinct(own, "method")
    body: list[list[Cell]] = [
        [name, *(level(own, m, setting=f"{order} {name}") for m in methods)]
        for name in LEVELS
        if known(own, ACCURACY, setting=f"{order} {name}")
    ]
    how = "Best training means first" if order == BEST_FIRST else "In random order"
    note = (
        f"{how}; percent of the full pool's oracle, mean of {len(distinct(own, 'benchmark'))} benchmarks and their "
        "splits. (all): may choose hidden routes; (observed): may not. random (hidden) is the method `blind`: any of "
        "the hidden routes."
    )
    columns = ["hidden", *map(label, methods)]
    return ReportTable(
        f"Hidden routes, {order}", columns, body, note, best="row", unranked=(label("random"), label("oracle"))
    )
