"""A log that comes again: renamed, grown, corrected, under other names; and taking an import back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

HEADER = "task,model,harness,score,cost\n"
ROWS = "".join(f"t{i},GPT-5,Codex,{i % 2},{0.1 + i / 100:.2f}\n" for i in range(10))
CORRECTED = ROWS.replace("t0,GPT-5,Codex,0,0.10", "t0,GPT-5,Codex,1,0.25")


@pytest.fixture
def runs(tmp_path: Path, inside: Cli) -> Path:
    """A table that was imported."""
    path = tmp_path / "runs.csv"
    path.write_text(HEADER + ROWS)
    assert inside("import", "runs.csv").returncode == 0
    return path


def kept(folder: Path) -> list[Outcome]:
    with OutcomeStore(f"sqlite:///{folder / 'hmrouter.db'}", create=False) as store:
        return list(store.outcomes())


def first_of(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.splitlines()[0]


def test_a_renamed_file_adds_nothing_and_says_so(runs: Path, inside: Cli) -> None:
    runs.rename(runs.with_name("final (1).csv"))
    done = inside("import", "final (1).csv")
    assert first_of(done).startswith("final (1).csv: 10 outcomes, 0 new, 10 known already")
    assert done.stderr == (
        "note: final (1).csv was imported as runs before: its rows are known by what they say. "
        "If they are other executions: --run NAME\n"
    )
    again = inside("import", "final (1).csv", "--run", "second")
    assert first_of(again).startswith("final (1).csv: 10 outcomes, 10 new")


def test_a_grown_file_adds_what_is_new(runs: Path, inside: Cli) -> None:
    runs.write_text(HEADER + ROWS + "t99,GPT-5,Codex,1,0.5\n")
    done = inside("import", "runs.csv")
    assert first_of(done).startswith("runs.csv: 11 outcomes, 1 new, 10 known already")
    assert done.stderr == ""


def test_a_corrected_file_needs_replace_which_needs_a_yes(
    runs: Path, tmp_path: Path, inside: Cli, refused: Callable[..., str]
) -> None:
    runs.write_text(HEADER + CORRECTED)
    said = inside("import", "runs.csv").stderr
    assert "these stay: t0 on codex:gpt-5: score 0 -> 1, cost 0.1 -> 0.25. To take the new ones: --replace" in said
    assert "give --yes" in refused("import", "runs.csv", "--replace", code=2)
    assert {o.score for o in kept(tmp_path) if o.task.id == "t0"} == {0.0}
    done = inside("import", "runs.csv", "--replace", "--yes")
    assert done.stdout.splitlines()[:2] == [
        "runs.csv: 10 outcomes, 0 new, 10 known already, 1 replaced (csv: 10 tasks on 1 route, 100.0% of the grid)",
        "  t0 on codex:gpt-5: score 0 -> 1, cost 0.1 -> 0.25",
    ]
    assert [(o.score, o.cost) for o in kept(tmp_path) if o.task.id == "t0"] == [(1.0, 0.25)]
    assert inside("import", "runs.csv").stderr == ""


@pytest.mark.parametrize(("answer", "score"), [("y\n", 1.0), ("n\n", 0.0)])
def test_a_person_sees_what_changes_before_it_does(
    runs: Path, tmp_path: Path, terminal: Callable[..., Any], answer: str, score: float
) -> None:
    runs.write_text(HEADER + CORRECTED)
    session = terminal("import", "runs.csv", "--replace", at=["stdin", "stderr"], typed=answer)
    assert "runs.csv changes 1 outcome:\r\n  t0 on codex:gpt-5: score 0 -> 1, cost 0.1 -> 0.25" in session.screen
    assert session.code == (0 if score else 1)
    assert {o.score for o in kept(tmp_path) if o.task.id == "t0"} == {score}


def test_other_names_add_nothing_and_hold_for_the_past(runs: Path, tmp_path: Path, inside: Cli) -> None:
    (tmp_path / "own.toml").write_text('[models]\nour-model = ["GPT-5"]\n')
    done = inside("import", "runs.csv", "--names", "own.toml")
    assert first_of(done).startswith("runs.csv: 10 outcomes, 0 new, 10 known already")
    assert {str(outcome.route) for outcome in kept(tmp_path)} == {"codex:our-model"}
    # The store remembers them for files that come without.
    (tmp_path / "more.csv").write_text(HEADER + "t50,gpt-5,Codex,1,0.5\n")
    inside("import", "more.csv")
    assert {str(outcome.route) for outcome in kept(tmp_path)} == {"codex:our-model"}


def test_names_can_be_applied_to_all_that_was_imported(runs: Path, tmp_path: Path, inside: Cli) -> None:
    (tmp_path / "own.toml").write_text('[models]\nour-model = ["GPT-5"]\n')
    done = inside("names", "apply", "own.toml")
    assert done.stdout == "Model 'GPT-5' was 'gpt-5' and is 'our-model' now.\nNext: hmrouter train\n"
    assert {str(outcome.route) for outcome in kept(tmp_path)} == {"codex:our-model"}
    (shown,) = json.loads(inside("names", "--json").stdout)["models"]
    assert (shown["name"], shown["spelled"]) == ("our-model", ["GPT-5"])
    assert "GPT-5" in inside("names").stdout
    assert json.loads(inside("names", "apply", "own.toml", "--json").stdout)["changed"] == []


def test_verdicts_that_resemble_a_file_are_other_executions_and_said_to_be(tmp_path: Path, inside: Cli) -> None:
    header = "task,model,harness,score\n"
    (tmp_path / "monday.csv").write_text(header + "".join(f"t{i},m,h,{int(i % 5 > 0)}\n" for i in range(50)))
    (tmp_path / "tuesday.csv").write_text(header + "".join(f"t{i},m,h,{int(i % 6 > 0)}\n" for i in range(50)))
    done = inside("import", "monday.csv", "tuesday.csv")
    assert "tuesday.csv: 50 outcomes, 50 new" in done.stdout
    assert (
        "note: tuesday.csv resembles monday (35 rows identical, 15 not) and counts as other executions" in done.stderr
    )


def test_undo_takes_the_last_import_back(runs: Path, tmp_path: Path, inside: Cli, refused: Callable[..., str]) -> None:
    before = kept(tmp_path)
    runs.write_text(HEADER + CORRECTED + "t99,o3,aider,1,0.5\n")
    (tmp_path / "more.csv").write_text(HEADER + "t98,GPT-5,Codex,1,0.7\n")
    inside("import", "runs.csv", "more.csv", "--replace", "--yes")
    assert len(kept(tmp_path)) == 12
    assert inside("import", "runs.csv").returncode == 0  # adds nothing, so there is nothing of it to undo
    done = json.loads(inside("store", "undo", "--yes", "--json").stdout)
    assert done == {
        "schema": "hmrouter.store-undo/1",
        "import": "runs.csv more.csv",
        "outcomes": 2,
        "restored": 1,
        "tasks": 2,
        "routes": 1,
    }
    assert kept(tmp_path) == before
    assert inside("store", "undo", "--yes").stdout.startswith("Undid the import of runs.csv (")
    assert kept(tmp_path) == []
    assert "has no import that could be undone; forget a run instead" in refused("store", "undo", "--yes", code=2)


@pytest.mark.usefixtures("runs")
def test_undo_asks(refused: Callable[..., str], inside: Cli) -> None:
    assert "whether to undo import of runs.csv" in refused("store", "undo", code=2)
    assert "Example" in inside("store", "undo", "--help").stdout


def test_an_export_comes_back_with_its_spellings(runs: Path, tmp_path: Path, inside: Cli) -> None:
    inside("store", "export", "backup.jsonl")
    inside("import", "backup.jsonl", "--store", "sqlite:///other.db")
    done = inside("import", "runs.csv", "--store", "sqlite:///other.db")
    assert first_of(done).startswith("runs.csv: 10 outcomes, 0 new, 10 known already")
