"""The tables and figures of `probe`: regret and error against the number of runs, from rows alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.probe.buying import BOUGHT, SEEN
from hmrouter.bench.experiments.summaries import benchmark_means, distinct, known, mean_of
from hmrouter.bench.report.parts import Cell, Figure, ReportTable, Series

PLAIN, NEW = ("uniform_means", BOUGHT[-1]), ("random", SEEN[-1])
REFERENCES = {
    "by mean scores": PLAIN,
    "by the pooled model": ("uniform_pooled", BOUGHT[-1]),
    "by the same model": ("uniform_alone", BOUGHT[-1]),
}
"""What the runs of others are counted against, a method and its number of runs: every pair in turn, with three ways to
judge what came out; and for a new model the mean of random tasks."""


def headline(rows: Sequence[Row]) -> str:
    """Runs to the regret of running every pair in turn; empty if that was not run."""
    said = []
    for words, reference in REFERENCES.items():
        needed = _needed(_best(rows), "regret", reference)
        own = [f"{m} {n}" for m, n in needed.items() if m.startswith("probe") and n]
        said += [f"{words}: {', '.join(own)}"] if own else []
    start = f"Runs to the regret that running every pair in turn has after {BOUGHT[-1]}, judged "
    return f"{start}{'; '.join(said)}." if said else ""


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Runs needed, regret against runs, and the error of a newcomer's rate."""
    best, new, out = _best(rows), _new(rows), list[ReportTable]()
    if best:
        overall = [_needed(best, "regret", reference) for reference in REFERENCES.values()]
        benchmarks = distinct(best, "benchmark")
        each = {b: _needed([r for r in best if r["benchmark"] == b], "regret", PLAIN) for b in benchmarks}
        body: list[list[Cell]] = [
            [m, *(of.get(m) for of in overall), *(each[b].get(m) for b in benchmarks)] for m in distinct(best, "method")
        ]
        if any(overall):
            out.append(
                ReportTable(
                    f"Runs to the regret that running every pair in turn has after {BOUGHT[-1]}",
                    ["method", *REFERENCES, *benchmarks], body, digits=0,
                    note="Runs from which on the regret, mean of benchmarks, stays at or below that of every pair in "
                    "turn, judged by mean scores (uniform_means), by the pooled model of safe_alone, which knows "
                    "models by their names only (uniform_pooled), or like the others (uniform_alone); on each "
                    "benchmark against the first. Empty: never.",
                )
            )  # fmt: skip
        note = (
            "Points of mean score that the chosen route has less than the best one, mean of benchmarks. Methods with "
            "_alone know only the suite's own runs, the others also what the other benchmarks say."
        )
        out.append(_levels("Regret after a number of runs", best, "regret", BOUGHT, note))
    if new:
        needed = ", ".join(f"{m} {n or 'never'}" for m, n in _needed(new, "error", NEW).items())
        note = (
            "Points between the estimated and the true success rate of a route whose model is new, mean of benchmarks. "
            "random: the mean of random tasks; random_curves: these tasks, with what other routes showed about them. "
            f"Runs to the error that random has after {SEEN[-1]}: {needed}."
        )
        out.append(_levels("A new model on one harness: error after a number of runs", new, "error", SEEN, note))
    return out


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Regret against runs without and with history, and error against runs."""
    best, new, out = _best(rows), _new(rows), list[Figure]()
    alone = [r for r in best if r["method"].endswith(("_alone", "_means", "_pooled")) or r["method"] == "probe"]
    told = [r for r in best if not r["method"].endswith(("_alone", "_means", "_pooled"))]
    parts = (
        ("probe", "Regret against runs, from nothing", alone, "probe also with what other benchmarks say."),
        ("probe_history", "Regret against runs, with history", told, "All know what other benchmarks say."),
    )
    for name, title, own, note in parts:
        if own:
            lines = _series(own, "regret", BOUGHT)
            reference = _curve(best, PLAIN[0], "regret", BOUGHT)[-1]
            out.append(
                Figure(
                    name, title, "lines", "runs bought", "regret of the chosen route, points", lines, log_x=True,
                    reference=reference,
                    note=f"Mean over {len(distinct(own, 'benchmark'))} benchmarks. {note} The line across is where "
                    f"running every pair in turn, judged by mean scores, ends after {BOUGHT[-1]} runs.",
                )
            )  # fmt: skip
    if new:
        out.append(
            Figure(
                "probe_new", "A new model on one harness", "lines", "runs of the new pair",
                "error of its success rate, points", _series(new, "error", SEEN),
                reference=_curve(new, NEW[0], "error", SEEN)[-1],
                note=f"Mean over {len(distinct(new, 'benchmark'))} benchmarks. The line across is what the mean of "
                f"{SEEN[-1]} random tasks leaves.",
            )
        )  # fmt: skip
    return out


def _best(rows: Sequence[Row]) -> list[Row]:
    return known(rows, "regret")


def _new(rows: Sequence[Row]) -> list[Row]:
    return known(rows, "error")


def _curve(rows: Sequence[Row], method: str, key: str, numbers: Sequence[int]) -> list[float | None]:
    """Points, mean of benchmarks, at each number of runs."""
    at = {n: [r for r in rows if r["runs"] == n] for n in numbers}
    return [mean_of(benchmark_means(own, key, method, 100.0).values()) for own in at.values()]


def _needed(rows: Sequence[Row], key: str, reference: tuple[str, int]) -> dict[str, int | None]:
    """Per method, the runs from which on it stays at or below the reference; None if it never does."""
    numbers = sorted({int(r["runs"]) for r in rows})
    ends = _curve(rows, reference[0], key, [reference[1]])[0]
    out: dict[str, int | None] = {}
    if ends is None:
        return out
    for method in distinct(rows, "method"):
        curve = np.array([np.nan if v is None else v for v in _curve(rows, method, key, numbers)])
        above = np.flatnonzero(~(curve <= ends + 1e-9))
        first = int(above[-1]) + 1 if len(above) else 0
        out[method] = numbers[first] if first < len(numbers) else None
    return out


def _levels(title: str, rows: Sequence[Row], key: str, numbers: Sequence[int], note: str) -> ReportTable:
    methods = distinct(rows, "method")
    curves = [_curve(rows, m, key, numbers) for m in methods]
    body: list[list[Cell]] = [[str(n), *(c[i] for c in curves)] for i, n in enumerate(numbers)]
    return ReportTable(title, ["runs", *methods], body, note, best="row", lower_is_better=[str(n) for n in numbers])


def _series(rows: Sequence[Row], key: str, numbers: Sequence[int]) -> list[Series]:
    out = []
    for method in distinct(rows, "method"):
        points = [
            (float(n), y) for n, y in zip(numbers, _curve(rows, method, key, numbers), strict=True) if y is not None
        ]
        if points:
            out.append(Series(method, *zip(*points, strict=True)))
    return out
