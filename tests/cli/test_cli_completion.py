"""What a Tab offers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.cli import completion

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def offered(cli: Cli, words: str) -> list[str]:
    """What bash gets for a Tab after these words."""
    typed = words.split(" ")
    tab = {"_HMROUTER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(typed) - 1)}
    done: Any = cli(env=tab)
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("hmrouter ro", ["route"]),
        ("hmrouter import --format sw", ["swebench-report", "swebench-site"]),
        ("hmrouter bench run fo", ["forecast"]),
        ("hmrouter bench run routing,co", ["routing,cost"]),
        ("hmrouter bench run routing --methods fixed,saf", ["fixed,safe", "fixed,safe_alone"]),
        ("hmrouter train --scorer sa", ["safe", "safe_alone"]),
        ("hmrouter train --embedder l", ["lsa"]),
        ("hmrouter route x --incumbent cod", ["codex:claude-opus-4-5", "codex:gpt-5"]),
        ("hmrouter route x --allow harness=c", ["harness=claude-code", "harness=codex"]),
        ("hmrouter probe --pair ai", ["aider:gpt-5"]),
        ("hmrouter route x --history p", ["public"]),
    ],
)
def test_a_tab_completes_names(folder: Path, cli: Cli, words: str, found: list[str]) -> None:
    assert offered(cli, words) == found


def test_all_experiments_are_offered() -> None:
    assert set(completion.experiments("")) == {"all", *EXPERIMENTS.names()}


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 100, (2).to_bytes(8, "little") + b"{}", b"\x00" * 7])
def test_a_file_that_is_no_router_offers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    (tmp_path / "router.hmr").write_bytes(content)
    monkeypatch.setenv("HMROUTER_ROUTER", str(tmp_path / "router.hmr"))
    assert completion.routes("") == completion.rules("") == []
