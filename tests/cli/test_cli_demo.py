"""`hmrouter demo`: the whole way on simulated outcomes, and again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hmrouter.cli.demo import _typed
from hmrouter.router import Router

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_demo_twice(tmp_path: Path, inside: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    first = inside("demo", "--json")
    assert (first.returncode, first.stderr) == (0, "")
    report = json.loads(first.stdout)
    assert report["simulated"] is True
    assert report["public"]["cost"] <= 2.0
    assert report["public"]["route"].partition(":")[0] in ("claude-code", "codex", "openhands")
    assert Router.load(tmp_path / report["router"]).report_.outcomes == 2288
    assert len(report["decisions"]) == 3
    assert all(decision["evidence"]["pair"] > 100 for decision in report["decisions"])
    accuracy = {row["method"]: row["accuracy"] for row in report["results"]}
    assert {"random", "fixed", "knn", "component_average", "component_only", "hm", "oracle"} <= accuracy.keys()
    assert accuracy["random"] < accuracy["fixed"] < accuracy["hm"] < accuracy["oracle"]
    monkeypatch.setattr("hmrouter.cli.demo.METHODS", ("random", "fixed", "oracle"))  # the others only take time
    again = inside("demo")
    assert again.returncode == 0
    assert "0 outcomes imported, 2,288 known already" in again.stdout
    assert again.stdout.count("SIMULATED") == 2
    assert "This rests on public evidence only" in again.stdout
    assert 'Next, as you may type it here: hmrouter route "Fix the failing CI job" --max-cost 2\n' in again.stdout
    assert sorted(path.name for path in (tmp_path / "out" / "demo").iterdir()) == ["demo.db", "router.hmr"]


def test_the_next_step_is_named_as_it_may_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "bin" / "hmrouter"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["bin/hmrouter"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _typed() == "bin/hmrouter"
    monkeypatch.setenv("PATH", str(command.parent))
    assert _typed() == "hmrouter"
    monkeypatch.setattr("sys.argv", ["somewhere/__main__.py"])
    assert _typed() == "hmrouter"
