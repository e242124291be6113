"""`hmrouter train --old-versions`: a new version of a harness is not judged by the old one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def stored(tmp_path: Path, inside: Cli) -> Path:
    """Codex was good in its version 1 and is bad in its version 2; aider is in between and stayed what it was."""
    rows = ["task,model,harness,score,harness_version"]
    for i in range(120):
        codex = ("1.4.2", i % 10 != 0) if i < 90 else ("2.0.0", i % 10 == 0)
        rows.append(f"t{i},gpt-5,codex,{int(codex[1])},{codex[0]}")
        rows.append(f"t{i},gpt-5,aider,{int(i % 5 < 3)},0.9")
    (tmp_path / "runs.csv").write_text("\n".join(rows) + "\n")
    done = inside("import", "runs.csv")
    assert done.returncode == 0, done.stderr
    return tmp_path


@pytest.mark.usefixtures("stored")
def test_old_versions_count_in_full_unless_asked_otherwise(inside: Cli) -> None:
    chosen = {}
    for options in ((), ("--old-versions", "15")):
        trained = inside("train", "--history", "none", *options)
        assert trained.returncode == 0, trained.stderr
        assert ("Older versions of a route count as at most 15 outcomes." in trained.stdout) == bool(options)
        chosen[options] = json.loads(inside("route", "Fix it", "--json").stdout)["route"]
    assert list(chosen.values()) == ["codex:gpt-5", "aider:gpt-5"]


@pytest.mark.usefixtures("stored")
def test_what_is_no_number_of_outcomes_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "old versions cannot count for -1.0 outcomes" in refused("train", "--old-versions", "-1", code=2)
    assert not (tmp_path / "router.hmr").exists()
