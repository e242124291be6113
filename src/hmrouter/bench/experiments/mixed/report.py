"""The tables and figures of `mixed`: several suites as one workload, from rows alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.summaries import (
    accuracy_table,
    compared,
    difference_sentence,
    difference_table,
    differences,
    distinct,
)
from hmrouter.bench.report.parts import Cell, Figure, ReportTable, Series


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Groups x methods, differences to one pair for all, every suite of a group, and the groups themselves."""
    out = [accuracy_table(rows, "Several suites as one workload, oracle-normalised")]
    difference = difference_table(rows, "Several suites: difference to one pair for all")
    out += [difference] if difference else []
    methods = distinct(rows, "method")
    for group in distinct(rows, "benchmark"):
        own = [r for r in rows if r["benchmark"] == group]
        body: list[list[Cell]] = []
        for suite in dict.fromkeys(s for r in own for s in r["suites"]):
            body.append([suite, *(_accuracy(own, m, suite) for m in methods)])
        note = "Percent of the oracle's accuracy on the test tasks of each suite, mean of splits; one router for all."
        out.append(ReportTable(f"Suites of {group}", ["suite", *methods], body, note, best="row"))
    lines: list[list[Cell]] = []
    for group in distinct(rows, "benchmark"):
        one = next(r for r in rows if r["benchmark"] == group)
        on = (_weight(rows, group, m) for m in ("safe_alone", "safe"))
        lines.append([group, one["n_routes"], one["n_train"], one["n_test"], *on])
    columns = ["group", "common routes", "training tasks", "test tasks", "term in safe_alone", "term in safe"]
    note = "The last columns: in how many of the splits, in percent, the data switched the per-task term on."
    return [*out, ReportTable("Groups of suites", columns, lines, note, digits=0)]


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Difference to one pair for all, per group."""
    groups, series = distinct(rows, "benchmark"), []
    for method in compared(rows):
        found = differences(rows, method)
        points = [(float(i), float(np.mean(found[g]))) for i, g in enumerate(groups) if g in found]
        if points:
            series.append(Series(method, *zip(*points, strict=True)))
    if not series:
        return []
    return [
        Figure(
            "mixed", "Several suites as one workload", "bars", "", "points above Fixed", series,
            x_names=[g.replace("+", " + ") for g in groups], reference=0.0,
            note="Fixed is one pair for all suites of a group; fixed_per_suite knows the suite of every task.",
        )
    ]  # fmt: skip


def headline(rows: Sequence[Row]) -> str:
    """The best pair per suite and the routers against one pair for all."""
    return difference_sentence(rows, ("fixed_per_suite", "hm", "safe"), "Several suites as one workload")


def _accuracy(rows: Sequence[Row], method: str, suite: str) -> float | None:
    """Percent of the oracle's accuracy on a suite, mean of the splits on which the oracle has any."""
    found = [r["suites"][suite] for r in rows if r["method"] == method and suite in r["suites"]]
    shares = [accuracy / oracle for accuracy, oracle, _ in found if oracle > 0]
    return 100.0 * float(np.mean(shares)) if shares else None


def _weight(rows: Sequence[Row], group: str, method: str) -> float | None:
    """Share of the splits, in percent, in which a method's per-task term is on."""
    found = [r["per_task"] for r in rows if r["benchmark"] == group and r["method"] == method]
    return 100.0 * float(np.mean(found)) if found and None not in found else None
