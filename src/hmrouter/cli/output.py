"""What the commands share: where output goes, progress bars, and options with the same meaning everywhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmrouter.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Store = Annotated[
    str,
    typer.Option(
        "--store", help="Where outcomes are kept: sqlite:///FILE or postgresql+psycopg://...", envvar="HMROUTER_STORE"
    ),
]
RouterFile = Annotated[str, typer.Option("--router", help="The router file.", envvar="HMROUTER_ROUTER")]

DEFAULT_STORE = "sqlite:///hmrouter.db"
DEFAULT_ROUTER = "router.hmr"


def say(message: str) -> None:
    """A message for the person at the terminal."""
    sys.stderr.write(f"{message}\n")


def print_json(document: Any) -> None:
    """The one JSON document of `--json`; pure ASCII where the output is not Unicode."""
    unicode = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(document, ensure_ascii=not unicode, indent=2) + "\n")


def given_text(argument: str, what: str) -> str:
    """A text argument, or standard input for `-`."""
    try:
        text = sys.stdin.buffer.read().decode() if argument == "-" else argument
        text.encode()  # an argument that was not Unicode holds what cannot be encoded
    except UnicodeError:
        raise InputError(f"{what} is not UTF-8 text; convert it and try again") from None
    return text


def console() -> Console:
    """Standard output for people. Names are not markup."""
    from rich.console import Console

    out = Console(highlight=False, markup=False, emoji=False)
    # To a file, or to a terminal in which a table would lose digits: let the lines be longer than the terminal.
    out.width = max(out.width, 100) if sys.stdout.isatty() else 120
    return out


def table(title: str, *columns: str) -> Table:
    """A table whose first column is text and the rest numbers."""
    from rich import box
    from rich.table import Table

    out = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for i, column in enumerate(columns):
        # A long name is folded; a number that is cut off would be another number.
        out.add_column(
            column, justify="right" if i else "left", no_wrap=i > 0, overflow="fold", min_width=0 if i else 20
        )
    return out


@contextmanager
def progress(label: str, unit: str = "") -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on standard error; call what it gives with (done, total or None). Silent when not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit),
        TimeElapsedColumn(), console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty(),
    )  # fmt: skip
    with bar:
        job = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(job, completed=done, total=total)


def percent(fraction: float | None, digits: int = 1) -> str:
    """A fraction as a percentage, a dash where there is none."""
    return "-" if fraction is None else f"{100 * fraction:.{digits}f}"


def dollars(value: float | None) -> str:
    """Dollars, a dash where they are not known."""
    from hmrouter.policy import show_dollars

    return "-" if value is None else show_dollars(value)
