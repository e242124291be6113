"""`hmrouter plan`, in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


def test_a_plan_shows_each_attempt_and_what_the_plan_comes_to(folder: Path, cli: Cli) -> None:
    done = cli("plan", "Fix the login", "--cost-weight", "0.1")
    assert done.returncode == 0
    assert done.stdout.startswith("Plan: ")
    for word in ("1. ", "own", "started", "alone", "so far"):
        assert word in done.stdout
    assert "never" not in done.stdout
    assert "~" not in done.stdout  # all costs are those of own runs
    assert done.stderr == ""


RUNS = """task,model,harness,score,cost
T-1,claude-opus-4-5,claude-code,1,0.84
T-1,gpt-5,codex,0,0.31
T-2,gpt-5,codex,1,0.22
"""


def test_few_own_runs_are_told_and_guesses_are_marked(
    tmp_path: Path, inside: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "runs.csv").write_text(RUNS)
    assert inside("import", "runs.csv").returncode == 0
    done = inside("plan", "Fix the login", "--budget", "1")
    assert "this rests on 3 own runs, public evidence (" in done.stderr
    assert "note: 3 own runs of 2 tasks are few: how tasks differ in difficulty" in done.stderr
    title, *rows = done.stdout.splitlines()
    assert " success for ~$" in title
    assert any(" never " in row and " ~$" in row for row in rows)
    inside("train")
    done = inside("plan", "Fix the login")
    assert ["1.", "codex:gpt-5", "2", "100.0"] in [row.split()[:4] for row in done.stdout.splitlines()]
    assert "~" not in done.stdout


def test_what_is_hardly_ever_started_is_not_in_the_table(tmp_path: Path, inside: Cli) -> None:
    rows = [f"T-{i},{pair},1,0.1" for i in range(60) for pair in ("gpt-5,codex", "gpt-5,aider")]
    (tmp_path / "runs.csv").write_text("\n".join(["task,model,harness,score,cost", *rows]))
    inside("import", "runs.csv")
    inside("train", "--history", "none")
    plan = json.loads(inside("plan", "--json").stdout)
    assert plan["attempts"][1]["reached"] < 0.005
    done = inside("plan")
    first = plan["attempts"][0]
    assert done.stdout.startswith(f"Plan: {100 * first['plan_success']:.1f}% success for $0.10 with 1 attempt at most")
    assert "2. " not in done.stdout
    assert done.stderr == "not shown: 1 attempt more, started in less than 0.5% of cases (--json)\n"


def test_json_is_one_document_with_every_prefix(folder: Path, inside: Cli) -> None:
    wrong = ("--false-pass", "0.05", "--false-fail", "0.1")
    done = inside("plan", "Fix the login", "--budget", "0.5", "--k", "2", *wrong, "--json")
    plan = json.loads(done.stdout)
    assert plan["routes"] == [a["route"] for a in plan["attempts"]]
    assert 1 <= len(plan["attempts"]) <= 2
    assert plan["cost"] == plan["attempts"][-1]["plan_cost"] <= 0.5
    assert plan["success"] == plan["attempts"][-1]["plan_success"]
    assert (plan["budget"], plan["false_pass"], plan["false_fail"], plan["target"]) == (0.5, 0.05, 0.1, None)
    assert plan["attempts"][0].keys() >= {"route", "reached", "success", "cost", "plan_interval", "plan_cost_interval"}


def test_a_plan_keeps_to_its_constraints(folder: Path, inside: Cli) -> None:
    done = inside("plan", "Fix the login", "--allow", "harness=codex", "--max-cost", "0.2", "--json")
    plan = json.loads(done.stdout)
    assert {a["harness"] for a in plan["attempts"]} == {"codex"}
    assert all(a["cost"] <= 0.2 for a in plan["attempts"])
    reached = json.loads(inside("plan", "--target", "0.8", "--json").stdout)
    assert reached["success"] >= 0.8


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["--cost-weight", "1", "--budget", "1"], 2, "--cost-weight 1.0 and a budget say two different things"),
        (["--target", "0.9", "--budget", "0.001"], 1, "within $0.001; the cheapest that does costs about"),
        (["--target", "1"], 1, "no plan of at most 3 attempts reaches 100%"),
        (["--budget", "0.0001"], 1, "no attempt costs at most $0.0001"),
        (["--false-pass", "0.6", "--false-fail", "0.5"], 2, "tells no more than a coin"),
        (["--k", "0"], 2, "--k 0 is not a number from 1 to 10"),
        (["--router", "nowhere.hmr"], 1, "there is no router file nowhere.hmr"),
    ],
)
def test_what_cannot_be_planned_is_one_clear_line(
    folder: Path, refused: Callable[..., str], arguments: list[str], code: int, line: str
) -> None:
    assert line in refused("plan", "Fix the login", *arguments, code=code)


def test_without_a_router_file_public_results_have_a_say(inside: Cli) -> None:
    done = inside("plan", "Fix the login", "--allow", "harness=codex", "--json")
    assert done.returncode == 0
    assert "there is no router file" in done.stderr
    assert json.loads(done.stdout)["success"] > 0


def test_standard_input_is_a_task(folder: Path, inside: Cli) -> None:
    given = json.loads(inside("plan", "-", "--json", input="Fix the parser\n").stdout)
    assert given["task"]["text"] == "Fix the parser"
