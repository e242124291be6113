"""Measure everything, print a table, write `out/bench.json`. A new benchmark is one more line in `BENCHMARKS`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    attempts,
    commands,
    deciding,
    fit,
    import_rows,
    imports,
    plans,
    pooled,
    probes,
    remembering,
    scoring,
)
from benchmarks.ratio import Ratio
from hmrouter.errors import MissingExtra

BENCHMARKS: dict[str, Callable[[], Iterator[Ratio]]] = {
    "importing rows, memory": import_rows.memory,
    "pooled solve, memory": pooled.memory,
    "fit against PyTorch": fit.against_torch,
    "fit as cells grow": fit.as_cells_grow,
    "scoring against the naive form and bare products": scoring.against_naive_and_bare,
    "scoring as the pool grows": scoring.as_the_pool_grows,
    "pooled solve as cells grow": pooled.as_cells_grow,
    "observing against a refit": pooled.observing_against_a_refit,
    "deciding against the version before": deciding.against_the_version_before,
    "remembering as texts grow": remembering.as_texts_grow,
    "remembering as cells grow": remembering.as_cells_grow,
    "remembering, memory": remembering.memory,
    "plans against brute force": plans.against_brute_force,
    "probes as they grow": probes.as_it_grows,
    "probes at full size": probes.at_full_size,
    "importing rows as they grow": import_rows.as_rows_grow,
    "an attempt in a large repository": attempts.beside_a_worktree,
    "import": imports.against_numpy,
    "start of the command": imports.against_python,
    "ten commands against import numpy and the version before": commands.against_numpy_and_before,
}
OUT = Path("out/bench.json")


def run() -> int:
    """0 if every target is met, 1 if one is missed or could not be measured."""
    messages, ratios, skipped = Console(stderr=True), list[Ratio](), list[str]()
    for title, measure in BENCHMARKS.items():
        with messages.status(f"{title} ..."):
            try:
                ratios += measure()
            except MissingExtra as missing:
                skipped.append(str(missing))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({r.name: r.value for r in ratios}, indent=2) + "\n", encoding="utf-8")
    Console().print(table(ratios))
    for reason in skipped:
        messages.print(f"not measured: {reason}", markup=False, soft_wrap=True)
    return 1 if skipped or any(r.met is False for r in ratios) else 0


def table(ratios: list[Ratio]) -> Table:
    """Ratio, target and verdict, one line each."""
    verdicts = {True: "[green]met", False: "[red]missed", None: ""}
    out = Table()
    for column in ("name", "ratio", "target", "verdict"):
        out.add_column(column, no_wrap=True)
    out.add_column("what")
    for r in ratios:
        out.add_row(r.name, f"{r.value:.2f}", r.target, verdicts[r.met], r.what)
    return out
