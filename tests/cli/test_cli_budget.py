"""`hmrouter route` with a budget, and what it shows of costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
Refused = Callable[..., str]


def test_a_budget_turns_into_a_weight(folder: Path, inside: Cli) -> None:
    """Four routes of 10 to 40 cents and equal success: within 25 cents the cheapest, with no weight at all."""
    done = inside("route", "Fix the login", "--budget-per-task", "0.25", "--json")
    shown = json.loads(done.stdout)
    assert (done.stderr, shown["budget_per_task"]) == ("", 0.25)
    assert shown["spend_per_task"] <= 0.25
    assert shown["cost"] <= 0.25
    assert shown["cost_interval"][0] < shown["cost"] < shown["cost_interval"][1]
    words = inside("explain", "-", input=done.stdout).stdout
    assert "A budget of $0.25 per task asks for a cost weight of " in words
    assert "90% interval of the expected cost: $0." in words


def test_people_see_the_weight_and_the_intervals(folder: Path, inside: Cli) -> None:
    done = inside("route", "Fix the login", "--budget-per-task", "0.25")
    assert done.stderr.startswith("budget of $0.25 per task: cost weight ")
    assert " on average\n" in done.stderr
    assert "90% of" in done.stdout
    (row,) = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["codex:gpt-5"]]
    low, high = row[3].split("-")
    assert row[2] == "$0.10"
    assert float(low) <= 0.1 <= float(high)


REFUSALS: dict[str, tuple[list[str], int, str]] = {
    "too small": (
        ["--budget-per-task", "0.01"], 1,
        "no choice keeps to a budget of $0.01 per task: the cheapest, mostly codex:gpt-5, cost about $0.10",
    ),
    "and a weight": (
        ["--budget-per-task", "1", "--cost-weight", "2"], 2,
        "--cost-weight 2.0 contradicts a budget of $1.00 per task",
    ),
    "no number": (["--budget-per-task", "nan"], 2, "--budget-per-task nan is not a finite number of at least 0"),
    "and a cap that leaves nothing": (
        ["--budget-per-task", "1", "--max-cost", "0.01"], 1, "no route of 4 costs at most $0.01 per task; the cheapest"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "code", "says"), REFUSALS.values(), ids=REFUSALS.keys())
def test_one_clear_line(folder: Path, refused: Refused, options: list[str], code: int, says: str) -> None:
    assert says in refused("route", "Fix the login", *options, code=code)


def test_without_any_cost_there_is_no_budget(tmp_path: Path, inside: Cli, refused: Refused) -> None:
    (tmp_path / "runs.csv").write_text("task,model,harness,score\na,gpt-5,codex,1\n")
    inside("import", "runs.csv")
    inside("train", "--scorer", "fixed")
    assert "none of the 1 routes has a known cost" in refused("route", "x", "--budget-per-task", "1")
