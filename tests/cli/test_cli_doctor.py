"""`hmrouter doctor`: the page for people, the document, and refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Refused = Callable[..., str]

HARNESS = """
name = "scripted"
command = ["{program}", "{{model}}", "{{prompt}}"]
keys = ["SCRIPTED_API_KEY"]
install = "make scripted"
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A harness of the user's own that does the probe's task with one of its models."""
    program = tmp_path / "scripted"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nif '--version' in sys.argv: sys.exit(print('1.2.3'))\n"
        "if 'able' in sys.argv: open('probe.txt', 'w').write('ok')\n"
    )
    program.chmod(0o755)
    path = tmp_path / "scripted.toml"
    path.write_text(HARNESS.format(program=program))
    return path


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment without harnesses or keys."""
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "SCRIPTED_API_KEY": "a-secret-key"}


def test_people_see_what_is_here_and_how_to_get_the_rest(cli: Cli, template: Path, bare: dict[str, str]) -> None:
    done = cli("doctor", "--harness", template, env=bare)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert next(line for line in lines if line.startswith("scripted ")).split()[:3] == [
        "scripted",
        "1.2.3",
        "SCRIPTED_API_KEY",
    ]
    assert "Ready: scripted." in lines
    assert any(line.startswith("codex: not installed") and "npm install -g @openai/codex" in line for line in lines)
    assert "a-secret-key" not in done.stdout


def test_the_document_holds_the_same_and_probes(cli: Cli, template: Path, bare: dict[str, str]) -> None:
    words = (
        "doctor",
        "--json",
        "--harness",
        template,
        "--probe",
        "--route",
        "scripted:able",
        "--route",
        "scripted:other",
    )
    done = cli(*words, env=bare)
    assert done.returncode == 1, done.stderr  # one pair does not work
    document = json.loads(done.stdout)
    assert [finding["harness"] for finding in document["harnesses"]] == ["scripted"]
    assert [(row["route"], row["works"]) for row in document["probes"]] == [
        ("scripted:able", True),
        ("scripted:other", False),
    ]
    assert "a-secret-key" not in done.stdout + done.stderr
    assert cli(*words[:-2], env=bare).returncode == 0


def test_a_probe_needs_pairs_and_known_harnesses(refused: Refused) -> None:
    assert "name them with --route harness:model or --pool FILE" in refused("doctor", "--probe", code=2)
    assert "harness 'codexx' is not known; did you mean 'codex'?" in refused(
        "doctor", "--probe", "--route", "codexx:gpt-5", code=2
    )


def test_a_wrong_file_is_named(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("nmae = 1")
    assert "bad.toml: a harness file has no key 'nmae'" in refused("doctor", "--harness", "bad.toml")
