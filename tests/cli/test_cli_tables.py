"""Tables fit where they are shown: nothing is cropped, names break after a colon, and what has no room is named."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from hmrouter.cli.output import NARROWEST, broken, table

COMMAND = Path(sys.executable).with_name("hmrouter")
Cli = Callable[..., "subprocess.CompletedProcess[str]"]

ROWS = (
    ("taubench-toolcalling:claude-opus-4-1", "38.7", "7 to 71", "~$0.26", "0.10-12.50", "never / 12 / 3, 2 public"),
    ("codex:gpt-5-1-codex-max", "100.0", "90 to 100", "$1234.50", "-", "12345 / 23456 / 34567, 12 public, 3 own"),
    ("aider:o3", "1.0", "0 to 5", "-", "-", "1 / 2 / 3"),
)
HEADERS = ("route", "success\n%", "90%\ninterval", "cost", "90% of\ncost", "runs here, suites elsewhere")


def shown(width: int, least: tuple[str, ...] = (), rows: tuple[tuple[str, ...], ...] = ROWS) -> list[str]:
    """The lines of a table in a terminal of this width."""
    out = table("Route: codex:gpt-5", *HEADERS, least=least)
    for row in rows:
        out.add_row(*row)
    terminal = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system=None,
        markup=False,
        emoji=False,
        highlight=False,
    )
    terminal.print(out)
    assert isinstance(terminal.file, io.StringIO)
    return [line.rstrip() for line in terminal.file.getvalue().splitlines()]


def squeezed(lines: list[str]) -> str:
    return "".join("".join(lines).split())


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_nothing_is_cropped(width: int) -> None:
    lines = shown(width)
    assert max(map(cell_len, lines)) <= width
    text = "\n".join(lines)
    for cell in (c for row in ROWS for c in row):
        for piece in re.split(r"(?<=:)|(?<=, )", cell):
            assert piece.strip() in text, piece
    words = [word for header in HEADERS[1:] for word in header.split()]
    assert [word for word in words if word not in text] == []


def test_with_room_each_row_is_a_line() -> None:
    lines = [" ".join(line.split()) for line in shown(200)]
    assert lines[0] == "Route: codex:gpt-5"
    assert lines[-4:] == [*(" ".join(row) for row in ROWS), ""]


def test_first_names_break_after_their_colon_and_lists_after_a_comma() -> None:
    lines = shown(95)
    assert "taubench-toolcalling:" in [line.split("  ")[0] for line in lines]
    assert any(line.startswith("claude-opus-4-1") for line in lines)
    assert any(line.endswith("12345 / 23456 / 34567,") for line in lines)
    assert not any("No room" in line for line in lines)


def test_then_the_least_columns_are_left_out_and_named() -> None:
    lines = shown(80, least=("90% of\ncost", "90%\ninterval"))
    assert lines[-2] == "No room for: 90% of cost. A wider terminal shows them, and so does --json."
    assert "0.10-12.50" not in "".join(lines)
    assert "7 to 71" in "".join(lines)
    assert max(map(len, lines)) <= 80
    narrower = shown(70, least=("90% of\ncost", "90%\ninterval"))
    assert "No room for: 90% interval, 90% of cost." in " ".join(narrower)


def test_at_last_each_row_is_a_paragraph_with_every_column() -> None:
    lines = shown(50, least=("90% of\ncost",))
    assert lines[1:4] == [
        "taubench-toolcalling:claude-opus-4-1",
        "  success %                    38.7",
        "  90% interval                 7 to 71",
    ]
    assert "  90% of cost                  0.10-12.50" in lines


def test_a_name_without_a_colon_is_folded_only_where_it_is_longer_than_a_line() -> None:
    long = "very-" * 30 + "long"
    assert long in squeezed(shown(80, rows=((long, *ROWS[0][1:]),)))


CELLS = st.text(alphabet="ab:, /-1修", max_size=30)


@given(CELLS, st.integers(1, 40))
def test_breaking_loses_only_spaces_at_ends_of_lines(text: str, width: int) -> None:
    lines = broken(text, width).split("\n")
    assert squeezed(lines) == "".join(text.split())
    assert all(not before.endswith(" ") and before[-1] in ":," for before in lines[:-1])


@given(st.lists(st.tuples(*[CELLS] * len(HEADERS)), min_size=1, max_size=4), st.integers(NARROWEST, 120))
@example([("", "", "11111111:1  ", "111111111", "111111111111111", "")], 72)  # spaces at the end
def test_whatever_the_cells_are_no_character_is_lost(rows: list[tuple[str, ...]], width: int) -> None:
    lines = shown(width, rows=tuple(rows))
    assert max(map(cell_len, lines)) <= width
    assert Counter("".join("".join(row) for row in rows).replace(" ", "")) <= Counter(squeezed(lines))


# -- in processes of their own --------------------------------------------------------------------------------------


@pytest.fixture
def in_terminal(terminal: Callable[..., Any], tmp_path: Path) -> Callable[..., list[str]]:
    """The lines that a command shows on a terminal of so many columns."""

    def lines(columns: int, *arguments: str) -> list[str]:
        own = {"NO_COLOR": "1", "HMROUTER_HISTORY": str(tmp_path / "none")}
        done = terminal(*arguments, at=["stdin", "stdout"], columns=columns, **own)
        assert done.code == 0, done.stderr
        return re.sub(r"\x1b\[[0-9;]*m", "", done.screen).replace("\r", "").splitlines()

    return lines


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_a_decision_in_a_terminal(in_terminal: Callable[..., list[str]], columns: int) -> None:
    lines = in_terminal(columns, "route", "Fix it", "--cost-weight", "0.1", "--allow", "harness=openhands")
    assert max(map(len, lines)) <= columns
    (rule,) = [i for i, line in enumerate(lines) if line.startswith("───")]
    head, body = " ".join(lines[1:rule]), lines[rule + 1 : lines.index("", rule)]
    for word in ("route", "success", "interval", "best", "cost", "ranked", "runs here,", "suites elsewhere"):
        assert word in head
    first = [line for line in body if "%" not in line and "$" in line]
    assert len(first) == 5  # each candidate begins with a line that has its numbers
    assert all(line.startswith("openhands:") for line in first)
    assert " ".join(lines).count(" public") >= 5


def test_a_file_has_no_width_unless_the_environment_says_one(folder: Path, cli: Cli) -> None:
    with (folder / "runs.csv").open("a") as runs:
        runs.write(f"t0,Fix it,{'very-' * 30}long,claude-code,1,0.5\n")
    assert cli("import", "runs.csv", "--store", "sqlite:///long.db").returncode == 0
    (folder / "router.hmr").unlink()
    options = ("route", "Fix the login", "--store", "sqlite:///long.db", "--history", "none")
    whole = cli(*options, env={"COLUMNS": ""}).stdout
    (line,) = [line for line in whole.splitlines() if "very-" in line and line.startswith("claude-code:very-")]
    assert line.endswith("1 / 1 / 25")
    narrow = cli(*options, env={"COLUMNS": "80"}).stdout
    assert max(map(len, narrow.splitlines())) <= 80
    assert "very-" * 30 + "long" in squeezed(narrow.splitlines())
