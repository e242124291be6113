"""The help of every command says what was written for it: nothing is taken for markup and lost."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Any

import pytest
import typer

import hmrouter
from hmrouter.cli import import_logs, train
from hmrouter.cli.app import COMMANDS, tree
from hmrouter.features.base import EMBEDDERS
from hmrouter.logs import format_names
from hmrouter.scorers.base import SCORERS

Cli = Callable[..., Any]


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of the tree, with what is typed for it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


TREE = dict(commands(typer.main.get_command(tree())))


def letters(text: str) -> str:
    """A text without layout: no white space, no frames, no marks of code."""
    return re.sub(r"[\s│`]", "", text)


@pytest.mark.parametrize("path", TREE, ids=lambda path: " ".join(path) or "hmrouter")
def test_no_help_text_loses_anything(inside: Cli, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...]) -> None:
    monkeypatch.setenv("COLUMNS", "400")  # each text in one line, so that a column beside it does not come between
    done = inside(*path, "--help")
    assert done.returncode == 0
    rendered = letters(done.stdout)
    command = TREE[path]
    texts = [command.help or "", *(getattr(option, "help", None) or "" for option in command.params)]
    assert [text for text in texts if letters(text) not in rendered] == []
    assert "(?P...)" not in rendered
    assert not re.search(r"\(\)|<>|\[\]", rendered)


def test_the_groups_of_a_pattern_are_seen(inside: Cli) -> None:
    words = " ".join(inside("import", "--help").stdout.replace("│", " ").split())
    assert "Finds (?P<model>...) and (?P<harness>...) in the name of such a log." in words


# -- help is text: it needs no data ---------------------------------------------------------------------------------


def test_the_names_that_help_lists_are_those_there_are() -> None:
    assert tuple(import_logs.FORMATS.split(", ")) == format_names()
    for listed, registry in ((train.SCORERS, SCORERS), (train.EMBEDDERS, EMBEDDERS)):
        plug_ins = {entry.name for entry in entry_points(group=registry.group)}
        assert listed.split(", ") == [name for name in registry.names() if name not in plug_ins]


@pytest.mark.parametrize("typed", [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)], ids=" ".join)
def test_version_and_help_import_no_library_for_data(typed: list[str]) -> None:
    program = "import sys; from hmrouter.cli import main; main()"
    command = [sys.executable, "-X", "importtime", "-c", program, *typed]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.stdout.startswith("hmrouter ") or "Usage:" in done.stdout
    assert "hmrouter.cli" in imported
    assert {name.partition(".")[0] for name in imported} & {"numpy", "scipy", "sklearn", "sqlalchemy"} == set()
    assert {
        name for name in imported if name.startswith(("hmrouter.logs", "hmrouter.store", "hmrouter.bench"))
    } == set()


def test_only_the_command_that_is_asked_for_is_imported(inside: Cli) -> None:
    assert [*typer.main.get_command(tree("route")).commands] == ["route"]  # type: ignore[attr-defined]
    for first in ("", "--help", "rout"):
        assert {*typer.main.get_command(tree(first)).commands} == {*COMMANDS}  # type: ignore[attr-defined]
    done = inside("rout")
    assert (done.returncode, "Did you mean 'route'" in " ".join(done.stderr.split())) == (2, True)
    assert inside("--version").stdout == inside("--version", "route").stdout == f"hmrouter {hmrouter.__version__}\n"
