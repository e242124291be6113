"""Tables and figures of `transfer`, from its rows alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.summaries import (
    accuracy_table,
    benchmark_interval,
    benchmark_means,
    distinct,
    known,
    mean_of,
    split_interval,
)
from hmrouter.bench.report.parts import Cell, Figure, Interval, ReportTable, Series
from hmrouter.evidence.dataset import TRAINING_SHARE

MOVED, LUCK = "oracle_moved", "oracle_moved_exchanged"
BESIDE = 0.2
"""How far apart the marks of one benchmark stand, so that none covers another."""
Grid = Mapping[tuple[str, str], float]
"""(model, harness) -> mean score in percent."""


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Losses, levels, and the best model of each harness."""
    split_rows = known(rows, "loss")
    out = []
    if split_rows:
        methods = [m for m in distinct(split_rows, "method") if m != "oracle"]
        body: list[list[Cell]] = []
        means = {m: benchmark_means(split_rows, "loss", m, 100.0) for m in methods}
        for b in distinct(split_rows, "benchmark"):
            count = max(r["moves"] for r in split_rows if r["benchmark"] == b)
            body.append([b, count, *(means[m][b] for m in methods), _beyond_luck(split_rows, b)])
        body.append(["mean", None, *(mean_of(means[m].values()) for m in methods), _beyond_luck(split_rows)])
        note = (
            "Points of accuracy below the oracle of the harness in use: mean over all ordered pairs of harnesses with "
            "at least two models in common, choosing among those models; ties are averaged. fixed and fixed_moved use "
            "one model for all tasks, the best on training tasks under this harness or under the other one. "
            "oracle_moved_exchanged is oracle_moved in a world where a harness helps every model and task alike: where "
            "a model's two scores on a task differ, a coin (weighted by how much better the one harness is overall) "
            "decides which is which. What is lost there is the luck of single runs. Last column: what oracle_moved "
            "loses beyond that, with 95% intervals over splits and, below, over benchmarks."
        )
        columns = ["benchmark", "moves", *methods, "beyond luck"]
        out.append(ReportTable("Loss of moved model choices", columns, body, note, footer_rows=1))
        own = [r for r in split_rows if r["method"] != LUCK]  # its oracle is that of another world
        out.append(accuracy_table(own, "Accuracy of model choices under the harness in use", "accuracy"))
    grids = pair_grids(rows)
    if grids:
        lines: list[list[Cell]] = [[b, *_counts(core(grid))] for b, grid in grids.items()]
        note = "Pairs whose model was run with two harnesses and whose harness was run with two models, all tasks."
        columns = ["benchmark", "models", "harnesses", "pairs", "best models of a harness", "best harnesses of a model"]
        out.append(ReportTable("How many are the best of something", columns, lines, note, digits=0))
    return out


def _beyond_luck(rows: Sequence[Row], benchmark: str | None = None) -> Interval | None:
    """Points that moving loses more than in the exchanged world, with its interval."""
    losses = {(r["benchmark"], r["split"], r["method"]): 100.0 * r["loss"] for r in rows}
    found: dict[str, list[float]] = {}
    for b, split, method in losses:
        if method == MOVED and (b, split, LUCK) in losses:
            found.setdefault(b, []).append(losses[b, split, MOVED] - losses[b, split, LUCK])
    if benchmark is not None:
        return split_interval(found[benchmark], 1.0 - TRAINING_SHARE, TRAINING_SHARE) if benchmark in found else None
    return benchmark_interval(found) if found and found.keys() == set(distinct(rows, "benchmark")) else None


def headline(rows: Sequence[Row]) -> str:
    """The mean loss beside that of the exchanged world; empty if one of them did not run."""
    own = known(rows, "loss")
    moved, luck = (mean_of(benchmark_means(own, "loss", m, 100.0).values()) for m in (MOVED, LUCK))
    if moved is None or luck is None:
        return ""
    return (
        f"The oracle's models lose {moved:.1f} points under another harness; {luck:.1f} in a world where a harness "
        "helps every model alike."
    )


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Losses per benchmark and split, and every benchmark's pairs."""
    return [*loss_figure(rows), *pair_figures(rows)]


def loss_figure(rows: Sequence[Row]) -> list[Figure]:
    """Per benchmark the loss on each split, and the means, also of the exchanged world."""
    own = known(rows, "loss")
    benchmarks = distinct(known(own, "loss", method=MOVED), "benchmark")
    if not benchmarks:
        return []
    dots = [(benchmarks.index(r["benchmark"]) - BESIDE, 100.0 * r["loss"]) for r in known(own, "loss", method=MOVED)]
    series = [Series("one split", *zip(*dots, strict=True))]
    for method, name, shift in ((MOVED, "mean", 0.0), (LUCK, "mean, scores exchanged", BESIDE)):
        of = benchmark_means(own, "loss", method, 100.0)
        points = [(i + shift, value) for i, b in enumerate(benchmarks) if (value := of[b]) is not None]
        series += [Series(name, *zip(*points, strict=True))] if points else []
    return [
        Figure(
            "transfer", "Oracle model choices, moved to another harness", "points", "", "points of accuracy lost",
            series, x_names=benchmarks,
            note="Against the oracle of the harness in use. Exchanged: coins decide which of a model's two scores on a "
            "task stands under which harness; what is lost there is the luck of single runs.",
        )
    ]  # fmt: skip


def pair_grids(rows: Sequence[Row]) -> dict[str, Grid]:
    """Per benchmark, the mean score of every pair in percent."""
    return {
        r["benchmark"]: {(model, harness): 100.0 * mean for model, harness, mean in r["pairs"]}
        for r in rows
        if r["pairs"] is not None
    }


def pair_figures(rows: Sequence[Row]) -> list[Figure]:
    """A heat map per benchmark: harnesses x models."""
    out = []
    for benchmark, grid in pair_grids(rows).items():
        kept = core(grid)
        models, harnesses = sorted({m for m, _ in kept}), sorted({h for _, h in kept})
        if not kept:
            continue
        values = [[kept.get((m, h)) for m in models] for h in harnesses]
        out.append(
            Figure(
                f"pairs_{benchmark}", f"Accuracy of every pair, {benchmark}", "heatmap", "model", "harness", (),
                note="All tasks, in percent. A box marks the best model of each harness, a cross the best harness of "
                "each model. Only models with two harnesses and harnesses with two models are shown.",
                grid={
                    "rows": harnesses, "columns": models,
                    "values": values, "row_best": [_largest(line) for line in values],
                    "column_best": [_largest(column) for column in zip(*values, strict=True)],
                    "label": "accuracy, %",
                },
            )
        )  # fmt: skip
    return out


def core(grid: Grid) -> Grid:
    """Take away models with one harness and harnesses with one model, again and again.

    >>> sorted(core({("a", "x"): 1, ("a", "y"): 1, ("b", "x"): 1, ("b", "y"): 1, ("c", "x"): 1}))
    [('a', 'x'), ('a', 'y'), ('b', 'x'), ('b', 'y')]
    """
    models, harnesses = [m for m, _ in grid], [h for _, h in grid]
    kept = {(m, h): v for (m, h), v in grid.items() if models.count(m) > 1 and harnesses.count(h) > 1}
    return kept if len(kept) == len(grid) else core(kept)


def _largest(line: Sequence[float | None]) -> list[int]:
    """Where the largest numbers stand."""
    run = [value for value in line if value is not None]
    return [i for i, value in enumerate(line) if value is not None and value == max(run)]


def _best(values: Mapping[str, float | None]) -> str | None:
    """The name with the largest value; the first of equals."""
    run = {name: value for name, value in values.items() if value is not None}
    return max(run, key=run.__getitem__) if run else None


def _counts(grid: Grid) -> list[Cell]:
    models, harnesses = sorted({m for m, _ in grid}), sorted({h for _, h in grid})
    best_models = {_best({m: grid.get((m, h)) for m in models}) for h in harnesses}
    best_harnesses = {_best({h: grid.get((m, h)) for h in harnesses}) for m in models}
    return [len(models), len(harnesses), len(grid), len(best_models), len(best_harnesses)]
