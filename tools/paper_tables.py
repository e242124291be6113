"""The paper's tables beside ours: its numbers from paper.toml, ours from the tables of a report."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from hmrouter.bench.report.parts import Cell, Interval, ReportTable

PAPER: dict[str, Any] = tomllib.loads((Path(__file__).parent / "paper.toml").read_text(encoding="utf-8"))


def beside_ours(experiment: str, tables: Sequence[ReportTable]) -> ReportTable | None:
    """The paper's table of an experiment beside ours; None where it has none, or where nothing of ours corresponds."""
    paper: Mapping[str, Any] = PAPER.get(experiment, {})
    ours = next((t for t in tables if t.title == paper.get("ours")), None)
    if ours is None:
        return None
    also = [c for c in paper.get("also", ()) if c in ours.columns]
    about: Mapping[str, str] = paper.get("about", {})
    body: list[list[Cell]] = []
    for name, values in paper["lines"].items():
        line = next((r for r in ours.rows if r[0] == name), None)
        if line is None:
            continue
        cells: list[Cell] = [name]
        for column, value in zip(paper["columns"], values, strict=True):
            cells += [None if isnan(value) else value, _cell(ours, line, column)]
        cells += [_cell(ours, line, column) for column in also]
        body.append([*cells, *([about[name]] if name in about else [])])
    columns = [ours.columns[0], *(f"{c} ({who})" for c in paper["columns"] for who in ("paper", "ours"))]
    columns += [f"{c} (ours)" for c in also] + ["our data"] * bool(about)
    return ReportTable(paper["title"], columns, body, paper["note"], paper.get("digits", 1)) if body else None


def _cell(table: ReportTable, line: Sequence[Cell], column: str) -> Cell:
    found = line[list(table.columns).index(column)] if column in table.columns else None
    return found.value if isinstance(found, Interval) else found
