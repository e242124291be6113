"""Draw a `Figure` as SVG or PNG with matplotlib: the same bytes for the same figure, on any machine.

matplotlib is imported when something is drawn, never before, and without pyplot: nothing of it is left behind.
"""

from __future__ import annotations

import io
import warnings
from typing import Any, Final

from hmrouter.bench.report import charts
from hmrouter.bench.report.bars import bars
from hmrouter.bench.report.heatmap import heatmap, heatmap_size
from hmrouter.bench.report.parts import Figure
from hmrouter.errors import MissingExtra, UnknownName

KINDS: Final = {"lines": charts.lines, "points": charts.points, "bars": bars, "heatmap": heatmap}
DOTS_PER_INCH: Final = 200

# Letters are drawn as shapes of the font that comes with matplotlib, so that a figure looks the same in every browser
# and slide program. A dollar sign is a dollar sign, not the start of a formula.
SETTINGS: Final[dict[str, Any]] = {
    "svg.fonttype": "path",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 11.5,
    "axes.labelsize": 12,
    "axes.edgecolor": "#555555",
    "axes.labelcolor": "#1A1A1A",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.8,
    "hatch.color": "#D5D5D5",
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 11,
    "legend.handlelength": 3.2,
    "text.color": "#1A1A1A",
    "xtick.color": "#333333",
    "ytick.color": "#333333",
}


def draw(figure: Figure, ending: str = "svg", *, titled: bool = True) -> bytes:
    """The figure as `svg` or `png`; without its title where a caption stands beside it.

    Raises `MissingExtra` when matplotlib is not installed.
    """
    if figure.kind not in KINDS:
        raise UnknownName("figure kind", figure.kind, KINDS)
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError as e:
        raise MissingExtra("drawing figures", "bench") from e

    out = io.BytesIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A letter that the font lacks becomes a box; that is no reason to have no report.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        matplotlib.rcdefaults()  # a user's own matplotlibrc must not change the figures
        # Ids in an SVG are hashes; salted by the name, they are the same every time and differ between figures.
        settings: Any = {**SETTINGS, "svg.hashsalt": figure.name}
        matplotlib.rcParams.update(settings)
        canvas = Canvas(figsize=_size(figure), layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.subplots()
        KINDS[figure.kind](axes, figure)
        if titled:
            canvas.suptitle(charts.wrapped(figure.title), x=0.012, ha="left", fontsize=14, fontweight="bold")
        canvas.savefig(out, format=ending, dpi=DOTS_PER_INCH, facecolor="white", metadata=_no_metadata(ending))
    return out.getvalue()


def _size(figure: Figure) -> tuple[float, float]:
    """Inches: the width of a slide, and as high as the content needs."""
    if figure.kind == "heatmap":
        return heatmap_size(figure)
    if figure.kind == "bars" and not figure.x_names:
        return 9.0, 1.5 + 0.42 * max(3, len(figure.series))
    bars_or_names = len(figure.x_names) * (0.35 * len(figure.series) if figure.kind == "bars" else 0.6)
    return max(9.0, min(3.0 + bars_or_names, 20.0)), max(5.0, 1.2 + 0.3 * len(figure.series))


def _no_metadata(ending: str) -> dict[str, None]:
    """No date and no program name: they would make two runs differ."""
    return dict.fromkeys(("Date", "Creator", "Format", "Type") if ending == "svg" else ("Software",))
