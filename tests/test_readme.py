"""What the README tells people to type works, in the order of the page, in one empty folder.

Run are the lines `$ hmrouter ...` of console blocks and all Python blocks. A block of data (csv, jsonl, toml) becomes
the file of that kind that the page names next.
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


def commands(block: Block) -> list[str]:
    lines = block.content.splitlines() if block.language in ("console", "bash") else []
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ hmrouter ")]


def test_the_readme_can_be_followed(tmp_path: Path) -> None:
    page = blocks(README.read_text(encoding="utf-8"))
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("HMROUTER_")},
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
        scripts = [["sh", "-c", command] for command in commands(block)]
        if block.language == "python":
            scripts.append([sys.executable, "-W", "error", "-c", block.content])
        for script in scripts:
            done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, f"README.md line {block.line}: {script[-1]}\n{done.stderr}"
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
