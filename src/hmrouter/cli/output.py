"""Output and options that all commands share: tables, JSON, messages, progress bars, `--store` and `--json`.

Everything that a command shows goes through this file, as what it shows may come from outside (`hmrouter.printable`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmrouter.cli.schemas import schema
from hmrouter.errors import InputError
from hmrouter.printable import printable, printable_json, printable_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
    from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Store = Annotated[
    str,
    typer.Option(
        "--store", help="Where outcomes are kept: sqlite:///FILE or postgresql+psycopg://...", envvar="HMROUTER_STORE"
    ),
]

DEFAULT_STORE = "sqlite:///hmrouter.db"
DEFAULT_ROUTER = "router.hmr"

UNLIMITED = 100_000
"""Characters in a line where nothing has to fit: wider than any table."""
NARROWEST = 40
"""Least width that output is fitted to; a narrower terminal breaks the lines itself."""
GAP = 2
"""Characters between two columns."""


def say(message: str) -> None:
    """Write a message for the person at the terminal to standard error, on one line."""
    sys.stderr.write(f"{printable(message)}\n")


def say_live(message: str) -> None:
    """Write a message over the one before it on the last line of the terminal; an empty one leaves the line free."""
    sys.stderr.write("\r\x1b[K" + printable(message))
    sys.stderr.flush()


def echo_lines(text: str) -> None:
    """Write several lines of the answer to standard output."""
    sys.stdout.write(f"{printable_lines(text)}\n")


def echo(message: str) -> None:
    """Write one line of the answer to standard output."""
    typer.echo(printable(message))


def print_json(kind: str, document: Mapping[str, Any]) -> None:
    """Print the one JSON document of `--json`, of a kind in `SCHEMAS`; pure ASCII where the output is not Unicode."""
    unicode = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    whole = {"schema": schema(kind), **document}
    sys.stdout.write(printable_json(whole, ascii_only=not unicode) + "\n")


def given_text(argument: str, what: str) -> str:
    """Return a text argument, or standard input for `-`."""
    try:
        text = sys.stdin.buffer.read().decode() if argument == "-" else argument
        text.encode()  # an argument that was not Unicode holds what cannot be encoded
    except UnicodeError:
        raise InputError(f"{what} is not UTF-8 text; convert it and try again") from None
    return text


def console() -> Console:
    """Open standard output for people, as wide as the terminal; a file has no width, unless COLUMNS gives one."""
    from rich.console import Console
    from rich.text import Text

    class Terminal(Console):  # made here, as rich is imported only where something is shown
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable_lines(text), **options)

    out = Terminal(highlight=False, markup=False, emoji=False)  # names are not markup
    asked = os.environ.get("COLUMNS", "")
    if not sys.stdout.isatty():
        out.width = int(asked) if asked.isdecimal() else UNLIMITED
    out.width = max(out.width, NARROWEST)
    return out


def table(title: str, *columns: str, least: Sequence[str] = ()) -> Table:
    """Make a table whose first column is text and the rest numbers. It is never cropped.

    Where it does not fit, names are broken after a colon and lists after a comma; then the columns `least` are left
    out, in that order, and it is said how to see them; at last each row becomes a paragraph.
    """
    from rich.table import Table

    class Fitted(Table):  # made here, as rich is imported only where something is shown
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
            return _fitted(title, self, least, options.max_width)

    out = Fitted()
    for i, column in enumerate(columns):
        out.add_column(column, justify="right" if i else "left")
    return out


def _fitted(title: str, whole: Table, least: Sequence[str], room: int) -> Iterator[RenderableType]:
    """Lay out a table for lines of `room` characters."""
    from rich.text import Text

    columns = [
        Column(str(c.header), tuple(printable_lines(str(cell)) for cell in c.cells), c.justify) for c in whole.columns
    ]
    yield Text(printable_lines(title), style="bold")
    for n in range(len(least) + 1):
        kept = [c for c in columns if c.header not in least[:n]]
        if sum(c.least_width for c in kept) + GAP * (len(kept) - 1) <= room:
            yield _rows(kept, room)
            if n:
                left_out = ", ".join(c.name for c in columns if c not in kept)
                yield Text(f"No room for: {left_out}. A wider terminal shows them, and so does --json.")
            break
    else:
        yield Text(_paragraphs(columns, room), overflow="fold")
    yield Text()


def _rows(columns: Sequence[Column], room: int) -> Table:
    """Make a table whose widest columns are broken until it fits."""
    from rich import box
    from rich.table import Table

    widths = [c.width for c in columns]
    while sum(widths) + GAP * (len(columns) - 1) > room:
        widest = max((w, i) for i, w in enumerate(widths) if w > columns[i].least_width)[1]
        widths[widest] -= 1
    out = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for c, width in zip(columns, widths, strict=True):
        out.add_column(broken(c.header, width), justify=c.justify, no_wrap=True)
    for row in zip(*(c.cells for c in columns), strict=True):
        out.add_row(*(broken(cell, width) for cell, width in zip(row, widths, strict=True)))
    return out


def _paragraphs(columns: Sequence[Column], room: int) -> str:
    """Write each row as its name and a line per column, or two lines where one is too narrow."""
    first, rest = columns[0], columns[1:]
    width = max((_width(c.name) for c in rest), default=0)
    lines = []
    for i, name in enumerate(first.cells):
        lines += broken(name, room).split("\n")
        for c in rest:
            line = f"  {c.name:<{width}}  {c.cells[i]}"
            if _width(line) <= room:
                lines.append(line)
            else:
                lines += [f"  {c.name}", *(f"    {part}" for part in broken(c.cells[i], room - 4).split("\n"))]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, before it is broken to fit."""

    header: str
    cells: tuple[str, ...]
    justify: JustifyMethod

    @property
    def name(self) -> str:
        """The header in one line."""
        return " ".join(self.header.split())

    @property
    def width(self) -> int:
        """Width with nothing broken."""
        return max(_width(text) for text in (self.header, *self.cells))

    @property
    def least_width(self) -> int:
        """Width with everything broken that may be."""
        return max(_width(broken(text, 1)) for text in (self.header, *self.cells))


def broken(text: str, width: int) -> str:
    """Break a text into lines no wider than `width` if possible: names after a colon, lists after a comma.

    >>> broken("openhands:claude-opus-4-5", 20)
    'openhands:\\nclaude-opus-4-5'
    >>> broken("never / 12 / 3, 2 public", 12)
    'never / 12 / 3,\\n2 public'
    """
    lines = []
    for line in text.split("\n"):
        now = ""
        for piece in re.split(r"(?<=:)(?=\S)|(?<=, )", line):
            if now and _width((now + piece).rstrip()) > width:
                lines.append(now.rstrip())
                now = ""
            now += piece
        lines.append(now.rstrip())  # spaces at the end would take room that was not counted
    return "\n".join(lines)


def _width(text: str) -> int:
    from rich.cells import cell_len

    return max(cell_len(line) for line in text.split("\n"))


@contextmanager
def progress(label: str, unit: str = "") -> Iterator[Callable[[int, int | None], None]]:
    """Show a progress bar on standard error, if that is a terminal; call what it gives with (done, total or None)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TextColumn(unit), TimeElapsedColumn(), console=Console(stderr=True), transient=True,
        disable=not sys.stderr.isatty(),
    )  # fmt: skip
    with bar:
        job = bar.add_task(printable(label), total=None)
        yield lambda done, total: bar.update(job, completed=done, total=total)


def percent(fraction: float | None, digits: int = 1) -> str:
    """Write a fraction as a percentage, a dash where there is none."""
    return "-" if fraction is None else f"{100 * fraction:.{digits}f}"


def dollars(value: float | None, guessed: bool = False) -> str:
    """Write dollars, a dash where they are not known, and `~` before a cost that is `guessed`.

    >>> dollars(0.5), dollars(0.5, guessed=True), dollars(None, guessed=True)
    ('$0.50', '~$0.50', '-')
    """
    from hmrouter.decide.policy import show_dollars

    return "-" if value is None else f"{'~' * guessed}{show_dollars(value)}"
