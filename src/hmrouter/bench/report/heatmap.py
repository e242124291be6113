"""A table of numbers as colours, with the numbers printed and the best of each row and column marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hmrouter.bench.report.charts import nothing, plain_numbers, short
from hmrouter.bench.report.parts import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# From nearly white to dark blue: lightness falls all the way, so that it reads in grey.
COLOURS = ("#F5F9FC", "#C5DDEF", "#7DB4DE", "#2878B5", "#123F66")
BOX = "#D95F02"


def heatmap_size(figure: Figure) -> tuple[float, float]:
    """Inches: every cell has room for its number, every name for its letters."""
    rows, columns = figure.grid.get("rows", ()), figure.grid.get("columns", ())
    return max(6.0, 4.0 + 0.78 * len(columns)), max(3.4, 2.4 + 0.42 * len(rows))


def heatmap(axes: Axes, figure: Figure) -> None:
    """Rows x columns; a box around the best of each row, a cross beside the best of each column."""
    from matplotlib.colors import LinearSegmentedColormap
    from numpy.ma import masked_invalid

    rows, columns = figure.grid.get("rows", ()), figure.grid.get("columns", ())
    values = [[math.nan if v is None else float(v) for v in row] for row in figure.grid.get("values", ())]
    known = [v for row in values for v in row if math.isfinite(v)]
    if not known:
        nothing(axes)
        return
    low, high = min(known), max(known)
    axes.set_facecolor("white")
    axes.patch.set_hatch("///")  # shows where a value is missing
    # Squares rather than an image: sharp at any size, and a page that may load no image shows them.
    blues = LinearSegmentedColormap.from_list("blues", COLOURS, N=64)
    mesh = axes.pcolormesh(
        masked_invalid(values), cmap=blues, vmin=low, vmax=high, edgecolors="white", linewidth=2, antialiased=True
    )
    axes.invert_yaxis()
    write = plain_numbers(known)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if math.isfinite(value):
                axes.text(j + 0.5, i + 0.5, write(value), ha="center", va="center_baseline", color=_ink(mesh, value))
    axes.set_xticks([j + 0.5 for j in range(len(columns))], [short(c, 24) for c in columns], rotation=35, ha="right",
                    rotation_mode="anchor")  # fmt: skip
    axes.set_yticks([i + 0.5 for i in range(len(rows))], [short(r) for r in rows])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(xlabel=figure.x_label, ylabel=figure.y_label)
    bar: Any = axes.figure.colorbar(mesh, ax=axes, label=figure.grid.get("label", ""), pad=0.02, fraction=0.05)
    bar.outline.set_visible(False)
    bar.solids.set(rasterized=False, edgecolor="face")
    handles = [
        *_boxes(axes, figure.grid.get("row_best", ())),
        *_crosses(axes, figure.grid.get("column_best", ()), [[_ink(mesh, v) for v in row] for row in values]),
    ]
    if handles:
        axes.figure.legend(handles=handles, loc="outside lower right", ncols=2, handlelength=1.6)


def _ink(mesh: Any, value: float) -> str:
    """White or nearly black: what is easier to read on the colour of this value."""
    red, green, blue, _ = mesh.cmap(mesh.norm(value))
    return "white" if 0.21 * red**2.2 + 0.72 * green**2.2 + 0.07 * blue**2.2 < 0.2 else "#1A1A1A"


def _boxes(axes: Axes, row_best: Sequence[Sequence[int]]) -> list[Any]:
    """A box around the best of each row; gives what the legend shows, if there is any."""
    from matplotlib.patches import Rectangle

    marked = [(i, j) for i, best in enumerate(row_best) for j in best]
    for i, j in marked:
        # Orange stands out of the blues; in grey the white rim keeps it apart from dark cells.
        for colour, width in (("white", 5.2), (BOX, 2.6)):
            axes.add_patch(Rectangle((j + 0.03, i + 0.06), 0.94, 0.88, fill=False, edgecolor=colour,
                                     linewidth=width, zorder=3))  # fmt: skip
    return [Rectangle((0, 0), 1, 1, fill=False, edgecolor=BOX, linewidth=2.2, label="best of its row")] * bool(marked)


def _crosses(axes: Axes, column_best: Sequence[Sequence[int]], inks: Sequence[Sequence[str]]) -> list[Any]:
    """A cross beside the best of each column; gives what the legend shows, if there is any."""
    from matplotlib.lines import Line2D

    marked = [(i, j) for j, best in enumerate(column_best) for i in best]
    look: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 6, "markeredgewidth": 2}
    for i, j in marked:
        axes.plot(j + 0.82, i + 0.34, **look, color=inks[i][j], zorder=4)
    return [Line2D([], [], **look, color="#1A1A1A", label="best of its column")] * bool(marked)
