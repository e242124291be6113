"""Write a report: OUT/report.html, OUT/table.md, OUT/figures/NAME.svg and .png, each of them whole or not at all."""

from __future__ import annotations

from pathlib import Path

from hmrouter.bench.report.figures import draw
from hmrouter.bench.report.html import render_html
from hmrouter.bench.report.markdown import render_markdown
from hmrouter.bench.report.page import Page, figure_files
from hmrouter.errors import MissingExtra, OutputError
from hmrouter.files import atomic_write


def write_report(out: Path, page: Page) -> None:
    """Write all files of a report; without matplotlib, all but the figures.

    The page comes last: when it is new, everything beside it is.
    """
    folder = out / "figures"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise OutputError(
            f"cannot make the folder {folder}: {e.strerror or e}", argument="out", hint="choose_another"
        ) from e
    for names, section in zip(figure_files(page), page.sections, strict=True):
        for name, figure in zip(names, section.figures, strict=True):
            for ending in ("svg", "png"):
                try:
                    picture = draw(figure, ending)
                except MissingExtra:  # the page says so
                    continue
                atomic_write(folder / f"{name}.{ending}", picture)
    # What cannot be encoded (a file name that is not UTF-8) becomes a question mark rather than an error.
    atomic_write(out / "table.md", render_markdown(page).encode("utf-8", "replace"))
    atomic_write(out / "report.html", render_html(page).encode("utf-8", "replace"))
