"""The page of results is written from results, not by hand."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOLS = Path(__file__).parent.parent / "tools"


def test_the_paper_table_sets_our_means_beside_the_papers_numbers() -> None:
    paper_table = runpy.run_path(str(TOOLS / "write_results.py"))["paper_table"]
    rows = [
        {"benchmark": "scicode", "method": method, "split": split, "normalized_accuracy": value, "setting": ""}
        for method, values in {"random": (0.1, 0.3), "fixed": (0.5, 0.7), "hm": (0.4, 0.6)}.items()
        for split, value in enumerate(values)
    ]
    table = paper_table(rows)
    assert len(table.rows) == 1
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    assert cells["benchmark"] == "SciCode"
    assert (cells["random (paper)"], cells["hm (paper)"]) == (23.64, 65.03)
    assert [round(float(cells[c]), 6) for c in ("random (ours)", "fixed (ours)", "hm (ours)")] == [20.0, 60.0, 50.0]
    assert cells["irtnet (ours)"] is None


def test_the_text_has_a_place_for_every_experiment() -> None:
    text = (TOOLS / "results_text.md").read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in text for name in ("stamp", "routing", "sparse", "forecast", "cost"))
