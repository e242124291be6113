"""docs/json.md describes every document that `--json` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.cli.schemas import SCHEMAS, schema

Cli = Callable[..., Any]
PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
COMMANDS: dict[str, list[str]] = {
    "bench-list": ["bench", "list"],
    "bench-run": ["bench", "run", "routing", "--data", "made", "--methods", "fixed", "--splits", "1", "--jobs", "1"],
    "bench-validate": ["bench", "validate", "--data", "made"],
    "decisions": ["decisions"],
    "doctor": ["doctor", "--offline"],
    "error": ["route", "x", "--top", "0"],
    "explain": ["explain", "decision.json"],
    "history-add": ["history", "add", "table.csv"],
    "history-list": ["history", "list"],
    "history-remove": ["history", "remove", "table"],
    "import": ["import", "runs.csv"],
    "names": ["names"],
    "names-apply": ["names", "apply", "own.toml"],
    "names-merge": ["names", "merge", "model", "gpt-5", "claude-opus-4-5"],
    "names-split": ["names", "split", "model", "gpt-5"],
    "plan": ["plan", "Fix it"],
    "probe": ["probe", "--runs", "2"],
    "probe-status": ["probe", "status"],
    "store-drop-texts": ["store", "drop-texts", "--older-than", "9", "--yes"],
    "store-export": ["store", "export", "made", "--format", "benchmark"],
    "store-set": ["store", "set", "default", "--half-life", "90"],
    "store-status": ["store", "status"],
    "store-vacuum": ["store", "vacuum"],
    "train": ["train", "--scorer", "fixed", "--out", "fixed.hmr"],
}
"""What is typed for each kind; `route` and `demo` have tests of their own, `store forget` needs a run's name,
`store undo` an import."""


def described(kind: str) -> set[str]:
    """The fields that the page has for a kind of document."""
    section = PAGE.partition(f"\n## {kind}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_every_kind_has_its_section() -> None:
    assert set(re.findall(r"^## ([\w-]+)$", PAGE, re.MULTILINE)) == {*SCHEMAS}
    assert {*SCHEMAS} == {*COMMANDS, "demo", "route", "store-forget", "store-undo", "report", "run"}


@pytest.fixture
def ready(folder: Path, inside: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which every command finds what it needs."""
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.setenv("HOME", str(folder))
    (folder / "table.csv").write_text("suite,model,harness,tasks,mean_score\nours,gpt-5,codex,10,0.5\n")
    (folder / "own.toml").write_text('[models]\nours = ["gpt-5"]\n')
    (folder / "decision.json").write_text(inside("route", "Fix it", "--json").stdout)
    return folder


def test_documents_have_the_fields_that_the_page_describes(ready: Path, inside: Cli) -> None:
    first = ("store-export", "history-add", "names-merge")  # what others need
    for kind in (*first, *(kind for kind in COMMANDS if kind not in first)):
        done = inside(*COMMANDS[kind], "--json")
        document = json.loads(done.stdout)
        assert document.pop("schema") == schema(kind), done.stderr
        if kind == "explain":
            document = {name: value for name, value in document.items() if name in ("comparison", "explanation")}
        assert {*document} - described(kind) == set(), kind
        assert document


def test_route_forget_and_undo(ready: Path, inside: Cli) -> None:
    assert json.loads((ready / "decision.json").read_text())["schema"] == "hmrouter.route/1"
    run = json.loads(inside("store", "status", "--json").stdout)["runs"][0]["run"]
    gone = json.loads(inside("store", "forget", run, "--yes", "--json").stdout)
    assert gone.pop("schema") == "hmrouter.store-forget/1"
    assert {*gone} == described("store-forget")
    inside("import", "runs.csv")
    undone = json.loads(inside("store", "undo", "--yes", "--json").stdout)
    assert undone.pop("schema") == "hmrouter.store-undo/1"
    assert {*undone} == described("store-undo")


def test_report(ready: Path, inside: Cli) -> None:
    decision = json.loads(inside("route", "Fix it", "--record", "--json").stdout)["id"]
    told = json.loads(inside("report", decision, "--score", "1", "--json").stdout)
    assert told.pop("schema") == "hmrouter.report/1"
    assert {*told} == described("report")
    logged = json.loads(inside("decisions", "--json").stdout)
    assert {*logged} - {"schema"} == described("decisions")
    assert logged["decisions"][0]["reports"][0]["score"] == 1.0
