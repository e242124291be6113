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
    for word in ("1. ", "started %", "so far %", "cost so far"):
        assert word in done.stdout


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
        (["--cost-weight", "1", "--budget", "1"], 2, "cost_weight and budget say two different things"),
        (["--target", "0.9", "--budget", "0.001"], 1, "within $0.001; the cheapest that does costs about"),
        (["--target", "1"], 1, "no plan of at most 3 attempts reaches 100%"),
        (["--budget", "0.0001"], 1, "no attempt costs at most $0.0001"),
        (["--false-pass", "0.6", "--false-fail", "0.5"], 2, "tells no more than a coin"),
        (["--k", "0"], 2, "0 attempts are not from 1 to 10"),
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
