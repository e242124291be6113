import math
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.experiments.base import Cell, Figure, Interval, Series, Table
from hmrouter.bench.report.cells import DASH, Mark, marks, show
from hmrouter.bench.report.figures import draw
from hmrouter.bench.report.html import render_html
from hmrouter.bench.report.markdown import plain, render_markdown, table_markdown
from hmrouter.bench.report.page import Page, Section, figure_files
from hmrouter.bench.report.styles import METHODS, styles_of
from hmrouter.bench.report.write import write_report
from hmrouter.errors import OutputError, UnknownName

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\" onload='alert(3)' | [a](javascript:b) & _c_"

ACCURACY = Table(
    "Accuracy",
    ["benchmark", "random", "fixed", "hm", "safe", "oracle"],
    [
        ["gaia", 40.0, 70.0, 68.0, 71.26, 100.0],
        ["scicode", 20.0, 60.0, None, 59.0, 100.0],
        ["mean", 30.0, 65.0, None, 65.1, 100.0],
    ],
    "Percent of the oracle's.",
    best="row",
    footer_rows=1,
)
DIFFERENCES = Table("Difference to Fixed", ["benchmark", "hm"], [["gaia", Interval(1.2, -0.3, 2.7)], ["scicode", None]])
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
HEATMAP = Figure(
    "grid", "Model by harness", "heatmap", "harness", "model", [],
    grid={"rows": ["m1", "m2"], "columns": ["h1", "h2"], "values": [[10.0, None], [30.0, 20.0]],
          "row_best": [0, 0], "column_best": [1, 1], "label": "accuracy, %"},
)  # fmt: skip
FIGURES = [LINES, BARS, POINTS, HEATMAP]
PAGE = Page(
    "Routing on two benchmarks",
    "hmrouter bench run routing --data corpus --out out --seed 0",
    "2026-01-31 12:00 UTC",
    {"methods": "hm, safe", "seed": "0"},
    {"hmrouter": "0.1.0", "numpy": "2.4.6"},
    {"gaia": "3f2a", "scicode": "77b1"},
    ["appworld: outcomes.csv is empty"],
    [Section("routing", "Routing accuracy", [ACCURACY, DIFFERENCES], [])],
)


class Document(HTMLParser):
    """What a browser would see: the elements, their attributes, and the text."""

    VOID = frozenset({"meta", "wbr", "br", "img", "link", "input", "hr"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def tags(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)


# Numbers


def test_numbers_read_as_a_person_writes_them() -> None:
    assert show(Interval(1.2, -0.3, 2.7)) == "+1.2 [\N{MINUS SIGN}0.3, 2.7]"
    assert show(Interval(-0.04, -1, 1)) == "0.0 [\N{MINUS SIGN}1.0, 1.0]"
    assert show(-2.5, 2) == "\N{MINUS SIGN}2.50"
    assert [show(c) for c in (None, math.nan, Interval(math.nan, 0, 1))] == [DASH] * 3
    assert [show(math.inf), show(-math.inf)] == ["\N{INFINITY}", "\N{MINUS SIGN}\N{INFINITY}"]
    assert show(Interval(math.inf, 0, math.inf)).startswith("+\N{INFINITY} [0.0")
    assert show("3.14159") == "3.14159"


@given(st.floats(-1e6, 1e6), st.integers(0, 4))
def test_a_shown_number_is_the_rounded_number(value: float, digits: int) -> None:
    assert float(show(value, digits).replace("\N{MINUS SIGN}", "-").replace(",", "")) == round(value, digits)


def test_best_and_second_of_a_row_leave_out_references_and_missing() -> None:
    assert marks(ACCURACY) == {
        (0, 4): Mark.BEST, (0, 2): Mark.SECOND, (1, 2): Mark.BEST, (1, 4): Mark.SECOND, (2, 4): Mark.BEST,
        (2, 2): Mark.SECOND,
    }  # fmt: skip


def test_best_of_a_column_may_be_the_smallest_and_is_no_mean() -> None:
    rows: list[list[Cell]] = [["hm", 0.8, 0.5], ["safe", 0.7, 0.4], ["Oracle", 1.0, 0.0], ["mean", 0.9, 0.1]]
    table = Table("", ["method", "AUC", "log_loss"], rows, best="column", footer_rows=1, lower_is_better=["Log_Loss"])
    assert marks(table) == {(0, 1): Mark.BEST, (1, 1): Mark.SECOND, (1, 2): Mark.BEST, (0, 2): Mark.SECOND}


def test_numbers_that_read_the_same_rank_the_same() -> None:
    tied = Table("", ["benchmark", "a", "b", "c"], [["x", 70.01, 70.04, 60.0], ["y", 5.0, 5.0, 5.0]], best="row")
    assert marks(tied) == {(0, 1): Mark.BEST, (0, 2): Mark.BEST, (0, 3): Mark.SECOND}
    assert marks(replace(tied, best="")) == {}


# Markdown


def test_markdown_table() -> None:
    assert table_markdown(ACCURACY).splitlines() == [
        "### Accuracy",
        "",
        "| benchmark | random |    fixed |   hm |     safe | oracle |",
        "| :-------- | -----: | -------: | ---: | -------: | -----: |",
        "| gaia      |   40.0 |   _70.0_ | 68.0 | **71.3** |  100.0 |",
        f"| scicode   |   20.0 | **60.0** |    {DASH} |   _59.0_ |  100.0 |",
        f"| **mean**  |   30.0 |   _65.0_ |    {DASH} | **65.1** |  100.0 |",
        "",
        "Percent of the oracle's.",
        "",
        "Bold: best of its row; italic: second best; random, oracle not ranked.",
    ]


def test_markdown_report_holds_everything() -> None:
    text = render_markdown(PAGE)
    for part in ("# Routing on two benchmarks", "## Routing accuracy", "### Difference to Fixed",
                 "appworld: outcomes.csv", "+1.2 [\N{MINUS SIGN}0.3, 2.7]", "3f2a", "2.4.6",
                 "    hmrouter bench run routing --data corpus",
                 "Random, Fixed and Oracle stand beside every method"):  # fmt: skip
        assert part in text
    assert "Nothing." in render_markdown(replace(PAGE, left_out=[]))


@given(st.text())
def test_markdown_text_stays_on_its_line_and_opens_no_markup(text: str) -> None:
    shown = plain(text)
    assert len(shown.splitlines()) <= 1
    assert "<" not in shown
    unescaped = shown.replace("\\\\", "")
    assert all(unescaped[i - 1] == "\\" for i, c in enumerate(unescaped) if c in "|`*[]")


# HTML


def test_page_says_what_was_run_what_was_left_out_and_how_to_reproduce() -> None:
    text = Document(render_html(PAGE)).text
    for part in (PAGE.title, PAGE.created, PAGE.command, "hm, safe", "0.1.0", "77b1", "appworld: outcomes.csv is empty",
                 "Random, Fixed and Oracle stand beside every method", "+1.2 [\N{MINUS SIGN}0.3, 2.7]"):  # fmt: skip
        assert part in text
    assert "Nothing" in Document(render_html(replace(PAGE, left_out=[]))).text


def test_table_is_accessible_and_sortable() -> None:
    html = render_html(PAGE)
    page = Document(html)
    assert [t.get("class") for t in page.tags("table")] == ["sortable"] * 2
    assert len(page.tags("caption")) == 2
    assert [h["scope"] for h in page.tags("th")] == ["col"] * 6 + ["row"] * 3 + ["col"] * 2 + ["row"] * 2
    assert "<strong>71.3</strong>" in html
    assert "<u>70.0</u>" in html
    assert 'data-sort="71.26"' in html
    foot = html[html.index("<tfoot>") : html.index("</tfoot>")]
    assert foot.count("<tr>") == 1
    assert ">mean</th>" in foot


def test_contents_lead_to_every_section() -> None:
    page = Document(render_html(PAGE))
    targets = [a["href"] for a in page.tags("a")]
    assert targets == [f"#{s['id']}" for s in page.tags("section")]


def test_no_text_becomes_markup() -> None:
    table = Table(HOSTILE, [HOSTILE, "hm"], [[HOSTILE, 1.0], ["b", HOSTILE]], HOSTILE)
    figure = Figure(HOSTILE, HOSTILE, "lines", HOSTILE, HOSTILE, [Series(HOSTILE, [1, 2], [1, 2])], HOSTILE)
    facts = {HOSTILE: HOSTILE}
    section = Section(HOSTILE, HOSTILE, [table], [figure])
    html = render_html(Page(HOSTILE, HOSTILE, HOSTILE, facts, facts, facts, [HOSTILE], [section]))
    page = Document(html)
    assert len(page.tags("script")) == 1
    assert not page.tags("img")
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert page.open == []
    assert page.text.count(HOSTILE) >= 10
    markdown = render_markdown(Page(HOSTILE, HOSTILE, HOSTILE, facts, facts, facts, [HOSTILE], [section]))
    assert "<script" not in markdown.replace(f"    {HOSTILE}", "")  # but for the command, which is a code block


def test_page_refers_to_nothing_outside() -> None:
    page = Document(render_html(replace(PAGE, sections=[*PAGE.sections, Section("f", "Figures", [], FIGURES)])))
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "image", "img", "object", "embed", "base")
        for name in ("src", "href", "xlink:href", "srcset", "action"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    assert "@import" not in page.text
    assert "url(" not in page.text
    (policy,) = [m["content"] for m in page.tags("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert "default-src 'none'" in policy


# Figures


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


def test_report_is_written_with_its_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = replace(PAGE, sections=[*PAGE.sections, Section("f", "Figures", [], [*FIGURES, LINES])])
    write_report(tmp_path / "out", page)
    written = {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file()}
    names = ["cost", "levels", "pairs", "grid", "cost-2"]
    assert written == {"report.html", "table.md", *(f"figures/{n}.{e}" for n in names for e in ("svg", "png"))}
    html = (tmp_path / "out/report.html").read_text("utf-8")
    ids = [a["id"] for _, a in Document(html).elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert html.count('<svg role="img"') == 5


def test_report_without_matplotlib_says_how_to_get_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_matplotlib(monkeypatch)
    write_report(tmp_path, replace(PAGE, sections=[Section("f", "Figures", [ACCURACY], [LINES])]))
    text = Document((tmp_path / "report.html").read_text("utf-8")).text
    assert "pip install 'hmrouter[bench]'" in text
    assert "71.3" in text
    assert list((tmp_path / "figures").iterdir()) == []
    assert "71.3" in (tmp_path / "table.md").read_text("utf-8")


def test_names_that_are_no_file_names(tmp_path: Path) -> None:
    figures = [replace(LINES, name=name) for name in ("../../etc/x", "", "Cost", "cost", "a" * 300, ".hidden")]
    names = figure_files(replace(PAGE, sections=[Section("f", "F", [], figures)]))[0]
    assert names[:4] == ["etc-x", "figure", "Cost", "cost-2"]
    assert len(names[4]) <= 80
    assert names[5] == "hidden"


def test_names_that_are_not_utf8_are_no_reason_to_lose_a_report(tmp_path: Path) -> None:
    write_report(tmp_path, replace(PAGE, data={"b\udcff": "1"}))
    assert "b?" in (tmp_path / "report.html").read_text("utf-8")


def test_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OutputError, match=r"cannot make the folder .*--out"):
        write_report(tmp_path / "out", PAGE)
