"""Names and messages from outside give a terminal no orders, whichever command shows them."""

from __future__ import annotations

import ast
import json
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hmrouter.cli
from hmrouter.printable import printable, printable_json, printable_lines

from .conftest import Ended, Limited

TITLE = "\x1b]0;owned\x07"
"""Sets the title of a terminal's window."""
EVIL = f"{TITLE}\x1b[2J\x9b31m\u202egpt\u2066\u2028x\rerror: forged"


@given(st.text())
def test_what_is_shown_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    for shown in (printable(text), printable_lines(text).replace("\n", "").replace("\t", "")):
        assert all(unicodedata.category(c)[0] != "C" and unicodedata.category(c) not in ("Zl", "Zp") for c in shown)
    assert json.loads(printable_json({text: [text]})) == {text: [text]}
    assert all(unicodedata.category(c)[0] != "C" for c in printable_json({text: [text]}).replace("\n", ""))


def test_texts_of_other_scripts_stay_readable() -> None:
    text = "修复\u3000测试, Łódź, مرحبا, 🚀, a\u00a0b"
    assert printable(text) == printable_lines(text) == text


def clean(shown: str) -> None:
    bad = {c for c in shown if unicodedata.category(c)[0] == "C" and c not in "\n\t"} | set(shown) & set("\u2028\u2029")
    assert not bad, shown


Inside = Callable[..., Ended]


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Inside:
    """Run `hmrouter` within this process, which takes a fraction of the time: `inside("store", "status")`."""
    monkeypatch.chdir(tmp_path)

    def start(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["hmrouter", *arguments])
        with pytest.raises(SystemExit) as ended:
            hmrouter.cli.main()
        return Ended(int(ended.value.code or 0), *capfd.readouterr())

    return start


@pytest.fixture
def hostile_store(tmp_path: Path, inside: Inside) -> Path:
    """A store in which every name is hostile."""
    rows = [
        {
            "task": f"{EVIL}{i}", "text": EVIL, "model": f"{EVIL}{j}", "harness": EVIL.replace(":", ""),
            "score": (i + j) % 2,
            "suite": EVIL, "source": EVIL, "run": EVIL, "cost": 0.1, "model_version": EVIL, EVIL: EVIL,
        }
        for i in range(4) for j in range(2)
    ]  # fmt: skip
    (tmp_path / "runs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ended = inside("import", "runs.jsonl")
    assert ended.code == 0, ended.err
    clean(ended.out + ended.err)
    return tmp_path


def test_no_command_passes_an_order_on(hostile_store: Path, inside: Inside) -> None:
    decision = inside("route", "Fix it", "--history", "none", "--json")
    (hostile_store / "decision.json").write_text(decision.out)
    commands = [
        ["store", "status"], ["store", "status", "--json"], ["names"], ["names", "--json"],
        ["names", "merge", "model", f"{EVIL}0", f"{EVIL}1"],
        ["train", "--history", "none"], ["route", "Fix it", "--top", "5"], ["plan", "Fix it"],
        ["explain", "decision.json"],
        ["explain", json.dumps({EVIL: EVIL})], ["train", "--suite", "absent"], ["probe", "--runs", "2"],
        ["store", "export", "out", "--format", "benchmark"], ["bench", "list", "--data", "out"],
        ["store", "forget", EVIL, "--yes"],
    ]  # fmt: skip
    for command in commands:
        ended = inside(*command)
        assert "Traceback" not in ended.err, command
        assert ended.out + ended.err, command
        clean(ended.out + ended.err)


def test_a_line_is_one_line(hostile_store: Path, inside: Inside) -> None:
    ended = inside("train", "--history", "none")
    assert not any(line.startswith("error: forged") for line in (ended.out + ended.err).splitlines())


@pytest.mark.parametrize("name", [f"{TITLE}.csv", "[bold]x[nothing].csv", "a\nerror: forged.csv"])
def test_names_of_files(tmp_path: Path, limited: Limited, name: str) -> None:
    (tmp_path / name).write_text("task,model,harness,score\nt,m,h,7\n")
    clean(limited("import", name).refused())


def test_commands_write_through_one_file_only() -> None:
    """What a command shows goes through `cli/output.py`, where it is made harmless."""
    folder = Path(hmrouter.cli.__file__).parent
    found = []
    for file in sorted(folder.glob("*.py")):
        if file.name in ("output.py", "__init__.py", "app.py"):  # the door itself; the error line; the version
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "typer.echo", "typer.secho", "click.echo", "sys.stdout.write", "sys.stderr.write",
            ):  # fmt: skip
                found.append(f"{file.name}:{node.lineno} {ast.unparse(node)}")
            if isinstance(node, ast.Name) and node.id == "print":
                found.append(f"{file.name}:{node.lineno} print")
    assert not found
