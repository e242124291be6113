"""Means and differences of rows with their intervals, for the tables and figures of all experiments.

Means over different sets do not compare: where a method lacks a split or a benchmark that another one has, it has no
mean. What no method can be judged on is left out for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.methods import REFERENCES
from hmrouter.bench.report.parts import Cell, Interval, ReportTable, Series
from hmrouter.evidence.dataset import TRAINING_SHARE

ACCURACY = "normalized_accuracy"


def distinct(rows: Iterable[Row], key: str) -> list[Any]:
    """The values of a key, in the order in which they first appear."""
    return list(dict.fromkeys(r[key] for r in rows))


def known(rows: Iterable[Row], key: str, **where: Any) -> list[Row]:
    """The rows that match and have a value of the key."""
    return [r for r in rows if r[key] is not None and all(r[k] == v for k, v in where.items())]


def benchmark_means(rows: Sequence[Row], key: str, method: str, scale: float = 1.0) -> dict[str, float | None]:
    """Per benchmark on which the key is known, a method's mean over splits."""
    splits: dict[str, set[int]] = {}
    own: dict[str, dict[int, float]] = {}
    for r in known(rows, key):
        splits.setdefault(r["benchmark"], set()).add(r["split"])
        if r["method"] == method:
            own.setdefault(r["benchmark"], {})[r["split"]] = r[key]
    return {
        b: scale * float(np.mean(list(own[b].values()))) if own.get(b, {}).keys() == wanted else None
        for b, wanted in splits.items()
    }


def mean_of(cells: Iterable[float | None]) -> float | None:
    """Mean over benchmarks; None of nothing, or if one is missing."""
    values = list(cells)
    found = [v for v in values if v is not None]
    return float(np.mean(found)) if found and len(found) == len(values) else None


def level(rows: Sequence[Row], method: str, **where: Any) -> float | None:
    """Give a method's normalised accuracy in percent on the rows that match, mean of splits, then of benchmarks."""
    return mean_of(benchmark_means(known(rows, ACCURACY, **where), ACCURACY, method, 100.0).values())


def differences(
    rows: Sequence[Row], method: str, to: str = "fixed", key: str = ACCURACY, **where: Any
) -> dict[str, list[float]]:
    """Per benchmark, points of (normalised) accuracy of a method above another on the same splits."""
    out: dict[str, list[float]] = {}
    matching = known(rows, key, **where)
    base = {(r["benchmark"], r["split"]): r[key] for r in matching if r["method"] == to}
    for r in matching:
        place = (r["benchmark"], r["split"])
        if r["method"] == method and place in base:
            out.setdefault(r["benchmark"], []).append(100.0 * (r[key] - base[place]))
    return out


def overall_difference(
    rows: Sequence[Row], method: str, to: str = "fixed", key: str = ACCURACY, **where: Any
) -> Interval | None:
    """The mean difference over benchmarks with its interval; None if a benchmark is missing."""
    found = differences(rows, method, to, key, **where)
    everywhere = distinct(known(rows, key, **where), "benchmark")
    return benchmark_interval(found) if found and found.keys() == set(everywhere) else None


def compared(rows: Sequence[Row], to: str = "fixed") -> list[str]:
    """The methods whose difference to another one is worth showing; none where that one did not run."""
    methods = distinct(rows, "method")
    return [m for m in methods if m not in (*REFERENCES, to)] if to in methods else []


def accuracy_table(rows: Sequence[Row], title: str, key: str = ACCURACY, **where: Any) -> ReportTable:
    """Benchmarks x methods, mean over splits in percent, with the mean of benchmarks below."""
    rows = known(rows, key, **where)
    columns = {m: benchmark_means(rows, key, m, 100.0) for m in distinct(rows, "method")}
    body: list[list[Cell]] = [[b, *(c[b] for c in columns.values())] for b in distinct(rows, "benchmark")]
    body.append(["mean", *(mean_of(c.values()) for c in columns.values())])
    what = "Percent of the oracle's accuracy on test tasks" if key == ACCURACY else "Accuracy on test tasks in percent"
    splits = len(distinct(rows, "split"))
    note = f"{what}, {f'mean of {splits} splits' if splits > 1 else 'one split'}."
    return ReportTable(title, ["benchmark", *columns], body, note, best="row", footer_rows=1)


def difference_table(rows: Sequence[Row], title: str, to: str = "fixed", **where: Any) -> ReportTable | None:
    """Benchmarks x methods: points above `to` on the same splits, with 95% intervals."""
    rows = known(rows, ACCURACY, **where)
    methods = compared(rows, to)
    if not methods:
        return None
    found = {m: differences(rows, m, to) for m in methods}
    body: list[list[Cell]] = []
    for b in distinct(rows, "benchmark"):
        cells = [
            split_interval(found[m][b], 1.0 - TRAINING_SHARE, TRAINING_SHARE) if found[m].get(b) else None
            for m in methods
        ]
        body.append([b, *cells])
    body.append(["mean", *(overall_difference(rows, m, to) for m in methods)])
    note = (
        f"Points of normalised accuracy above {to} on identical splits, with 95% intervals: per benchmark for other "
        "splits of the same tasks (variance corrected for overlapping splits), in the last line for other benchmarks "
        "like these (benchmarks and splits drawn with replacement)."
    )
    return ReportTable(title, ["benchmark", *methods], body, note, footer_rows=1)


def difference_lines(rows: Sequence[Row], places: Mapping[str, float]) -> list[Series]:
    """Draw each method's difference to Fixed, with its interval, over settings that stand at places along an axis."""
    series = []
    for method in compared(rows):
        points = []
        for setting, place in places.items():
            d = overall_difference(rows, method, setting=setting)
            if d is not None:
                points.append((place, d.value, d.low, d.high))
        if points:
            x, y, low, high = zip(*points, strict=True)
            series.append(Series(method, x, y, low, high))
    return series


def difference_sentence(rows: Sequence[Row], methods: Sequence[str], where: str, to: str = "fixed") -> str:
    """Say how far these methods are above `to`, in the mean over benchmarks; empty if none of them ran."""
    said = []
    for m in methods:
        d = overall_difference(rows, m, to)
        said += [f"{m} {d.value:+.1f} [{d.low:.1f}, {d.high:.1f}]"] if d is not None else []
    return f"{where}, points of normalised accuracy above {to}: {', '.join(said)}." if said else ""


def split_interval(differences: Sequence[float], n_test: float, n_train: float) -> Interval:
    """95% interval of a mean over random splits of one benchmark.

    Splits share tasks, so their differences are not independent; the variance is corrected for the overlap
    (Nadeau and Bengio 2003): (1 / splits + test / train) instead of 1 / splits.

    >>> split_interval([0.01, 0.03, 0.02], n_test=30, n_train=70).value
    0.02
    """
    from scipy.stats import t

    d = np.asarray(differences, dtype=np.float64)
    mean = float(d.mean())
    if len(d) < 2:
        return Interval(mean, float("-inf"), float("inf"))
    half = float(t.ppf(0.975, len(d) - 1) * np.sqrt((1.0 / len(d) + n_test / n_train) * d.var(ddof=1)))
    return Interval(mean, mean - half, mean + half)


def benchmark_interval(differences: Mapping[str, Sequence[float]], draws: int = 4000, seed: int = 0) -> Interval:
    """95% interval of the mean over benchmarks: benchmarks are drawn with replacement, then splits within each.

    It answers how the mean would come out on other benchmarks like these.

    >>> benchmark_interval({"a": [1.0, 1.0], "b": [3.0]})
    Interval(value=2.0, low=1.0, high=3.0, signed=True)
    """
    groups = [np.asarray(v, dtype=np.float64) for v in differences.values() if len(v)]
    value = float(np.mean([g.mean() for g in groups]))
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(groups), size=(draws, len(groups)))
    drawn = np.empty(chosen.shape)
    for j, group in enumerate(groups):
        here = chosen == j
        drawn[here] = rng.choice(group, size=(int(here.sum()), len(group))).mean(axis=1)
    means = drawn.mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(value, float(low), float(high))
