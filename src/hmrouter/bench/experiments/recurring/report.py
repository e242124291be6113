"""The tables and figures of `recurring`: tasks that come again, from rows alone."""

from __future__ import annotations

from collections.abc import Sequence

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.recurring.earlier import EARLIER
from hmrouter.bench.experiments.recurring.families import FAMILY
from hmrouter.bench.experiments.summaries import (
    accuracy_table,
    compared,
    difference_lines,
    difference_sentence,
    difference_table,
    distinct,
    level,
    overall_difference,
)
from hmrouter.bench.report.parts import Cell, Figure, ReportTable

KNOWN = {"none": 0.0, "best 1": 1.0, "best 2": 2.0, "best 4": 4.0}


def headline(rows: Sequence[Row]) -> str:
    """Say what one earlier run of the pair in use is worth, beside the rule that people follow."""
    one = [r for r in rows if r["setting"] == "best 1"]
    return difference_sentence(one, ("naive", "safe"), "With one earlier run of the best pair on the task")


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Show settings x methods on the mean of benchmarks, points above Fixed, and each setting in full."""
    methods, others = distinct(rows, "method"), compared(rows)
    levels: list[list[Cell]] = []
    above: list[list[Cell]] = []
    raw: list[list[Cell]] = []
    settings = [s for s in (*EARLIER, *FAMILY) if s in set(distinct(rows, "setting"))]
    for setting in settings:
        own = [r for r in rows if r["setting"] == setting]
        n = len(distinct(own, "benchmark"))
        levels.append([setting, n, *(level(own, m) for m in methods)])
        above.append([setting, n, *(overall_difference(own, m) for m in others)])
        raw.append([setting, n, *(overall_difference(own, m, key="accuracy") for m in others)])
    said = "`best k`, `random k`: one earlier run of each of the k best, or of k random pairs was known on the task."
    what = "Percent of the accuracy of an oracle of the later runs, mean of benchmarks and splits"
    out = [
        ReportTable(
            "Tasks that come again: mean of benchmarks", ["setting", "benchmarks", *methods], levels,
            f"{what}. {said}", best="row", unranked=("random", "oracle", "benchmarks"),
        )
    ]  # fmt: skip
    if others:
        note = "above Fixed, with 95% intervals for other benchmarks like these."
        columns = ["setting", "benchmarks", *others]
        points = "Points of normalised accuracy"
        out.append(ReportTable("Tasks that come again: difference to Fixed", columns, above, f"{points} {note}"))
        out.append(ReportTable("Tasks that come again: points of raw accuracy", columns, raw, f"Points {note}"))
    for setting in settings:
        out.append(accuracy_table(rows, f"Normalised accuracy, {setting}", setting=setting))
        difference = difference_table(rows, f"Difference to Fixed, {setting}", setting=setting)
        out += [difference] if difference else []
    return out


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Draw the difference to Fixed against the number of pairs whose earlier run is known."""
    series = difference_lines(rows, KNOWN)
    if not series:
        return []
    return [
        Figure(
            "recurring", "The next run of a task that was run before", "lines",
            "best pairs of which one earlier run is known", "points of normalised accuracy above Fixed", series,
            reference=0.0, note="Mean over benchmarks with 95% intervals for other benchmarks like these.",
        )
    ]  # fmt: skip
