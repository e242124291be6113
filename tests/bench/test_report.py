"""The report as a page, as Markdown and as an index: what it says, and that no text becomes markup."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.report.cells import DASH, Mark, marks, show
from hmrouter.bench.report.html import render_html
from hmrouter.bench.report.index import NO_LINE, entries_of, render_index, write_index
from hmrouter.bench.report.markdown import plain, render_markdown, table_markdown
from hmrouter.bench.report.page import Page, Section
from hmrouter.bench.report.parts import Cell, Figure, Interval, ReportTable, Series
from hmrouter.bench.report.write import write_report
from hmrouter.errors import OutputError

Parse = Callable[[str], Any]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\" onload='alert(3)' | [a](javascript:b) & _c_"

ACCURACY = ReportTable(
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
DIFFERENCES = ReportTable(
    "Difference to Fixed", ["benchmark", "hm"], [["gaia", Interval(1.2, -0.3, 2.7)], ["scicode", None]]
)
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
    table = ReportTable(
        "", ["method", "AUC", "log_loss"], rows, best="column", footer_rows=1, lower_is_better=["Log_Loss"]
    )
    assert marks(table) == {(0, 1): Mark.BEST, (1, 1): Mark.SECOND, (1, 2): Mark.BEST, (0, 2): Mark.SECOND}


def test_numbers_that_read_the_same_rank_the_same() -> None:
    tied = ReportTable("", ["benchmark", "a", "b", "c"], [["x", 70.01, 70.04, 60.0], ["y", 5.0, 5.0, 5.0]], best="row")
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


def test_what_is_absent_is_said_in_every_report(tmp_path: Path) -> None:
    page = replace(PAGE, absent=["random", "oracle"])
    write_report(tmp_path, page)
    write_index(tmp_path, page)
    for name in ("table.md", "report.html", "index.html"):
        text = (tmp_path / name).read_text("utf-8")
        assert "as the methods were chosen: Random and Oracle." in text
        assert "stand beside every method" not in text


# HTML


def test_page_says_what_was_run_what_was_left_out_and_how_to_reproduce(parse: Parse) -> None:
    text = parse(render_html(PAGE)).text
    for part in (PAGE.title, PAGE.created, PAGE.command, "hm, safe", "0.1.0", "77b1", "appworld: outcomes.csv is empty",
                 "Random, Fixed and Oracle stand beside every method", "+1.2 [\N{MINUS SIGN}0.3, 2.7]"):  # fmt: skip
        assert part in text
    assert "Nothing" in parse(render_html(replace(PAGE, left_out=[]))).text


def test_table_is_accessible_and_sortable(parse: Parse) -> None:
    html = render_html(PAGE)
    page = parse(html)
    assert [t.get("class") for t in page.tags("table")] == ["sortable"] * 2
    assert len(page.tags("caption")) == 2
    assert [h["scope"] for h in page.tags("th")] == ["col"] * 6 + ["row"] * 3 + ["col"] * 2 + ["row"] * 2
    assert "<strong>71.3</strong>" in html
    assert "<u>70.0</u>" in html
    assert 'data-sort="71.26"' in html
    foot = html[html.index("<tfoot>") : html.index("</tfoot>")]
    assert foot.count("<tr>") == 1
    assert ">mean</th>" in foot


def test_contents_lead_to_every_section(parse: Parse) -> None:
    page = parse(render_html(PAGE))
    targets = [a["href"] for a in page.tags("a")]
    assert targets == [f"#{s['id']}" for s in page.tags("section")]


def test_no_text_becomes_markup(parse: Parse) -> None:
    table = ReportTable(HOSTILE, [HOSTILE, "hm"], [[HOSTILE, 1.0], ["b", HOSTILE]], HOSTILE)
    figure = Figure(HOSTILE, HOSTILE, "lines", HOSTILE, HOSTILE, [Series(HOSTILE, [1, 2], [1, 2])], HOSTILE)
    facts = {HOSTILE: HOSTILE}
    section = Section(HOSTILE, HOSTILE, [table], [figure])
    html = render_html(Page(HOSTILE, HOSTILE, HOSTILE, facts, facts, facts, [HOSTILE], [section]))
    page = parse(html)
    assert len(page.tags("script")) == 1
    assert not page.tags("img")
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert page.open == []
    assert page.text.count(HOSTILE) >= 10
    markdown = render_markdown(Page(HOSTILE, HOSTILE, HOSTILE, facts, facts, facts, [HOSTILE], [section]))
    assert "<script" not in markdown.replace(f"    {HOSTILE}", "")  # but for the command, which is a code block


# Files


def test_names_that_are_not_utf8_are_no_reason_to_lose_a_report(tmp_path: Path) -> None:
    write_report(tmp_path, replace(PAGE, data={"b\udcff": "1"}))
    assert "b?" in (tmp_path / "report.html").read_text("utf-8")


def test_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OutputError, match=r"cannot make the folder .*; choose another out"):
        write_report(tmp_path / "out", PAGE)


# Index


def test_the_index_leads_to_every_section(tmp_path: Path, parse: Parse) -> None:
    sections = [
        Section("routing", "Routing accuracy", [ACCURACY], line="safe beats fixed by 0.1."),
        Section("f", "F & G"),
    ]
    page = replace(PAGE, sections=sections)
    write_report(tmp_path, page)
    write_index(tmp_path, page)
    index = parse((tmp_path / "index.html").read_text("utf-8"))
    report = parse((tmp_path / "report.html").read_text("utf-8"))
    links = [a["href"] or "" for a in index.tags("a")]
    ids = [a["id"] for _, a in report.elements if "id" in a]
    assert len(links) == 2
    for link in links:
        file, _, anchor = link.partition("#")
        assert file == "report.html"
        assert anchor in ids
    for part in ("safe beats fixed by 0.1.", "F & G", NO_LINE, "appworld: outcomes.csv is empty", PAGE.title):
        assert part in index.text
    assert "safe beats fixed by 0.1." in report.text
    assert "safe beats fixed by 0.1." in (tmp_path / "table.md").read_text("utf-8")
    assert not index.tags("script")


def test_the_index_of_several_reports_and_hostile_texts(parse: Parse) -> None:
    section = Section("x", HOSTILE, line=HOSTILE)
    entries = [e for folder in ("first run", "second") for e in entries_of(replace(PAGE, sections=[section]), folder)]
    assert [e.link for e in entries] == ["first%20run/report.html#section-0", "second/report.html#section-0"]
    index = parse(render_index(HOSTILE, HOSTILE, entries, [HOSTILE]))
    assert index.open == []
    assert not index.tags("script")
    assert not index.tags("img")
    assert index.text.count(HOSTILE) >= 7
