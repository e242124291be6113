"""The page of results is written from results, not by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from hmrouter.bench.experiments import every_experiment
from hmrouter.bench.report.parts import Interval, ReportTable

TOOLS = Path(__file__).parent.parent / "tools"


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))


def test_the_papers_numbers_stand_beside_ours_line_by_line() -> None:
    from paper_tables import beside_ours

    ours = ReportTable(
        "Routing accuracy, oracle-normalised",
        ["benchmark", "random", "fixed", "hm"],
        [["unheard of", 1.0, 2.0, 3.0], ["scicode", 20.0, 60.0, Interval(50.0, 40.0, 60.0)]],
    )
    table = beside_ours("routing", [ReportTable("another", ["benchmark"], []), ours])
    assert table is not None
    assert len(table.rows) == 1
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    assert cells["benchmark"] == "scicode"
    assert (cells["random (paper)"], cells["hm (paper)"]) == (23.64, 65.03)
    assert [cells[c] for c in ("random (ours)", "fixed (ours)", "hm (ours)", "irtnet (ours)")] == [20, 60, 50, None]
    assert "25 routes" in str(cells["our data"])


def test_what_the_paper_does_not_have_stands_alone() -> None:
    from paper_tables import beside_ours

    assert beside_ours("sparse", [ReportTable("any", ["benchmark"], [])]) is None
    assert beside_ours("routing", [ReportTable("another title", ["benchmark"], [["scicode"]])]) is None


def test_every_line_of_the_paper_has_all_its_columns() -> None:
    from paper_tables import PAPER

    assert all(len(line) == len(t["columns"]) for t in PAPER.values() for line in t["lines"].values())


def test_the_text_has_a_place_for_every_experiment() -> None:
    text = (TOOLS / "results_text.md").read_text(encoding="utf-8")
    assert [name for name in ("stamp", *every_experiment()) if f"<!-- {name} -->" not in text] == []
