"""Figures of a report: every kind, awkward numbers, styles, and their files."""

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.report.figures import draw
from hmrouter.bench.report.html import render_html
from hmrouter.bench.report.page import Page, Section, figure_files
from hmrouter.bench.report.parts import Figure, ReportTable, Series
from hmrouter.bench.report.styles import METHODS, styles_of
from hmrouter.bench.report.write import write_report
from hmrouter.errors import UnknownName

Parse = Callable[[str], Any]

TABLE = ReportTable("Accuracy", ["benchmark", "safe"], [["gaia", 71.26]])
LINES = Figure(
    "cost", "Accuracy within $0.75 to $10", "lines", "budget, $ per task", "accuracy, %",
    [Series("fixed", [0.75, 2, 10], [50, 55, 60]),
     Series("hm", [0.75, 2, 10], [48, 57, 63], [46, 55, 61], [50, 59, 65])],
    log_x=True, reference=50.0,
)  # fmt: skip
BARS = Figure(
    "levels", "Mean accuracy", "bars", "method", "accuracy, %",
    [Series("hm", [0.0], [-1.5], [-3.0], [0.5]), Series("safe", [0.0], [2.0], [1.0], [3.0])], reference=0.0,
)  # fmt: skip
POINTS = Figure(
    "pairs", "Pairs", "points", "observed", "predicted", [Series("Codex", [0, 1], [0.2, 0.9])], diagonal=True
)
NAMED = Figure(
    "deviations", "Pairs", "points", "predicted", "observed",
    [Series("gaia", [0.0, 1.0, 2.0], [0.1, 0.9, 2.2], labels=["codex:gpt-5", "", "tools:o3"])], fit=True,
)  # fmt: skip
GROUPS = Figure(
    "groups", "Held-out benchmarks", "bars", "benchmark", "accuracy, %",
    [Series("hm", [0, 1], [50.0, 60.0], [45.0, 55.0], [55.0, 65.0]), Series("safe", [0, 1], [52.0, 58.0])],
    x_names=["gaia", "scicode"],
)  # fmt: skip
TIMES = Figure(
    "times", "Times", "lines", "outcomes", "seconds", [Series("hm", [10, 1e5], [1e-3, 20.0])], log_x=True, log_y=True
)
HEATMAP = Figure(
    "grid", "Model by harness", "heatmap", "harness", "model", [],
    grid={"rows": ["m1", "m2"], "columns": ["h1", "h2"], "values": [[10.0, None], [30.0, 20.0]],
          "row_best": [[0], [0]], "column_best": [[1], [1]], "label": "accuracy, %"},
)  # fmt: skip
FIGURES = [LINES, BARS, POINTS, HEATMAP, NAMED, GROUPS, TIMES]
PAGE = Page("Figures", "hmrouter bench run all", "2026-01-31", sections=[Section("f", "Figures", [TABLE], FIGURES)])


def test_every_kind_is_drawn_the_same_every_time() -> None:
    pytest.importorskip("matplotlib")
    for figure in FIGURES:
        svg, png = draw(figure, "svg"), draw(figure, "png")
        assert png.startswith(b"\x89PNG")
        assert (svg, png) == (draw(figure, "svg"), draw(figure, "png"))
        assert b"<dc:date>" not in svg
        assert b"<image" not in svg  # the page's policy would not show it
        assert draw(figure, "svg", titled=False) != svg


def test_drawing_leaves_no_setting_behind() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 40, "axes.facecolor": "red"}):
        odd = draw(LINES)
    assert odd == draw(LINES)
    assert dict(matplotlib.rcParams) == before


def test_numbers_and_dollars_are_drawn_as_written() -> None:
    pytest.importorskip("matplotlib")
    # Letters are shapes; beside each text matplotlib notes in a comment what it says.
    texts = comments(draw(LINES))
    assert {"Accuracy within $0.75 to $10", "budget, $ per task", "0.75", "2", "10", "hm", "fixed"} <= texts
    assert {"hm", "safe", "\N{MINUS SIGN}1.5", "2.0", "accuracy, %", "method"} <= comments(draw(BARS))
    assert {"m1", "h2", "30.0", "best of its row", "best of its column", "accuracy, %"} <= comments(draw(HEATMAP))
    assert "y = x" in comments(draw(POINTS))
    assert {"codex:gpt-5", "tools:o3", "gaia"} <= comments(draw(NAMED))
    assert {"gaia", "scicode", "hm", "safe", "accuracy, %"} <= comments(draw(GROUPS))
    assert {"0.001", "10"} <= comments(draw(TIMES))


def test_the_fit_is_that_of_least_squares() -> None:
    pytest.importorskip("matplotlib")
    assert "linear fit, r = 0.99" in comments(draw(NAMED))
    falling = replace(NAMED, series=[Series("a", [0, 1], [1, 0]), Series("b", [2], [-1])])
    assert "linear fit, r = \N{MINUS SIGN}1.00" in comments(draw(falling))
    level = replace(NAMED, series=[Series("a", [0, 1, 2], [1, 1, 1])])
    assert not [text for text in comments(draw(level)) if text.startswith("linear fit")]


def test_names_of_points_never_cover_each_other() -> None:
    pytest.importorskip("matplotlib")
    names = [f"harness-with-a-long-name-{i}" for i in range(60)]
    crowd = replace(NAMED, series=[Series("a", [0.001 * i for i in range(60)], [0.0] * 60, labels=names)], fit=False)
    written = comments(draw(crowd)) & set(names)
    assert "harness-with-a-long-name-0" in written
    assert len(written) < 10
    apart = replace(NAMED, series=[Series("a", [0, 1], [0, 1], labels=["left", "right"])])
    assert {"left", "right"} <= comments(draw(apart))


def test_axes_hold_all_intervals() -> None:
    pytest.importorskip("matplotlib")
    # Series are drawn a little beside each other; that must not take them out of the axes.
    series = [Series(name, [1, 2], [50, 55], [20, 40], [60, 90]) for name in ("hm", "safe")]
    ticks = {float(t) for t in comments(draw(replace(LINES, series=series))) if t.isdigit()}
    assert {20.0, 90.0} <= ticks


@pytest.mark.parametrize(
    "figure",
    [
        replace(LINES, series=[]),
        replace(LINES, series=[Series("hm", [1, 2], [math.nan, math.nan])]),
        replace(BARS, series=[Series("hm", [], [])]),
        replace(POINTS, series=[]),
        replace(NAMED, series=[Series("a", [1.0], [math.nan], labels=["nowhere"])]),
        replace(GROUPS, series=[]),
        replace(HEATMAP, grid={}),
        replace(HEATMAP, grid={"rows": ["a"], "columns": ["b"], "values": [[None]]}),
    ],
)
def test_a_figure_without_numbers_says_so(figure: Figure) -> None:
    pytest.importorskip("matplotlib")
    assert "no data" in comments(draw(figure))


@pytest.mark.parametrize("kind", ["lines", "points", "bars"])
@pytest.mark.parametrize(
    ("x", "y"), [([1.0], [1.0]), ([1.0, 2.0], [0.0, 0.0]), ([0.0, 5.0], [1.0, math.nan]), ([3.0, 3.0], [1.0, 2.0])]
)
def test_awkward_numbers_are_drawn(kind: str, x: list[float], y: list[float]) -> None:
    pytest.importorskip("matplotlib")
    names = ("hm", "name " * 40, "\u4efb\u52a1", "two\nlines", "$a$b^")
    series = [Series(name, x, y, y, y) for name in names]
    for log_x in (False, True):
        figure = Figure("f", "word " * 40, kind, "x" * 90, "y" * 90, series, log_x=log_x, diagonal=not log_x)
        assert "$a$b^" in comments(draw(figure))


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'lines'"):
        draw(replace(LINES, kind="line"))


def test_series_differ_without_colour() -> None:
    looks = [(s.dash, s.marker, s.filled) for s in styles_of([*METHODS, "a", "b", "c", "HM (all)", "HM (observed)"])]
    assert len(set(looks)) == len(looks)


@given(st.lists(st.sampled_from(["hm", "HM (all)", "safe", "fixed", "x", "y", "z"]), unique=True))
def test_styles_depend_on_names_and_not_on_company(names: list[str]) -> None:
    styles = dict(zip(names, styles_of(names), strict=True))
    assert len(set(styles.values())) == len(names)
    assert all(styles[name] == METHODS[name] for name in ("safe", "fixed") if name in names)


def comments(svg: bytes) -> set[str]:
    parts = svg.decode().split("<!--")[1:]
    return {part.partition("-->")[0].strip() for part in parts}


# Files


def test_page_refers_to_nothing_outside(parse: Parse) -> None:
    page = parse(render_html(PAGE))
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "image", "img", "object", "embed", "base")
        for name in ("src", "href", "xlink:href", "srcset", "action"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    assert "@import" not in page.text
    assert "url(" not in page.text
    (policy,) = [m["content"] for m in page.tags("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert "default-src 'none'" in policy


def test_report_is_written_with_its_figures(tmp_path: Path, parse: Parse) -> None:
    pytest.importorskip("matplotlib")
    page = replace(PAGE, sections=[Section("f", "Figures", [TABLE], [*FIGURES, LINES])])
    write_report(tmp_path / "out", page)
    written = {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file()}
    names = ["cost", "levels", "pairs", "grid", "deviations", "groups", "times", "cost-2"]
    assert written == {"report.html", "table.md", *(f"figures/{n}.{e}" for n in names for e in ("svg", "png"))}
    html = (tmp_path / "out/report.html").read_text("utf-8")
    ids = [a["id"] for _, a in parse(html).elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert html.count('<svg role="img"') == 8


def test_report_without_matplotlib_says_how_to_get_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parse: Parse
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write_report(tmp_path, replace(PAGE, sections=[Section("f", "Figures", [TABLE], [LINES])]))
    text = parse((tmp_path / "report.html").read_text("utf-8")).text
    assert "pip install '.[bench]'" in text
    assert "71.3" in text
    assert list((tmp_path / "figures").iterdir()) == []
    assert "71.3" in (tmp_path / "table.md").read_text("utf-8")


def test_names_that_are_no_file_names(tmp_path: Path) -> None:
    figures = [replace(LINES, name=name) for name in ("../../etc/x", "", "Cost", "cost", "a" * 300, ".hidden")]
    names = figure_files(replace(PAGE, sections=[Section("f", "F", [], figures)]))[0]
    assert names[:4] == ["etc-x", "figure", "Cost", "cost-2"]
    assert len(names[4]) <= 80
    assert names[5] == "hidden"
