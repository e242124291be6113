"""The shape of the code: which module may import which, what an import costs, and a few habits."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hmrouter
from hmrouter.cli.app import COMMANDS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "hmrouter"
SOURCES = sorted(PACKAGE.rglob("*.py"))
WRITTEN = [*SOURCES, *(p for part in ("tests", "benchmarks", "examples") for p in sorted((ROOT / part).rglob("*.py")))]


def ladder() -> list[set[str]]:
    """The parts row by row, lowest first, as the table in docs/architecture.md has them. A folder is one part."""
    table = (ROOT / "docs" / "architecture.md").read_text().partition("| part | does |")[2].partition("```")[0]
    return [set(re.findall(r"`(\w+)`", row.split("|")[1])) for row in table.splitlines() if row.startswith("| `")]


LADDER = ladder()
STEP = {name: number for number, names in enumerate(LADDER) for name in names}
HEAVY = {
    "sklearn", "scipy", "sqlalchemy", "fastapi", "torch", "pyarrow", "ray", "typer", "rich", "sentence_transformers",
    "transformers", "matplotlib",
}  # fmt: skip
PUBLIC = {"Dataset", "OutcomeStore", "Policy", "Route", "Router", "read_logs", "Task", "Outcome", "Decision"}


def part_of(path: Path) -> str:
    """The name on the ladder that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> Iterator[tuple[str, int]]:
    """The names on the ladder that a file imports anywhere in it, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            of_root = node.module == "hmrouter"
            names = [a.name for a in node.names if a.name != "__version__"]  # the root holds that, nothing else
            modules = [f"hmrouter.{name}" for name in names] if of_root else [node.module or ""]
        else:
            continue
        for module in modules:
            root, _, rest = module.partition(".")
            if root == "hmrouter":
                yield rest.partition(".")[0], node.lineno


@pytest.mark.parametrize(
    "path", [p for p in SOURCES if p != PACKAGE / "__init__.py"], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_imports_point_down_the_ladder(path: Path) -> None:
    own = part_of(path)
    assert own in STEP, f"{own} is not on the ladder; put it on the lowest step that works"
    for other, line in imported_parts(path):
        assert other in STEP, f"{path}:{line} imports {other or 'hmrouter itself'}, which is not on the ladder"
        assert other == own or STEP[other] < STEP[own], f"{path}:{line}: {own} must not import {other}"


def test_the_table_of_parts_is_the_folder_listing() -> None:
    there = {part_of(path) for path in SOURCES} - {"__init__"}
    assert there <= set(STEP)
    assert set(STEP) - there <= {"serve", "run"}  # room for what comes
    assert len(STEP) == sum(map(len, LADDER))


def test_an_import_upwards_would_be_seen(tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text("def f():\n    from hmrouter.router import Router\nfrom hmrouter import cli\nimport hmrouter.a.b\n")
    assert sorted(imported_parts(file)) == [("a", 4), ("cli", 3), ("router", 2)]


def test_importing_the_package_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import hmrouter"], check=True, capture_output=True, text=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "hmrouter" in imported
    assert not {name.partition(".")[0] for name in imported} & HEAVY
    assert not done.stdout


def test_only_the_store_needs_its_database_library_at_import() -> None:
    library = [p for p in SOURCES if STEP.get(part_of(p), 99) <= STEP["router"] and part_of(p) != "store"]
    modules = [".".join(p.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__") for p in library]
    assert {"hmrouter.router", "hmrouter.features.lsa", "hmrouter.logs.formats.parquet_file"} <= set(modules)
    program = f"import sys, {', '.join(modules)}; print(*sorted({HEAVY!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == ([], "")


def test_public_names_resolve() -> None:
    assert set(hmrouter.__all__) >= PUBLIC
    assert len(hmrouter.__all__) == len(set(hmrouter.__all__))
    for name in hmrouter.__all__:
        assert getattr(hmrouter, name).__name__ == name
    assert set(hmrouter.__all__) <= set(dir(hmrouter))
    with pytest.raises(AttributeError, match="no_such_name"):
        hmrouter.no_such_name  # noqa: B018


TYPED = re.compile(rf"(?<![\w-])--[a-z]|\bhmrouter ({'|'.join(COMMANDS)})\b")
"""What is typed at a command line: an option, or a command."""
OPTION_OF_ANOTHER_PROGRAM = re.compile(r"--[\w-]+(=\S*)?")
"""A word that is an option and nothing else: an argument that a driver or git is started with, not a message."""


def typed_words(source: str) -> Iterator[tuple[int, str]]:
    """The texts of a module that name an option or a command, with the line; docstrings are for readers of the code."""
    tree = ast.parse(source)
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        texts = [p.value if isinstance(p, ast.Constant) else "x" for p in parts]  # x: what an f-string will put there
        text = "".join(t.decode("latin-1") if isinstance(t, bytes) else t for t in texts if isinstance(t, str | bytes))
        said = TYPED.search(text) and not OPTION_OF_ANOTHER_PROGRAM.fullmatch(text)
        if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in notes and said:
            yield node.lineno, text


@pytest.mark.parametrize("path", [p for p in SOURCES if part_of(p) != "cli"], ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_command_line_names_options_and_commands(path: Path) -> None:
    assert list(typed_words(path.read_text())) == []


def test_an_option_or_a_command_in_a_message_would_be_seen() -> None:
    seen = (
        "raise UsageError('give --runs N')",
        "say(f'give --{name} NAME')",
        "NOTE = b'see `hmrouter history list`'",
        "print('a' if b else 'make one with: hmrouter train')",
    )
    fine = (
        '"""What `--format` calls it."""',
        "name = f'{harness}--{model}'",
        "use = 'the hmrouter version'",
        "'--' + a",
        "['claude', '--model', model, f'--max-turns={n}']",
    )
    assert [bool(list(typed_words(line))) for line in seen] == [True] * len(seen)
    assert [list(typed_words(line)) for line in fine] == [[]] * len(fine)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_files_are_small_and_named_for_what_they_do() -> None:
    assert len(WRITTEN) > 40
    assert {str(p): n for p in WRITTEN if (n := len(p.read_text().splitlines())) > 400} == {}
    assert [p for p in WRITTEN if p.stem in ("util", "utils", "helpers")] == []


def test_nothing_is_left_for_later() -> None:
    mark = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    assert [p for p in WRITTEN if mark.search(p.read_text())] == []


def test_test_files_have_unique_names() -> None:
    names = [p.name for p in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names))
