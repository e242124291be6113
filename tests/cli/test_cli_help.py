"""The help of every command says what was written for it: nothing is taken for markup and lost."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Any

import pytest
import typer

import hmrouter
from hmrouter.bench.experiments import every_experiment
from hmrouter.bench.methods import ABOUT, METHODS, REFERENCES
from hmrouter.cli import completion
from hmrouter.cli.app import COMMANDS, tree
from hmrouter.cli.help import parted
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


def _parts(text: str) -> list[str]:
    """What help shows of a text: the examples stand at its end."""
    body, examples = parted(text)
    return [body, *examples]


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
    assert [text for text in texts for part in _parts(text) if letters(part) not in rendered] == []
    assert "(?P...)" not in rendered
    assert not re.search(r"\(\)|<>|\[\]", rendered)


def test_the_groups_of_a_pattern_are_seen(inside: Cli) -> None:
    words = " ".join(inside("import", "--help").stdout.replace("│", " ").split())
    assert "Finds (?P<model>...) and (?P<harness>...) in the name of such a log." in words


# -- help is text: it needs no data ---------------------------------------------------------------------------------


def test_the_names_that_are_written_out_are_those_there_are() -> None:
    assert format_names() == completion.FORMATS
    for listed, registry in ((completion.SCORERS, SCORERS), (completion.EMBEDDERS, EMBEDDERS)):
        plug_ins = {entry.name for entry in entry_points(group=registry.group)}
        assert [*listed] == [name for name in registry.names() if name not in plug_ins]
    methods = {*completion.SCORERS, *completion.BASELINES}
    assert methods == {*METHODS.names(), *REFERENCES} - {entry.name for entry in entry_points(group=METHODS.group)}
    assert methods == {*ABOUT}


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


# -- how help looks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", TREE, ids=lambda path: " ".join(path) or "hmrouter")
def test_help_fits_80_columns_names_values_and_ends_with_two_examples(
    inside: Cli, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = inside(*path, "--help").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if re.search(r"<\w+(\[|>)", line) and "(?P<" not in line]  # <list[str]>
    assert lines[-3] == "Examples:"
    assert all(line.startswith("  hmrouter ") for line in lines[-2:])
    assert " ".join(("Usage: hmrouter", *path, "[OPTIONS]")) in lines[0]


@pytest.mark.parametrize("path", TREE, ids=lambda path: " ".join(path) or "hmrouter")
def test_examples_can_be_typed(path: tuple[str, ...]) -> None:
    examples = parted(TREE[path].help)[1]
    assert len(examples) == len({*examples}) == 2
    for example in examples:
        for part in re.split(r"\||<", example):
            if part.strip().startswith("hmrouter"):
                words = shlex.split(part)[1:]
                command, context = TREE[()], None
                while True:
                    below = [name for name in getattr(command, "commands", {}) if words[:1] == [name]]
                    command.make_parser(command.context_class(command, parent=context)).parse_args(list(words))
                    if not below:
                        break
                    command, words = command.commands[below[0]], words[1:]


def test_values_that_have_names_of_their_own_are_called_by_them(inside: Cli) -> None:
    shown = " ".join(inside("route", "--help").stdout.split())
    for words in ("--router FILE", "--top N", "--max-cost DOLLARS", "--incumbent ROUTE", "[OPTIONS] TEXT"):
        assert words in shown
    assert "--history none|store|public|all" in shown
    assert "[default: 5]" in shown
    assert "EXPERIMENT..." in inside("bench", "run", "--help").stdout


def test_python_runs_the_package_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hmrouter", "--version"], check=True, capture_output=True, text=True, timeout=600
    )
    assert done.stdout == f"hmrouter {hmrouter.__version__}\n"


def test_every_experiment_has_a_line(inside: Cli) -> None:
    shown = inside("bench", "list").stdout
    for name in (*every_experiment(), *ABOUT):
        assert re.search(rf"^  {name} +\w.{{10}}", shown, re.MULTILINE), name
