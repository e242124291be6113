"""What the README tells people to type works, in the order of the page, in one empty folder.

Run are the lines `$ hmrouter ...` of console blocks and all Python blocks. What a console block shows below a command
is what it prints, but for the digits. A block of data (csv, jsonl, toml) becomes the file of that kind that the page
names next.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

README = Path(__file__).parents[1] / "README.md"


class Block(NamedTuple):
    language: str
    content: str
    line: int


def blocks(text: str) -> list[Block]:
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in found]


def commands(block: Block) -> dict[str, list[str]]:
    """The commands of a block, each with the lines that are shown below it."""
    found: dict[str, list[str]] = {}
    shown: list[str] = []
    for line in block.content.splitlines() if block.language in ("console", "bash") else []:
        if line.startswith("$ hmrouter "):
            shown = found[line.removeprefix("$ ")] = []
        else:
            shown.append(line)
    return found


def words(lines: list[str]) -> list[list[str]]:
    """Lines without what differs from machine to machine: the last digits of numbers, and so the room they take."""
    return [cells for line in lines if (cells := re.sub(r"[\d.]+", "0", line).replace("\u2500", "").split())]


def test_the_readme_can_be_followed(tmp_path: Path) -> None:
    page = blocks(README.read_text(encoding="utf-8"))
    environment = {
        # Without COLUMNS, which would break the lines of tables elsewhere.
        **{key: value for key, value in os.environ.items() if not key.startswith(("HMROUTER_", "COLUMNS"))},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
    }
    ran = 0
    for i, block in enumerate(page):
        if block.language in ("csv", "jsonl", "toml"):
            rest = "\n".join(later.content for later in page[i + 1 :])
            named = re.search(rf"[\w./-]+\.{block.language}\b", rest)
            if named:
                (tmp_path / named[0]).write_text(block.content, encoding="utf-8")
        scripts = [(["sh", "-c", command], shown) for command, shown in commands(block).items()]
        if block.language == "python":
            scripts.append(([sys.executable, "-W", "error", "-c", block.content], []))
        for script, shown in scripts:
            done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, f"README.md line {block.line}: {script[-1]}\n{done.stderr}"
            printed = words(done.stdout.splitlines())
            assert [line for line in words(shown) if line not in printed] == [], f"README.md line {block.line}"
            ran += 1
    assert ran >= 3


@pytest.mark.parametrize("word", ["import", "train", "route", "explain"])
def test_the_readme_shows_every_step(word: str) -> None:
    shown = [command for block in blocks(README.read_text(encoding="utf-8")) for command in commands(block)]
    assert any(command.startswith(f"hmrouter {word} ") or command == f"hmrouter {word}" for command in shown)


def test_relative_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
