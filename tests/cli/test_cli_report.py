"""`route --record`, `plan --record`, `report` and `decisions`: from a decision to an outcome that training uses."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest

from hmrouter.store import OutcomeStore

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


def recorded(done: CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("recorded ")]
    return line.split()[1].rstrip(";")


def scores(folder: Path) -> list[tuple[float | None, int, str]]:
    with OutcomeStore(f"sqlite:///{folder / 'hmrouter.db'}") as store:
        return [(o.score, o.attempt, str(o.route)) for o in store.outcomes() if o.source == "hmrouter"]


def test_a_report_becomes_an_outcome_that_training_learns_from(folder: Path, cli: Cli) -> None:
    made = recorded(cli("route", "Fix the login", "--record", "--top", "1", "--deny", "harness=aider"))
    assert uuid.UUID(made).version == 7
    shown = json.loads(cli("decisions", "--json").stdout)
    assert shown["counts"] == {"decisions": 1, "open": 1, "open_share": 1.0}
    (decision,) = shown["decisions"]
    assert [c["propensity"] for c in decision["candidates"]] == [1.0, *[0.0] * (len(decision["candidates"]) - 1)]
    assert len(decision["candidates"]) > 1  # all of them, not the ones shown
    done = cli("report", made, "--score", "1", "--cost", "0.42", "--seconds", "30", "--source", "ci")
    assert done.stdout == f"Reported on {made}.\n"
    assert (
        "Known already"
        in cli("report", made, "--score", "1", "--cost", "0.42", "--seconds", "30", "--source", "ci").stdout
    )
    before = json.loads(cli("train", "--json", "--out", "new.hmr").stdout)["outcomes"]
    assert before == 24 * 4 + 1
    assert "revision 2" in cli("report", made, "--score", "0", "--note", "reverted").stdout
    assert [s for s, _, _ in scores(folder)] == [0.0]
    assert json.loads(cli("train", "--json", "--out", "new.hmr").stdout)["outcomes"] == before
    one = cli("decisions", made).stdout
    assert "1 of 2" in one
    assert "2 of 2" in one
    assert one.endswith("1 decision, 0 without an outcome (0.0%).\n")


def test_a_plan_is_reported_attempt_by_attempt(folder: Path, cli: Cli) -> None:
    made = recorded(cli("plan", "Fix the parser", "--record", "--k", "3"))
    refused = cli("report", made, "--score", "0")
    assert (refused.returncode, refused.stderr) == (
        2, "error: a plan has several attempts; say which one with --attempt\n",
    )  # fmt: skip
    first = cli("report", made, "--attempt", "1", "--score", "0", "--cost", "0.1")
    assert "Next attempt of the plan, number 2: " in first.stdout
    second = json.loads(cli("report", made, "--attempt", "2", "--score", "1", "--json").stdout)
    assert (second["counted"], second["next_attempt"]) == (True, None)
    assert sorted((score, attempt) for score, attempt, _ in scores(folder)) == [(0.0, 1), (1.0, 2)]


def test_another_route_than_the_decided_one_may_have_been_executed(folder: Path, cli: Cli) -> None:
    made = recorded(cli("route", "Fix the login", "--record"))
    cli("report", made, "--score", "1", "--route", "Claude Code:anthropic/claude-opus-4.5")
    assert [route for *_, route in scores(folder)] == ["claude-code:claude-opus-4-5"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing", "--score", "1"], "decision 'nothing' is not in store"),
        (["{made}"], "a report needs a score"),
        (["{made}", "--score", "2"], "score 2.0 is outside 0 to 1"),
        (["{made}", "--score", "1", "--attempt", "2"], "--attempt 2 is for plans"),
        (["{made}", "--score", "1", "--route", "codex"], "'codex' is not a route"),
    ],
)
def test_a_wrong_report_is_refused_in_a_line_and_changes_nothing(
    folder: Path, cli: Cli, words: list[str], said: str
) -> None:
    made = recorded(cli("route", "Fix the login", "--record"))
    done = cli("report", *(word.format(made=made) for word in words))
    assert done.returncode in (1, 2)
    assert done.stderr.startswith(f"error: {said}"), done.stderr
    assert scores(folder) == []
