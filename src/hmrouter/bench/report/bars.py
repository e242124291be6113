"""Bars: one per series, lying; or, with names along x, groups of standing ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hmrouter.bench.report.charts import (
    finite,
    legend_beside,
    name_ticks,
    nothing,
    plain_numbers,
    short,
    styled,
    wrapped,
)
from hmrouter.bench.report.parts import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def bars(axes: Axes, figure: Figure) -> None:
    """Groups of bars where x has names, else a bar per series."""
    if not any(finite(s.y) for s in figure.series):
        nothing(axes)
    elif figure.x_names:
        _grouped(axes, figure)
    else:
        _single(axes, figure)


def _single(axes: Axes, figure: Figure) -> None:
    """One bar per series, the largest on top, its number beside it; they lie, so that long names are readable."""
    known = [(s, style) for s, style in styled(figure) if s.y and math.isfinite(s.y[0])]
    known.sort(key=lambda pair: pair[0].y[0])
    ends = [max([s.y[0], *finite(s.high or ())]) for s, _ in known]
    starts = [min([s.y[0], *finite(s.low or ())]) for s, _ in known]
    span = max(0.0, *ends) - min(0.0, *starts) or 1.0
    write = plain_numbers([s.y[0] for s, _ in known])
    axes.barh(range(len(known)), [s.y[0] for s, _ in known], 0.66, color=[style.colour for _, style in known])
    for i, (series, _) in enumerate(known):
        value = series.y[0]
        if series.low is not None and series.high is not None:
            # White under black: visible on a dark bar and beside it.
            for colour, width in (("white", 2.4), ("#1A1A1A", 1.2)):
                axes.plot([series.low[0], series.high[0]], [i, i], color=colour, linewidth=width, marker="|",
                          markersize=9, markeredgewidth=width, solid_capstyle="butt")  # fmt: skip
        right = value >= 0
        axes.text((ends if right else starts)[i] + (0.015 if right else -0.015) * span, i, write(value),
                  ha="left" if right else "right", va="center_baseline", fontsize=11)  # fmt: skip
    axes.set_yticks(range(len(known)), [short(s.name) for s, _ in known])
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(min(0.0, *starts) - (0.1 * span if min(starts) < 0 else 0), max(0.0, *ends) + 0.1 * span)
    axes.set(xlabel=wrapped(figure.y_label), ylabel=figure.x_label)
    axes.grid(axis="x")
    if figure.reference is not None:
        axes.axvline(figure.reference, color="#1A1A1A", linewidth=1.2)


def _grouped(axes: Axes, figure: Figure) -> None:
    """Per name along x a bar of each series, in the order of the series, with its interval."""
    width = 0.8 / len(figure.series)
    for i, (series, style) in enumerate(styled(figure)):
        at = [x + (i - (len(figure.series) - 1) / 2) * width for x in series.x]
        axes.bar(at, series.y, 0.92 * width, color=style.colour, label=short(series.name))
        if series.low is not None and series.high is not None:
            axes.vlines(at, series.low, series.high, color="#1A1A1A", linewidth=1.2)
    name_ticks(axes, figure.x_names)
    axes.set(xlabel=wrapped(figure.x_label), ylabel=wrapped(figure.y_label, 44))
    axes.grid(axis="y")
    axes.axhline(figure.reference or 0.0, color="#1A1A1A", linewidth=1.2)
    legend_beside(axes, *axes.get_legend_handles_labels())
