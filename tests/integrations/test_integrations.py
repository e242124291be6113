"""The Claude Code plugin and the GitHub Action, as far as they run here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hmrouter.cli.app import tree
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations" / "claude-code"
ACTION = ROOT / "integrations" / "github-action"
BIN = Path(sys.executable).parent


def options_of(command: str) -> set[str]:
    """The options that a command really has."""
    done = subprocess.run(
        [BIN / "hmrouter", command, "--help"], capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"}
    )
    return set(re.findall(r"--[a-z][a-z-]+", done.stdout))


def test_the_skill_uses_commands_and_options_that_there_are() -> None:
    text = (PLUGIN / "skills/route/SKILL.md").read_text()
    assert text.startswith("---\nname: route\ndescription: ")
    commands = {info.name for info in tree().registered_commands}
    for command in set(re.findall(r"hmrouter (\w+)", text)):
        assert command in commands
    known = options_of("route") | options_of("report") | options_of("decisions")
    assert set(re.findall(r"--[a-z][a-z-]+", text)) <= known
    assert json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())["name"] == "hmrouter"


@pytest.mark.heavy
def test_claude_code_takes_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from harnesses import path

    claude = shutil.which("claude", path=path())
    if claude is None:
        pytest.skip("claude-code is not installed; run: make harnesses")
    done = subprocess.run(
        [claude, "plugin", "validate", str(PLUGIN)], capture_output=True, text=True, timeout=600,
        env={"PATH": path(), "HOME": str(tmp_path)}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def act(folder: Path, task: str, verify: str) -> tuple[int, dict[str, str]]:
    """Run the step of the action as a runner does: inputs as environment, outputs as lines of a file."""
    output = folder / "output"
    output.write_text("")
    options = ["--harness", folder / "own.toml", "--work", folder / "work", "--history", "none"]
    done = subprocess.run(
        ["bash", str(ACTION / "run.sh")], cwd=folder / "repo", capture_output=True, text=True, timeout=600,
        env={
            **os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), "TASK": task,
            "VERIFY": verify, "BRANCH": "hmrouter/result", "BUDGET": "5", "ATTEMPTS": "2", "SETUP": "",
            "POOL": str(folder / "pool.toml"), "HMROUTER_STORE": f"sqlite:///{folder}/store.db",
            "OPTIONS": "\n".join(map(str, options)), "GITHUB_OUTPUT": str(output),
        },
    )  # fmt: skip
    return done.returncode, dict(line.split("=", 1) for line in output.read_text().splitlines())


def test_the_action_runs_verifies_and_tells_its_outputs(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    repo = folder / "repo"
    repo.mkdir()
    own = folder / "own"
    own.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo 1.0 && exit\nprintf %s "$2" > hello\necho \'{"cost": 0.25}\'\n'
    )
    own.chmod(0o755)
    (folder / "own.toml").write_text(
        f'name = "own"\ncommand = ["{own}", "{{model}}", "{{prompt}}"]\n[read]\ndollars = "cost"\n'
    )
    (folder / "pool.toml").write_text('routes = ["own:m"]\n')
    for words in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *words], cwd=repo, check=True)
    with OutcomeStore(f"sqlite:///{folder}/store.db") as store:
        store.add([Outcome(Task("old", text="old"), Route("m", "own"), 1.0)])
    task = 'Say "$(touch stolen)"; `touch stolen`'  # a text is never code
    code, said = act(folder, task, "grep -q 'touch stolen' hello")
    assert (code, said["solved"], said["branch"], said["dollars"]) == (0, "true", "hmrouter/result", "0.2500")
    assert not (repo / "stolen").exists()
    shown = subprocess.run(["git", "show", "hmrouter/result:hello"], cwd=repo, capture_output=True, text=True)
    assert shown.stdout == task
    with OutcomeStore(f"sqlite:///{folder}/store.db") as store:
        assert store.decision(said["plan"]).current[0].report.score == 1.0
    code, said = act(folder, "Again", "true")
    assert (code, said["solved"], said["plan"]) == (1, "false", "")  # the branch is there already


def test_every_input_of_the_action_reaches_its_script() -> None:
    action, script = (ACTION / "action.yml").read_text(), (ACTION / "run.sh").read_text()
    inputs = set(re.findall(r"^  (\w+):$", action.partition("outputs:")[0], re.MULTILINE))
    assert inputs == set(re.findall(r"\$\{\{ inputs\.(\w+) \}\}", action))
    given = set(re.findall(r"^        ([A-Z_]+): ", action, re.MULTILINE)) - {"HMROUTER_STORE"}
    assert all(re.search(rf"\$\{{?{name}\b", script) for name in given)
    assert "${{" not in script
