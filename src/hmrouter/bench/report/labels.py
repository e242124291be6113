"""Names beside the points of a figure, none over another: a name that finds no room is left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hmrouter.bench.report.parts import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLACES: tuple[tuple[float, float, str, str], ...] = (
    (7, 0, "left", "center"), (-7, 0, "right", "center"), (0, 6, "center", "bottom"), (0, -6, "center", "top"),
    (5, 5, "left", "bottom"), (-5, 5, "right", "bottom"), (5, -5, "left", "top"), (-5, -5, "right", "top"),
)  # fmt: skip
"""Where a name may stand, best first: offset in points (1/72 inch) and alignment."""


def name_points(axes: Axes, figure: Figure) -> None:
    """Write the labels of all series; the first ones get the best places."""
    named = [
        (x, y, label)
        for series in figure.series
        for x, y, label in zip(series.x, series.y, series.labels or [""] * len(series.x), strict=True)
        if math.isfinite(x) and math.isfinite(y)
    ]
    if not any(label for _, _, label in named):
        return
    from matplotlib.transforms import Bbox

    canvas: Any = axes.figure
    canvas.draw_without_rendering()  # only then is it settled where the points are
    renderer = canvas.canvas.get_renderer()
    size = canvas.dpi / 72
    taken = []
    for x, y, _ in named:
        across, up = axes.transData.transform((x, y))
        taken.append(Bbox.from_extents(across - 4 * size, up - 4 * size, across + 4 * size, up + 4 * size))
    inside = axes.get_window_extent(renderer)
    for x, y, label in named:
        for right, up, ha, va in PLACES if label else ():
            text: Any = axes.annotate(label, (x, y), (right, up), textcoords="offset points", ha=ha, va=va, fontsize=9)
            text.set_in_layout(False)  # a name must not move what it names
            box = text.get_window_extent(renderer)
            if inside.fully_contains(*box.min) and inside.fully_contains(*box.max) and not box.count_overlaps(taken):
                taken.append(box)
                break
            text.remove()
