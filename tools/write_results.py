"""Writes docs/results.md from finished benchmark runs, so that no figure in it is typed by hand.

    python tools/write_results.py out/all out/sparse20 > docs/results.md

Each directory holds the results.json of one `hmrouter bench run`; `command.txt` beside it holds its command line.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hmrouter import __version__
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import Cell, Table
from hmrouter.bench.experiments.summaries import benchmark_means
from hmrouter.bench.report.markdown import table_markdown

HERE = Path(__file__).parent


def paper_table(rows: Sequence[dict[str, Any]]) -> Table:
    """The paper's routing table beside ours, for the benchmarks that both have."""
    paper = tomllib.loads((HERE / "paper_routing.toml").read_text())
    methods = paper.pop("columns")
    columns = ["benchmark", *(f"{m} ({who})" for m in methods for who in ("paper", "ours")), "fixed (ours)", "our data"]
    body: list[list[Cell]] = []
    of = {m: benchmark_means(rows, "normalized_accuracy", m) for m in (*methods, "fixed")}
    for directory, entry in paper.items():
        if not any(r["benchmark"] == directory for r in rows):
            continue
        cells: list[Cell] = [entry["title"]]
        for method, value in zip(methods, entry["values"], strict=True):
            ours = of[method].get(directory)
            cells += [value, None if ours is None else 100.0 * ours]
        fixed = of["fixed"].get(directory)
        body.append([*cells, None if fixed is None else 100.0 * fixed, entry["note"]])
    note = "Percent of the oracle's accuracy. The paper does not report Fixed in this table."
    return Table("The paper's routing table beside ours", columns, body, note)


def main() -> None:
    """Print the page."""
    text = (HERE / "results_text.md").read_text()
    for folder in sys.argv[1:]:
        out = Path(folder)
        rows = json.loads((out / "results.json").read_text())
        for name in dict.fromkeys(r["experiment"] for r in rows):
            own = [r for r in rows if r["experiment"] == name]
            tables = EXPERIMENTS.load(name)().tables(own)
            if name == "routing":
                tables.append(paper_table(own))
            if name == "sparse" and out.name != name:  # the settings one by one stand with the run of more methods
                tables = tables[:2] + [t for t in tables[2:] if t.title.startswith("Difference")]
            block = f"Made by `{(out / 'command.txt').read_text().strip()}`.\n\n"
            block += "\n\n".join(table_markdown(t) for t in tables)
            # A second run of an experiment has its place by the name of its folder.
            place = out.name if f"<!-- {out.name} -->" in text else name
            text = text.replace(f"<!-- {place} -->", block)
    stamp = f"hmrouter {__version__}, {datetime.now(UTC):%Y-%m-%d}"
    sys.stdout.write(text.replace("<!-- stamp -->", stamp))


if __name__ == "__main__":
    main()
