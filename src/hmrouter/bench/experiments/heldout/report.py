"""The tables and figures of `heldout`: routing on benchmarks of which nothing was seen, from rows alone."""

from __future__ import annotations

from collections.abc import Sequence

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.path import BY_ROUTE
from hmrouter.bench.experiments.summaries import (
    ACCURACY,
    accuracy_table,
    benchmark_means,
    difference_table,
    distinct,
    known,
    level,
    mean_of,
)
from hmrouter.bench.methods import REFERENCES
from hmrouter.bench.report.parts import Figure, ReportTable, Series

OF_THE_PAPER = ("taubench_airline", "corebench_hard", "scicode")


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """All held-out benchmarks, the paper's three, differences to Fixed, and what was known of each."""
    out = [accuracy_table(rows, "Held-out benchmarks, oracle-normalised")]
    three = [r for r in rows if r["benchmark"] in OF_THE_PAPER]
    if three and len(three) < len(rows):
        out.append(accuracy_table(three, "The paper's held-out benchmarks, oracle-normalised"))
    difference = difference_table(rows, "Held-out benchmarks: difference to Fixed")
    out += [difference] if difference else []
    first = {r["benchmark"]: r for r in reversed(rows)}
    body = [
        [b, first[b]["n_routes"], first[b]["n_routes_elsewhere"], ", ".join(first[b]["learned_from"])]
        for b in distinct(rows, "benchmark")
    ]
    note = "Benchmarks that share tasks are not learned from."
    if bound := [m for m in distinct(rows, "method") if m in BY_ROUTE]:
        note += f" Choosing among the routes run elsewhere: {', '.join(bound)}; the others may choose any."
    columns = ["benchmark", "routes", "run elsewhere", "learned from"]
    return [*out, ReportTable("What was known of held-out benchmarks", columns, body, note, digits=0)]


def figures(rows: Sequence[Row]) -> list[Figure]:
    """The mean per method, every benchmark, and the paper's figure of its three."""
    methods = distinct(rows, "method")
    means = {m: benchmark_means(known(rows, ACCURACY), ACCURACY, m, 100.0) for m in methods}
    benchmarks = distinct(known(rows, ACCURACY), "benchmark")
    overall = {m: mean_of(of.values()) for m, of in means.items()}
    bars = [Series(m, [0.0], [value]) for m, value in overall.items() if value is not None]
    if not bars:
        return []
    values = [[means[m][b] for m in methods] for b in benchmarks]
    best = [_best(line, methods) for line in values]
    out = [
        Figure(
            "heldout", f"Routing on held-out benchmarks, mean of {len(benchmarks)} benchmarks", "bars", "",
            "percent of the oracle's accuracy", bars,
            note="Learned from the other benchmarks only, those with common tasks left out.",
        ),
        Figure(
            "heldout_benchmarks", "Routing on each held-out benchmark", "heatmap", "method", "", (),
            note="Percent of the oracle's accuracy; the best of each row, references aside, are marked.",
            grid={"rows": benchmarks, "columns": methods, "values": values, "row_best": best,
                  "label": "% of the oracle"},
        ),
    ]  # fmt: skip
    three = [b for b in OF_THE_PAPER if b in benchmarks]
    groups = []
    for m in (m for m in methods if m != "oracle"):  # which is at 100
        points = [(float(i), y) for i, b in enumerate(three) if (y := means[m][b]) is not None]
        groups += [Series(m, *zip(*points, strict=True))] if points else []
    if groups:
        out.append(
            Figure(
                "heldout_paper", "The paper's held-out benchmarks", "bars", "", "percent of the oracle's accuracy",
                groups, x_names=three,
            )
        )  # fmt: skip
    return out


def headline(rows: Sequence[Row]) -> str:
    """Give the means of our two scorers, the strongest baseline and the references."""
    said = []
    for m in ("hm", "safe", "fixed", "embedllm", "random"):
        value = level(rows, m)
        said += [f"{m} {value:.1f}"] if value is not None else []
    return f"Learned from other benchmarks only, percent of the oracle: {', '.join(said)}." if said else ""


def _best(line: Sequence[float | None], methods: Sequence[str]) -> list[int]:
    """Where the best numbers stand, references aside."""
    ranked = {i: v for i, v in enumerate(line) if v is not None and methods[i] not in REFERENCES}
    return [i for i, v in ranked.items() if v == max(ranked.values())]
