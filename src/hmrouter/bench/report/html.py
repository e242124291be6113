"""The report as one HTML page that needs nothing else: no network, no other file, and no script to be read.

Every text comes from outside (benchmark names, error messages), so every text is escaped; should one slip through, the
page's own security policy lets no script run but the one that sorts tables, and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files

from hmrouter.bench.report.cells import Mark, is_numeric, marks, not_ranked, number_of, show
from hmrouter.bench.report.figures import draw
from hmrouter.bench.report.page import Page, Section, figure_files, reading_hint
from hmrouter.bench.report.parts import Figure, Interval, ReportTable
from hmrouter.errors import MissingExtra

WIDE = 6
"""Tables with more columns than this are set tightly."""
TAGS = {Mark.BEST: ("<strong>", "</strong>"), Mark.SECOND: ("<u>", "</u>")}


def render_html(page: Page) -> str:
    """The page; figures are drawn into it if matplotlib is there.

    >>> page = Page("Routing", "hmrouter bench run routing --data <dir>", "2026-01-31")
    >>> html = render_html(page)
    >>> "<h1>Routing</h1>" in html, "--data &lt;dir&gt;" in html
    (True, True)
    """
    style, script = resource("report.css"), resource("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    names = figure_files(page)
    sections = [_section(i, section, names[i]) for i, section in enumerate(page.sections)]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'sha256-{digest}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(page.title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{escape(page.title)}</h1>
<p class="created">{escape(page.created)}</p>
<p class="hint"><strong>How to read this.</strong> {escape(reading_hint(page.absent))}</p>
</header>
{_contents(page)}
<main>
<section id="run">
<h2>What was run</h2>
<div class="facts">
{_facts("Settings", page.settings)}
{_facts("Versions", page.versions)}
{_facts("Data (content hash)", page.data)}
</div>
</section>
<section id="left-out">
<h2>Left out, and why</h2>
{_left_out(page)}
</section>
{"".join(sections)}<section id="reproduce">
<h2>How to reproduce</h2>
<pre><code>{escape(page.command)}</code></pre>
<p>Every number here is computed from <code>results.json</code>, which the command writes beside this page. The same
versions, data and seed give the same numbers.</p>
</section>
</main>
<script>{script}</script>
</body>
</html>
"""


def _contents(page: Page) -> str:
    entries = [("run", "What was run"), ("left-out", f"Left out, and why ({len(page.left_out)})")]
    entries += [(f"section-{i}", section.title) for i, section in enumerate(page.sections)]
    entries.append(("reproduce", "How to reproduce"))
    items = "\n".join(f'<li><a href="#{target}">{escape(text)}</a></li>' for target, text in entries)
    return f'<nav aria-label="Contents">\n<h2>Contents</h2>\n<ol>\n{items}\n</ol>\n</nav>'


def _facts(title: str, facts: Mapping[str, str]) -> str:
    if not facts:
        return ""
    items = "\n".join(f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>" for key, value in facts.items())
    return f"<div>\n<h3>{title}</h3>\n<dl>\n{items}\n</dl>\n</div>"


def _left_out(page: Page) -> str:
    if not page.left_out:
        return "<p>Nothing: everything that was asked for ran.</p>"
    return "<ul>\n" + "\n".join(f"<li>{escape(reason)}</li>" for reason in page.left_out) + "\n</ul>"


def _section(number: int, section: Section, files_of_figures: Iterable[str]) -> str:
    parts = [_table(f"table-{number}-{i}", table) for i, table in enumerate(section.tables)]
    parts += [_figure(name, figure) for name, figure in zip(files_of_figures, section.figures, strict=True)]
    inside = "\n".join(parts) or "<p>No results.</p>"
    line = f"<p>{escape(section.line)}</p>\n" if section.line else ""
    return f'<section id="section-{number}">\n<h2>{escape(section.title)}</h2>\n{line}{inside}\n</section>\n'


def _table(name: str, table: ReportTable) -> str:
    numeric = [is_numeric(table, j) for j in range(len(table.columns))]
    head = "".join(
        f'<th scope="col"{_flush(right)}>{_breakable(column)}</th>'
        for column, right in zip(table.columns, numeric, strict=True)
    )
    ranked = marks(table)
    rows = [_row(table, i, ranked, numeric) for i in range(len(table.rows))]
    split = len(rows) - table.footer_rows
    foot = f"<tfoot>\n{''.join(rows[split:])}</tfoot>\n" if table.footer_rows else ""
    note = " ".join(filter(None, (table.note, _legend(table))))
    return f"""<div class="scroll" role="region" aria-labelledby="{name}" tabindex="0">
<table class="sortable{" wide" if len(table.columns) > WIDE else ""}">
<caption id="{name}">{escape(table.title)}</caption>
<thead>
<tr>{head}</tr>
</thead>
<tbody>
{"".join(rows[:split])}</tbody>
{foot}</table>
</div>
<p class="note">{escape(note)}</p>"""


def _row(table: ReportTable, i: int, ranked: Mapping[tuple[int, int], Mark], numeric: list[bool]) -> str:
    cells = []
    for j, cell in enumerate(table.rows[i]):
        before, after = TAGS[ranked[i, j]] if (i, j) in ranked else ("", "")
        number = number_of(cell)
        key = "" if number is None else f' data-sort="{number!r}"'
        tag, scope = ("th", ' scope="row"') if j == 0 else ("td", "")
        text = escape(show(cell, table.digits))
        if isinstance(cell, Interval):  # in a wide table the brackets go below the number
            text = re.sub(r"(\[.*\])", r'<span class="interval">\1</span>', text)
        cells.append(f"<{tag}{scope}{_flush(numeric[j])}{key}>{before}{text}{after}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>\n"


def _legend(table: ReportTable) -> str:
    if not marks(table):
        return ""
    skipped = not_ranked(table)
    return f"Bold: best of its {table.best}; underlined: second best" + (
        f"; {', '.join(skipped)} not ranked." if skipped else "."
    )


def _figure(name: str, figure: Figure) -> str:
    try:
        picture = inline_svg(draw(figure, "svg", titled=False).decode(), name, figure.title)
        where = f'<span class="files">figures/{name}.svg, .png</span>'
    except MissingExtra as e:
        picture, where = f'<p class="missing">Figure left out: {escape(str(e))}</p>', ""
    caption = f"<strong>{escape(figure.title.rstrip('.'))}.</strong> {escape(figure.note)} {where}"
    return f"<figure>\n{picture}\n<figcaption>{caption}</figcaption>\n</figure>"


def inline_svg(svg: str, name: str, title: str) -> str:
    """An SVG document as an element of a page: no prologue, and ids that no other figure of the page has.

    >>> inline_svg('<?xml?><svg width="9pt"><g id="a"/><use xlink:href="#a"/></svg>', "cost", "Cost")
    '<svg role="img" aria-label="Cost" width="9pt"><g id="cost-a"/><use href="#cost-a"/></svg>'
    """
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r'<!--.*?-->|<style.*?</style>|\sxmlns(:\w+)?="[^"]*"', "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg).replace("url(#", f"url(#{name}-")
    svg = svg.replace('xlink:href="#', f'href="#{name}-')
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)


def _breakable(name: str) -> str:
    """A head that may go over two lines: a wide name need not make its column wide."""
    return escape(name).replace("_", "_<wbr>")


def _flush(right: bool) -> str:
    return ' class="number"' if right else ""


def resource(name: str) -> str:
    """A file of this package: the style sheet, the script."""
    return files(__package__).joinpath(name).read_text("utf-8")
