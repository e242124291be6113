"""The help of every command says what was written for it: nothing is taken for markup and lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

from hmrouter.cli.app import app

Cli = Callable[..., Any]


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of the tree, with what is typed for it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


TREE = dict(commands(typer.main.get_command(app)))


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
