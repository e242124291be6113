"""The tables and figures of `fewshot`: accuracy against the number of tasks seen of what is new, from rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.fewshot.newcomers import KINDS, LEAST_LOSS, REVEALED
from hmrouter.bench.experiments.summaries import (
    compared,
    distinct,
    level,
    overall_difference,
)
from hmrouter.bench.report.parts import Cell, Figure, ReportTable, Series


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Accuracy by kind and k, and what each method is above EmbedLLM and above Fixed."""
    rows = _by_unit(rows)
    methods, present = distinct(rows, "method"), distinct(rows, "setting")
    settings = [s for s in (f"{kind} k={k}" for kind in KINDS for k in REVEALED) if s in present]
    body: list[list[Cell]] = [[s, *(level(rows, m, setting=s) for m in methods)] for s in settings]
    counts = ", ".join(f"{n} times a {kind}" for kind, n in _counts(rows).items())
    note = (
        "Percent of the full pool's oracle, mean of held-out units, then of benchmarks. Held out: what costs the "
        f"oracle more than {100 * LEAST_LOSS:g} point when it is removed: {counts}. hm (probe) is fitted once, "
        "without the held-out unit, whose identity stays zero while its outcomes update summaries; the others "
        "learn anew for each k."
    )
    columns = ["held out", *map(label, methods)]
    out = [ReportTable("New routes, models and harnesses after k tasks", columns, body, note, best="row")]
    for to in ("embedllm", "fixed"):
        if shown := compared(rows, to):
            lines: list[list[Cell]] = [
                [s, *(overall_difference(rows, m, to, setting=s) for m in shown)] for s in settings
            ]
            lines += [[f"any k={k}", *(overall_difference(rows, m, to, k=k) for m in shown)] for k in REVEALED]
            note = f"Points of normalised accuracy above {to}, with 95% intervals for other benchmarks like these."
            out.append(ReportTable(f"New units: difference to {to}", ["held out", *map(label, shown)], lines, note))
    return out


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Accuracy against k, for each kind of held-out unit."""
    out, rows = [], _by_unit(rows)
    for kind in KINDS:
        series = []
        for method in (m for m in distinct(rows, "method") if m != "oracle"):
            levels = [level(rows, method, setting=f"{kind} k={k}") for k in REVEALED]
            points = [(float(k), y) for k, y in zip(REVEALED, levels, strict=True) if y is not None]
            if points:
                series.append(Series(label(method), *zip(*points, strict=True)))
        if series:
            own = [r for r in rows if r["kind"] == kind]
            out.append(
                Figure(
                    f"fewshot_{kind}", f"A new {kind} after k tasks", "lines", f"training tasks seen of the {kind}",
                    "percent of the oracle's accuracy", series,
                    note=f"Mean over {_counts(own)[kind]} held-out units of {len(distinct(own, 'benchmark'))} "
                    "benchmarks. The oracle is at 100.",
                )
            )  # fmt: skip
    return out


def headline(rows: Sequence[Row]) -> str:
    """Compare the paper's method with the baseline, at both ends of the curve."""
    said = []
    for k in (REVEALED[0], REVEALED[-1]):
        d = overall_difference(_by_unit([r for r in rows if r["k"] == k]), "hm", "embedllm")
        if d is not None:
            said.append(f"{d.value:+.1f} [{d.low:.1f}, {d.high:.1f}] at k = {k}")
    return f"HM above EmbedLLM, points: {', '.join(said)}." if said else ""


def label(method: str) -> str:
    """A method as tables and figures call it.

    >>> label("hm"), label("hm_refit"), label("safe")
    ('hm (probe)', 'hm (refit)', 'safe')
    """
    return {"hm": "hm (probe)", "hm_refit": "hm (refit)"}.get(method, method)


def _by_unit(rows: Sequence[Row]) -> list[Row]:
    """Treat every held-out unit of a split as a split of its own, so that methods are compared unit by unit."""
    return [{**r, "split": (r["split"], r["kind"], r["held_out"])} for r in rows]


def _counts(rows: Sequence[Row]) -> dict[str, int]:
    found: dict[str, set[Any]] = {}
    for r in rows:
        found.setdefault(r["kind"], set()).add((r["benchmark"], r["split"]))
    return {kind: len(units) for kind, units in found.items()}
