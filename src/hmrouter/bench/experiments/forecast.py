"""`forecast` (Fig. adaptation_forecasting b): does this execution succeed? Discrimination and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Row, RunRequest, Unit
from hmrouter.bench.experiments.path import ALL_METHODS, embedded, fit, product_of, row, split_of
from hmrouter.bench.experiments.sparse import thinned
from hmrouter.bench.experiments.summaries import benchmark_means, distinct, known, mean_of
from hmrouter.bench.judge.choices import shares_of
from hmrouter.bench.judge.forecasts import auc, brier, log_loss
from hmrouter.bench.judge.predict import route_intervals
from hmrouter.bench.report.parts import Cell, Figure, ReportTable, Series
from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.calibration_error import BINS, ece, reliability

SETTINGS = ("full", "routes2-5")


class Forecast(Experiment):
    """Measures how good predicted probabilities of success are, on all cells of the test tasks."""

    name: ClassVar[str] = "forecast"
    title: ClassVar[str] = "Correctness forecasting"
    methods: ClassVar[Sequence[str]] = tuple(m for m in ALL_METHODS if m not in ("random", "oracle"))

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, setting, split and method that predicts."""
        return [u for u in product_of(self.name, request, SETTINGS) if u.method != "oracle"]

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Fit, and hold every prediction against its outcome."""
        split = thinned(split_of(benchmark, request.seed, unit.split), unit.setting, request.seed)
        found = fit(unit.method, split, request, self.told_by(unit, request))
        y, intervals = split.test.cells.score, None
        if found is None:  # random: the training mean for every cell
            p = np.full(len(y), split.train.cells.score.mean())
        else:
            p = found.success[split.test.cells.task, split.test.cells.route]
            intervals = route_intervals(found.scorer, embedded(split, request)[1], split.test)
        return [
            row(unit, split, shares_of(unit.method, split, found), found)
            | {
                "auc": auc(y, p), "log_loss": log_loss(y, p), "brier": brier(y, p), "ece": ece(y, p),
                "reliability": reliability(y, p), "coverage": coverage(intervals, split.test),
            }
        ]  # fmt: skip

    def headline(self, rows: Sequence[Row]) -> str:
        """Give the AUC of our two scorers and of the strongest baselines."""
        own, said = [r for r in rows if r["setting"] == distinct(rows, "setting")[0]], []
        for m in ("hm", "safe", "fixed", "embedllm"):
            value = mean_of(benchmark_means(own, "auc", m).values())
            said += [f"{m} {value:.3f}"] if value is not None else []
        return f"AUC on test outcomes, mean of benchmarks: {', '.join(said)}." if said else ""

    def tables(self, rows: Sequence[Row]) -> list[ReportTable]:
        """Means per method, and per benchmark for AUC and log-loss."""
        methods, out = distinct(rows, "method"), []
        for setting in distinct(rows, "setting"):
            own = [r for r in rows if r["setting"] == setting]
            body: list[list[Cell]] = []
            for m in methods:
                keys = ("auc", "log_loss", "brier", "ece", "coverage")
                body.append([m, *(mean_of(benchmark_means(own, key, m).values()) for key in keys)])
            n = len(distinct(own, "benchmark"))
            note = (
                f"Mean of {n} benchmarks and their splits, training evidence: {setting}. AUC: higher is better; "
                "log-loss, Brier score and expected calibration error: lower is better. Avengers ranks; its "
                "probabilities are cluster means. Coverage: share of the routes whose mean over the test tasks lies in "
                "the 90% interval that was predicted for it; a dash where a method gives none."
            )
            columns = ["method", "AUC", "log-loss", "Brier", "ECE", "coverage"]
            smaller = columns[2:5]
            unranked = ("random", "oracle", "coverage")
            out.append(ReportTable(f"Forecasts, {setting}", columns, body, note, 3, "column", unranked, 0, smaller))
            for key, label in (("auc", "AUC"), ("log_loss", "log-loss")):
                # A benchmark whose test outcomes are all alike has no AUC.
                benchmarks = distinct(known(own, key), "benchmark")
                of = {m: benchmark_means(own, key, m) for m in methods}
                lines: list[list[Cell]] = [[b, *(of[m][b] for m in methods)] for b in benchmarks]
                title, lower = f"{label} per benchmark, {setting}", benchmarks if key == "log_loss" else ()
                out.append(ReportTable(title, ["benchmark", *methods], lines, "", 3, "row", lower_is_better=lower))
        return out

    def figures(self, rows: Sequence[Row]) -> list[Figure]:
        """AUC per method, and the reliability curve of each."""
        out = []
        own = [r for r in rows if r["setting"] == distinct(rows, "setting")[0]]
        bars = []
        for method in distinct(own, "method"):
            value = mean_of(benchmark_means(own, "auc", method).values())
            if value is not None:
                bars.append(Series(method, [0.0], [value]))
        if bars:
            label = "AUC, mean of benchmarks; chance is 0.5"
            out.append(Figure("forecast_auc", "Forecasting success", "bars", "", label, bars, reference=0.5))
        curves = [Series(m, *_pooled_curve(own, m)) for m in distinct(own, "method") if _pooled_curve(own, m)[0]]
        if curves:
            out.append(
                Figure(
                    "reliability", "Reliability of the forecasts", "lines", "predicted success",
                    "observed success", curves, diagonal=True,
                    note="All test cells of all benchmarks and splits, in bins of equal width.",
                )
            )  # fmt: skip
        return out


def _pooled_curve(rows: Sequence[Row], method: str) -> tuple[list[float], list[float]]:
    sums: dict[int, list[float]] = {}
    for r in rows:
        if r["method"] == method:
            for forecast, outcome, n in r["reliability"]:
                total = sums.setdefault(min(int(forecast * BINS), BINS - 1), [0.0, 0.0, 0.0])
                for i, value in enumerate((forecast * n, outcome * n, n)):
                    total[i] += value
    bins = [sums[b] for b in sorted(sums)]
    return [b[0] / b[2] for b in bins], [b[1] / b[2] for b in bins]


def coverage(intervals: Sequence[tuple[float, float]] | None, test: Dataset) -> float | None:
    """Count the routes whose observed mean lies in its predicted interval, as a share; None without intervals."""
    if intervals is None:
        return None
    means = test.route_means()
    run = ~np.isnan(means)
    low, high = np.array(intervals).T
    return float(((low <= means) & (means <= high))[run].mean())
