"""Tables and figures of `interaction`, from its rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hmrouter.bench.benchmarks.rectangles import Rectangle
from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.interaction.contrasts import Contrast, correlation, sign_agreement
from hmrouter.bench.experiments.summaries import (
    difference_table,
    distinct,
    known,
    level,
    mean_of,
)
from hmrouter.bench.methods import REFERENCES
from hmrouter.bench.report.parts import Cell, Figure, ReportTable, Series

BASE, FULL = "component_only", "hm"
ROUNDING = 1e-4
"""Deviations below this are what rounding leaves of an additive score."""
LABELLED = 8
"""How many pairs a figure names: those furthest from what their components explain."""


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """All rectangles together, per benchmark, and accuracy above the component-only scorer."""
    methods = distinct(rows, "method")
    accuracy = [level(rows, m) for m in methods]
    signs = [_percent(sign_agreement(contrasts_of(rows, m))) for m in methods]
    body: list[list[Cell]] = [
        ["normalised accuracy, %", *accuracy],
        ["sign agreement, %", *signs],
        ["Pearson of contrasts", *(correlation(contrasts_of(rows, m)) for m in methods)],
        ["Pearson of pair deviations", *(deviation_correlation(rows, m) for m in methods)],
        ["... averaged over splits first", *(deviation_correlation(rows, m, averaged=True) for m in methods)],
    ]
    counted = [r for r in rows if r["method"] == methods[0]]
    count, resolved = (sum(r[key] for r in counted) for key in ("rectangles", "resolved"))
    splits = len(distinct(rows, "split"))
    note = (
        f"Contrasts of two models and two harnesses on the test tasks that all four pairs were run on: {count} on "
        f"{len(distinct(rows, 'benchmark'))} benchmarks and {splits} {'splits' if splits > 1 else 'split'}, of which "
        f"{resolved} are resolved (1.96 standard errors from 0, paired by task, at least ten tasks). A coin agrees on "
        "50%; fixed predicts the contrast of the training tasks. A pair's deviation is what a model and a harness "
        "effect leave of its score or of its outcomes, per task. In averages over splits, test tasks of one split are "
        "training tasks of another, so that even noise correlates: the last line is the paper's way, the one above it "
        "is free of that."
    )
    out = [ReportTable("Interaction term", ["metric", *methods], body, note, 2, "row")]
    out += [
        _per_benchmark(rows, "sign_agreement", "Sign agreement on resolved contrasts, %", 100.0, 1),
        _per_benchmark(rows, "pearson", "Pearson of contrasts", 1.0, 2),
    ]
    difference = difference_table(rows, "Accuracy above component-only", to=BASE)
    return [*out, difference] if difference else out


def _per_benchmark(rows: Sequence[Row], key: str, title: str, scale: float, digits: int) -> ReportTable:
    """Benchmarks x methods that predict, over all splits of a benchmark at once."""
    measure = sign_agreement if key == "sign_agreement" else correlation
    methods = [m for m in distinct(rows, "method") if m not in REFERENCES]
    body: list[list[Cell]] = []
    for benchmark in distinct(rows, "benchmark"):
        own = [r for r in rows if r["benchmark"] == benchmark]
        one = [r for r in own if r["method"] == own[0]["method"]]
        counts = [max(r["rectangles"] for r in one), sum(r["resolved"] for r in one)]
        values = [measure(contrasts_of(own, m)) for m in methods]
        body.append([benchmark, *counts, *(None if v is None else scale * v for v in values)])
    note = "Rectangles: of one split. Resolved: in all splits together. A dash: nothing is resolved, or nothing varies."
    columns = ["benchmark", "rectangles", "resolved", *methods]
    return ReportTable(title, columns, body, note, digits, "row", unranked=("benchmark", "rectangles", "resolved"))


def headline(rows: Sequence[Row]) -> str:
    """Sign agreement with and without the interaction term, in a sentence; empty if one of them did not run."""
    base, full, plain = (_percent(sign_agreement(contrasts_of(rows, m))) for m in (BASE, FULL, "fixed"))
    if base is None or full is None:
        return ""
    said = f"On resolved 2x2 contrasts, hm predicts the sign in {full:.1f}% of cases, component-only in {base:.1f}%"
    return f"{said}, the training means alone (fixed) in {plain:.1f}%." if plain is not None else f"{said}."


def contrasts_of(rows: Sequence[Row], method: str) -> list[Contrast]:
    """All contrasts of a method; none where it lacks a split that another method has."""
    if not _complete(rows, method):
        return []
    return [
        Contrast(Rectangle((m1, m2), (h1, h2)), tasks, observed, error, predicted)
        for r in rows
        if r["method"] == method
        for m1, m2, h1, h2, tasks, observed, error, predicted in r["contrasts"]
    ]


def deviation_correlation(rows: Sequence[Row], method: str, *, averaged: bool = False) -> float | None:
    """Mean over benchmarks of the correlation of predicted and observed deviations, per split or after averaging."""
    if not _complete(rows, method):
        return None
    out = []
    for benchmark in distinct(rows, "benchmark"):
        own = [r for r in known(rows, "deviations", benchmark=benchmark, method=method) if r["deviations"]]
        if averaged:
            found = [_pearson((o, p) for _, o, p in averaged_deviations(own))]
        else:
            found = [_pearson((o, p) for _, _, o, p in r["deviations"]) for r in own]
        # A scorer without interaction has no deviations: nothing that could correlate.
        values = [v for v in found if v is not None]
        out += [float(np.mean(values))] if values else []
    return mean_of(out)


def averaged_deviations(rows: Sequence[Row]) -> list[tuple[str, float, float]]:
    """Per pair (`harness:model`) its observed and predicted deviation, mean over splits."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for r in rows:
        for model, harness, observed, predicted in r["deviations"]:
            pairs.setdefault(f"{harness}:{model}", []).append((observed, predicted))
    return [(pair, *np.mean(found, axis=0).tolist()) for pair, found in sorted(pairs.items())]


def figures(rows: Sequence[Row]) -> list[Figure]:
    """All pairs of all benchmarks, and the benchmark with the most rectangles by itself with names."""
    own = known(rows, "deviations", method=FULL)
    of = {b: averaged_deviations([r for r in own if r["benchmark"] == b]) for b in distinct(own, "benchmark")}
    of = {b: found for b, found in of.items() if found}
    if not of:
        return []
    largest = max(of, key=lambda b: max(r["rectangles"] for r in own if r["benchmark"] == b))
    note = (
        "What a model and a harness effect leave of the predicted score and of the observed accuracy, per task, then "
        "averaged over test tasks and splits as in the paper; see the table for what averaging over splits does."
    )
    out: list[Figure] = []
    for name, title, chosen in (
        ("deviations", f"Pairs beyond their components, {largest}", {largest: of[largest]}),
        ("deviations_all", f"Pairs beyond their components, {len(of)} benchmarks", of),
    ):
        series = []
        for benchmark, found in chosen.items():
            far = sorted((abs(o) for _, o, _ in found), reverse=True)[:LABELLED]
            names = [pair if len(chosen) == 1 and abs(o) >= far[-1] else "" for pair, o, _ in found]
            series.append(Series(benchmark, [p for _, _, p in found], [100 * o for _, o, _ in found], labels=names))
        if out and len(series) == 1:
            continue  # it would be the same figure again
        out.append(
            Figure(
                name, title, "points", "predicted deviation (score of hm)", "observed deviation, points of accuracy",
                series, note, reference=0.0, fit=True,
            )
        )  # fmt: skip
    return out


def _complete(rows: Sequence[Row], method: str) -> bool:
    places = {(r["benchmark"], r["split"]) for r in rows}
    return {(r["benchmark"], r["split"]) for r in rows if r["method"] == method} == places


def _pearson(pairs: Iterable[tuple[float, float]]) -> float | None:
    both = np.array(list(pairs), dtype=np.float64).reshape(-1, 2)
    if len(both) < 3:
        return None
    x, y = (both - both.mean(axis=0)).T
    if min(np.abs(x).max(), np.abs(y).max()) < ROUNDING:
        return None
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share
