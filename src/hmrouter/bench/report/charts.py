"""The kinds of figure that have two axes of numbers: lines over x, and points."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hmrouter.bench.report.cells import MINUS
from hmrouter.bench.report.labels import name_points
from hmrouter.bench.report.parts import Figure, Series
from hmrouter.bench.report.styles import SOLID, Style, styles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAND_FROM = 12
"""Series with at least this many points get a band for their intervals, shorter ones a bar at each point."""
DODGE = 3.0
"""Points (1/72 inch) between series at the same x, so that their intervals do not hide each other."""


def lines(axes: Axes, figure: Figure) -> None:
    """Series over x, with their intervals; the legend stands outside, in the order in which the lines end."""
    if not _start(axes, figure):
        return
    dodged = [s for s in figure.series if s.low is not None and len(s.x) < BAND_FROM]
    for series, style in styled(figure):
        shift = (dodged.index(series) - (len(dodged) - 1) / 2) * DODGE if series in dodged else 0.0
        axes.plot(series.x, series.y, linestyle=style.dash, **_marked(axes, series, style, shift))
        _intervals(axes, series, style, shift)
    _finish(axes, figure, by_end=True)


def points(axes: Axes, figure: Figure) -> None:
    """A cloud of points per series, with their intervals."""
    if not _start(axes, figure):
        return
    for series, style in styled(figure):
        axes.plot(series.x, series.y, linestyle="none", **_marked(axes, series, style, 0.0))
        _intervals(axes, series, style, 0.0)
    if figure.fit:
        _fit(axes, figure)
    _finish(axes, figure, by_end=False)
    name_points(axes, figure)


def nothing(axes: Axes) -> None:
    """Draw a note where there is no number to draw."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, "no data", ha="center", va="center", color="#767676", transform=axes.transAxes)


def short(name: str, width: int = 34) -> str:
    """A name that leaves room for the figure: its middle is left out when it is very long."""
    name = " ".join(name.split())
    return name if len(name) <= width else f"{name[: width // 2]}…{name[-(width // 2 - 1) :]}"


def wrapped(text: str, width: int = 78) -> str:
    """A title on as many lines as it needs."""
    return textwrap.fill(text, width)


def plain_numbers(values: Iterable[float]) -> Callable[[float], str]:
    """A function that writes numbers of this size, all with the same number of decimals."""
    largest = max((abs(v) for v in values), default=0.0)
    digits = 1 if largest >= 2 else 3
    return lambda value: f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)


def styled(figure: Figure) -> list[tuple[Series, Style]]:
    """The series, each with its look."""
    return list(zip(figure.series, styles_of([s.name for s in figure.series]), strict=True))


def finite(values: Sequence[float]) -> list[float]:
    """The numbers that have a place on an axis."""
    return [v for v in values if math.isfinite(v)]


def name_ticks(axes: Axes, names: Sequence[str]) -> None:
    """Names instead of numbers along x; aslant, so that long ones stand beside each other."""
    aslant = sum(map(len, names)) > 60
    look: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if aslant else {}
    axes.set_xticks(range(len(names)), [short(n, 28) for n in names], **look)
    axes.set_xlim(-0.6, len(names) - 0.4)


def legend_beside(axes: Axes, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """The legend to the right of the axes, where it covers nothing."""
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0.0)


def _start(axes: Axes, figure: Figure) -> bool:
    """Scales come first, as they decide how everything is placed. False when there is nothing to draw."""
    if not any(finite(s.y) for s in figure.series):
        nothing(axes)
        return False
    if figure.log_x:
        axes.set_xscale("log")
    if figure.log_y:
        axes.set_yscale("log")
    # What is drawn a little beside its place does not count for the limits by itself.
    corners = [corner for s in figure.series for corner in _corners(s)]
    axes.update_datalim([
        (x, y) for x, y in corners if (x > 0 or not figure.log_x) and (y > 0 or not figure.log_y)
    ])  # fmt: skip
    axes.autoscale_view()
    return True


def _corners(series: Series) -> list[tuple[float, float]]:
    """Everything of a series that must be in sight: its points and the ends of their intervals."""
    return [
        (x, y)
        for values in (series.y, series.low, series.high)
        if values is not None
        for x, y in zip(series.x, values, strict=True)
        if math.isfinite(x) and math.isfinite(y)
    ]


def _marked(axes: Axes, series: Series, style: Style, shift: float) -> dict[str, Any]:
    """Draw the marks and intervals that lines and points have in common."""
    many = len(series.x) >= 4 * BAND_FROM
    return {
        "label": short(series.name), "color": style.colour, "linewidth": style.width, "zorder": 2 + style.front / 10,
        "marker": style.marker, "markersize": 10 if style.marker == "*" else 7,
        "markerfacecolor": style.colour if style.filled else "white", "markeredgewidth": 1.4,
        "markevery": max(1, len(series.x) // 12) if many and style.dash else 1,
        "transform": _shifted(axes, shift),
    }  # fmt: skip


def _shifted(axes: Axes, shift: float) -> Any:
    from matplotlib.transforms import ScaledTranslation

    return axes.transData + ScaledTranslation(shift / 72, 0, axes.figure.dpi_scale_trans)


def _intervals(axes: Axes, series: Series, style: Style, shift: float) -> None:
    if series.low is None or series.high is None:
        return
    look: dict[str, Any] = {"color": style.colour, "zorder": 2, "alpha": 0.9 if style.front > 3 else 0.5}
    if len(series.x) >= BAND_FROM:
        axes.fill_between(series.x, series.low, series.high, color=style.colour, alpha=0.14, linewidth=0)
        for edge in (series.low, series.high):
            axes.plot(series.x, edge, linestyle=style.dash, linewidth=0.8, **look)
        return
    where = _shifted(axes, shift)
    axes.vlines(series.x, series.low, series.high, linewidth=1.2, transform=where, **look)
    for end in (series.low, series.high):
        axes.plot(series.x, end, linestyle="none", marker="_", markersize=5, transform=where, **look)


def _finish(axes: Axes, figure: Figure, *, by_end: bool) -> None:
    axes.set(xlabel=wrapped(figure.x_label), ylabel=wrapped(figure.y_label, 44))
    axes.grid(axis="y" if by_end and not figure.diagonal else "both")
    _ticks(axes, figure)
    if figure.reference is not None:
        axes.axhline(figure.reference, color="#1A1A1A", linewidth=1.2, zorder=1.5)
    if figure.diagonal:
        _diagonal(axes, figure)
    handles, labels = axes.get_legend_handles_labels()
    if by_end:
        last = {short(s.name): (finite(s.y) or [-math.inf])[-1] for s in figure.series}
        order = sorted(range(len(labels)), key=lambda i: -last.get(labels[i], -math.inf))
        handles, labels = [handles[i] for i in order], [labels[i] for i in order]
    legend_beside(axes, handles, labels)


def _fit(axes: Axes, figure: Figure) -> None:
    """The line of least squares over all points, and how close they are to it."""
    pairs = [(x, y) for s in figure.series for x, y in zip(s.x, s.y, strict=True) if math.isfinite(x + y)]
    x, y = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    slope, level = np.polyfit(x, y, 1)
    ends = np.array([x.min(), x.max()])
    r = f"{np.corrcoef(x, y)[0, 1]:.2f}".replace("-", MINUS)
    axes.plot(ends, slope * ends + level, color="#767676", linewidth=1.4, label=f"linear fit, r = {r}", zorder=1.5)


def _diagonal(axes: Axes, figure: Figure) -> None:
    """y = x, on axes with the same range, so that a distance from it means the same everywhere."""
    numbers = finite([v for s in figure.series for v in (*s.x, *s.y)])
    low, high = min(numbers), max(numbers)
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    axes.plot([low, high], [low, high], color="#767676", linewidth=1.2, linestyle=SOLID, label="y = x", zorder=1.5)
    if not figure.log_x:
        room = 0.03 * ((high - low) or 1.0)
        axes.set(xlim=(low - room, high + room), ylim=(low - room, high + room), aspect="equal", anchor="W")


def _ticks(axes: Axes, figure: Figure) -> None:
    """A tick at every x that was measured, when they are few and far enough apart; never a power of ten."""
    if figure.log_y:
        _plain_log(axes.yaxis)
    if figure.x_names:
        name_ticks(axes, figure.x_names)
        return
    measured = sorted({x for s in figure.series for x in finite(s.x) if x > 0 or not figure.log_x})
    scale = math.log if figure.log_x else float
    gaps = [scale(b) - scale(a) for a, b in pairwise(measured)]
    if gaps and len(measured) <= 10 and not figure.diagonal and min(gaps) >= 0.06 * sum(gaps):
        axes.set_xticks(measured, [f"{x:g}" for x in measured])
        axes.set_xticks([], minor=True)
    elif figure.log_x:
        _plain_log(axes.xaxis)


def _plain_log(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    # Over many powers of ten, 2 and 5 would stand too close to each other.
    low, high = axis.get_view_interval()
    wide = low > 0 and high / low > 1e3
    axis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_locator(NullLocator())
