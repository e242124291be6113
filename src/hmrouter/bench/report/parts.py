"""The parts of a report: tables, figures, and numbers with their intervals.

Experiments make them of rows; `cells`, `charts` and the writers show them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Interval:
    """A number with its 95% interval."""

    value: float
    low: float
    high: float
    signed: bool = True
    """Written with its sign, as a difference is; false for a level such as an accuracy."""


Cell = str | int | float | Interval | None


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of a report. Numbers stay numbers: the writer formats them, marks the best, and sorts them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    """What the numbers are and how they were made, in a sentence or two."""
    digits: int = 1
    best: str = ""
    """`row` or `column`: where the best and second-best numbers are marked; empty: nowhere."""
    unranked: Sequence[str] = ("random", "oracle", "benchmark")
    """Columns (or first cells) that are never marked as best."""
    footer_rows: int = 0
    """How many of the last rows are means, set apart by a line."""
    lower_is_better: Sequence[str] = ()
    """Columns (or first cells) where the smallest number is the best: log-loss, Brier, dollars."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one set of points, of a figure."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    labels: Sequence[str] = ()
    """For `points`: a name beside each point, empty for none; where names would cover each other, some are left out."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a report, drawn by `report.figures`."""

    name: str
    """File name without ending."""
    title: str
    kind: str
    """`lines` (series over x), `bars` (one bar per series, y[0] with its interval; with `x_names`, groups of bars),
    `points` (scatter), `heatmap`."""
    x_label: str
    y_label: str
    series: Sequence[Series]
    note: str = ""
    log_x: bool = False
    log_y: bool = False
    x_names: Sequence[str] = ()
    """Names of x = 0, 1, 2...: what stands along the axis instead of numbers, or under each group of bars."""
    fit: bool = False
    """For `points`: draw the straight line of least squares through the points of all series."""
    diagonal: bool = False
    """Draw y = x, for reliability curves."""
    reference: float | None = None
    """Draw a horizontal line, e.g. at 0."""
    grid: Mapping[str, Any] = field(default_factory=dict)
    """For `heatmap`: `rows`, `columns` (names), `values` (nested list with None), and what the best are marked by:
    `row_best` (for each row the indices of its best columns) and `column_best` (for each column, of its best rows).
    `label` names what the values are."""
