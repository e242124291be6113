"""The report's tables as Markdown that reads well as plain text too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hmrouter.bench.report.cells import Mark, is_numeric, marks, not_ranked, show
from hmrouter.bench.report.page import Page, reading_hint
from hmrouter.bench.report.parts import ReportTable

# Markdown has no underline that all readers know, so the second best is in italics.
SIGNS = {Mark.BEST: "**", Mark.SECOND: "_"}


def render_markdown(page: Page) -> str:
    """All tables of a report, what was run, and what was left out."""
    blocks = [f"# {plain(page.title)}", plain(page.created), reading_hint(page.absent)]
    for section in page.sections:
        blocks.append(f"## {plain(section.title)}")
        blocks += [plain(section.line)] if section.line else []
        blocks += [table_markdown(table) for table in section.tables]
    blocks.append("## Left out, and why")
    blocks.append("\n".join(f"- {plain(reason)}" for reason in page.left_out) or "Nothing.")
    blocks.append("## What was run")
    blocks += [_facts(*facts) for facts in (("setting", page.settings), ("version of", page.versions),
                                            ("benchmark", page.data)) if facts[1]]  # fmt: skip
    # Indented rather than fenced: then no text inside can end the block.
    blocks += ["## How to reproduce", "\n".join(f"    {line}" for line in page.command.splitlines())]
    return "\n\n".join(blocks) + "\n"


def table_markdown(table: ReportTable) -> str:
    """One table under its title, with its note; bold is best, italic second best.

    >>> table = ReportTable("Accuracy", ["method", "AUC"], [["knn", 0.5], ["hm", 0.75]], digits=2, best="column")
    >>> print(table_markdown(table))
    ### Accuracy
    <BLANKLINE>
    | method |      AUC |
    | :----- | -------: |
    | knn    |   _0.50_ |
    | hm     | **0.75** |
    <BLANKLINE>
    Bold: best of its column; italic: second best.
    """
    ranked = marks(table)
    rows = [[_cell(table, i, j, ranked.get((i, j))) for j in range(len(row))] for i, row in enumerate(table.rows)]
    numeric = [is_numeric(table, j) for j in range(len(table.columns))]
    blocks = [f"### {plain(table.title)}", _grid([plain(c) for c in table.columns], rows, numeric), plain(table.note)]
    if ranked:
        skipped = not_ranked(table)
        legend = f"Bold: best of its {table.best}; italic: second best"
        blocks.append(legend + (f"; {', '.join(map(plain, skipped))} not ranked." if skipped else "."))
    return "\n\n".join(filter(None, blocks))


def plain(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no new lines.

    >>> print(plain("a|b <img> component_average _x_ [y](z)"))
    a\\|b &lt;img> component_average \\_x\\_ \\[y\\](z)
    """
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    # Underscores inside a word mean nothing; there they stay as they are, for the sake of names.
    return re.sub(r"([\\`*|\[\]]|(?<!\w)_|_(?!\w))", r"\\\1", text)


def _cell(table: ReportTable, i: int, j: int, mark: Mark | None) -> str:
    cell = table.rows[i][j]
    # Only texts are escaped: the brackets of an interval are ours.
    text = plain(cell) if isinstance(cell, str) else show(cell, table.digits)
    sign = SIGNS[mark] if mark else "**" if j == 0 and text and i >= len(table.rows) - table.footer_rows else ""
    return f"{sign}{text}{sign}"


def _facts(title: str, facts: Mapping[str, str]) -> str:
    return _grid([title, ""], [[plain(key), plain(value)] for key, value in facts.items()], [False, False])


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    widths = [max(3, *(len(row[j]) for row in (columns, *rows))) for j in range(len(columns))]
    rule = [f"{'-' * (w - 1)}:" if right else f":{'-' * (w - 1)}" for w, right in zip(widths, numeric, strict=True)]
    lines = []
    for row in (columns, rule, *rows):
        cells = [f"{c:>{w}}" if right else f"{c:<{w}}" for c, w, right in zip(row, widths, numeric, strict=True)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
