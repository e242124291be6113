"""Tables of `overhead`, from its rows alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.summaries import distinct, known
from hmrouter.bench.report.parts import Cell, Figure, ReportTable, Series


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Per method and embedder the mean of benchmarks; per benchmark the training times."""
    body: list[list[Cell]] = []
    for setting in distinct(rows, "setting"):
        for method in distinct(rows, "method"):
            own = known(rows, "score_ms", setting=setting, method=method)
            if own:
                encode, score, train = (_mean(own, key) for key in ("encode_ms", "score_ms", "fit_seconds"))
                longest = max(r["fit_seconds"] for r in own)
                fit = _mean(own, "embedder_fit_seconds")
                body.append([method, setting, encode, score, encode + score, fit, train, longest, len(own)])
    columns = [
        "method", "embedder", "encoding, ms/task", "scoring, ms/task", "total, ms/task", "fitting the embedder, s",
        "training, s", "longest training, s", "benchmarks",
    ]  # fmt: skip
    note = (
        "Mean of benchmarks; per task the median of single tasks, on one thread. Scoring is of the whole pool. Times "
        f"are those of the machine that ran this, under its load. {_agents(rows)}"
    )
    out = [ReportTable("Routing overhead", columns, body, note, digits=3)]
    first = [r for r in rows if r["setting"] == rows[0]["setting"]]
    methods = distinct(first, "method")
    lines: list[list[Cell]] = []
    for b in distinct(first, "benchmark"):
        of = {r["method"]: r for r in first if r["benchmark"] == b}
        one = next(iter(of.values()))
        times = [of[m]["fit_seconds"] if m in of else None for m in methods]
        lines.append([b, one["n_train"], one["n_routes"], one["n_outcomes"], *times])
    note = f"Seconds to train on one split, one thread; embedder {rows[0]['setting']}, its own time not included."
    columns = ["benchmark", "tasks", "routes", "outcomes", *methods]
    return [*out, ReportTable("Training time per benchmark", columns, lines, note, digits=2)]


def headline(rows: Sequence[Row]) -> str:
    """Milliseconds per task and seconds of training, of the methods that stand for the two scorers."""
    said = []
    for method in ("hm", "safe"):
        own = [r for r in rows if r["method"] == method and r["setting"] == rows[0]["setting"]]
        if own:
            task = _mean(own, "encode_ms") + _mean(own, "score_ms")
            said.append(f"{method} takes {task:.1f} ms per task and {_mean(own, 'fit_seconds'):.2f} s to train")
    return f"With {rows[0]['setting']}, {'; '.join(said)}." if said else ""


def _agents(rows: Sequence[Row]) -> str:
    per = {r["benchmark"]: r["agent_seconds"] for r in known(rows, "agent_seconds")}
    if not per:
        return (
            "How long the agents themselves ran is not recorded in this data; the paper says more than 100 s per task."
        )
    return f"The agents themselves ran {np.mean(list(per.values())):.0f} s per task (median, mean of benchmarks)."


def _mean(rows: Sequence[Row], key: str) -> float:
    return float(np.mean([r[key] for r in rows]))


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Training time against the number of outcomes."""
    first = [r for r in rows if r["setting"] == rows[0]["setting"]]
    series = []
    for method in distinct(first, "method"):
        points = sorted((r["n_outcomes"], r["fit_seconds"]) for r in first if r["method"] == method)
        series.append(Series(method, *zip(*points, strict=True)))
    return [
        Figure(
            "overhead", f"Training time, embedder {rows[0]['setting']}", "lines", "training outcomes",
            "seconds to train", series, log_x=True, log_y=True,
            note="One point per benchmark, one thread; the time of the task vectors is not in it.",
        )
    ]  # fmt: skip
