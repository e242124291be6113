"""An index page: one line per experiment, each linked to where its tables and figures are.

It fits one report with several sections (`entries_of`), several reports side by side (each with its own folder), or
both together: what is linked is up to the entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from hmrouter.bench.report.html import resource
from hmrouter.bench.report.page import Page, reading_hint
from hmrouter.files import atomic_write

NO_LINE = "No single number; see the tables."


@dataclass(frozen=True, slots=True)
class Entry:
    """One experiment in the index."""

    title: str
    line: str
    """What came out, in one sentence; empty if there is no such sentence."""
    link: str
    """Where it is, relative to the index."""


def entries_of(page: Page, folder: str = "") -> list[Entry]:
    """An entry per section of a report that was written to `folder`, which is seen from the index.

    >>> from hmrouter.bench.report.page import Section
    >>> entries_of(Page("", "", "", sections=[Section("cost", "Cost", line="Half the price.")]), "cost run")
    [Entry(title='Cost', line='Half the price.', link='cost%20run/report.html#section-0')]
    """
    place = f"{quote(folder.strip('/'))}/" if folder else ""
    return [
        Entry(section.title, section.line, f"{place}report.html#section-{i}")
        for i, section in enumerate(page.sections)
    ]  # fmt: skip


def render_index(
    title: str, created: str, entries: Iterable[Entry], left_out: Sequence[str] = (), absent: Sequence[str] = ()
) -> str:
    """The index as an HTML page that needs no other file to be read.

    >>> html = render_index("Bench", "today", [Entry("Cost", "Half the price.", "report.html#section-0")])
    >>> '<a href="report.html#section-0">Cost</a>' in html, "Half the price." in html
    (True, True)
    """
    items = "\n".join(
        f'<li><a href="{escape(e.link)}">{escape(e.title)}</a><br>{escape(e.line or NO_LINE)}</li>' for e in entries
    )
    reasons = "\n".join(f"<li>{escape(reason)}</li>" for reason in left_out)
    missing = f"<h2>Left out, and why</h2>\n<ul>\n{reasons}\n</ul>" if left_out else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{resource("report.css")}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p class="created">{escape(created)}</p>
<p class="hint"><strong>How to read this.</strong> {escape(reading_hint(absent))}</p>
</header>
<main>
<ol class="index">
{items}
</ol>
{missing}
</main>
</body>
</html>
"""


def write_index(out: Path, page: Page, entries: Sequence[Entry] | None = None) -> None:
    """Write OUT/index.html for a report that stands beside it, or for the entries of several reports."""
    shown = entries_of(page) if entries is None else entries
    html = render_index(page.title, page.created, shown, page.left_out, page.absent)
    atomic_write(out / "index.html", html.encode("utf-8", "replace"))
