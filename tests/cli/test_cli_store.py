"""`hmrouter store`: status, forgetting, settings."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hmrouter.store import OutcomeStore, SuiteSettings
from hmrouter.types import Outcome, Route, Task

COMMAND = Path(sys.executable).with_name("hmrouter")
Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Refused = Callable[..., str]
Terminal = Callable[..., Any]


def content(store: OutcomeStore) -> list[tuple[Outcome, Any]]:
    with store:
        return [(outcome, outcome.task.meta) for outcome in store.outcomes()]  # `==` of tasks leaves meta out


WRONG = {
    "unknown run": (["forget", "r9", "--yes"], 2, "run 'r9' is not in store"),
    "unknown source": (["forget", "r1", "--source", "job", "--yes"], 2, "did you mean 'jobs'?"),
    "nobody to ask": (["forget", "r1"], 2, "nobody is there to ask whether to forget run r1 of jobs: 6 outcomes on 2"),
    "nobody to ask about texts": (
        ["drop-texts", "--older-than", "0", "--suite", "one"], 2,
        "nobody is there to ask whether to drop the texts of all tasks of suite one; sqlite:///hmrouter.db holds 7 "
        "texts; give --yes",
    ),
    "nothing to set": (["set", "one"], 2, "nothing to set; give --half-life DAYS or --text-days DAYS"),
    "no number": (["set", "one", "--half-life", "soon"], 2, "--half-life 'soon' is neither a number of days nor off"),
    "no half-life": (["set", "one", "--half-life", "0"], 2, "--half-life 0 would leave no evidence"),
    "negative": (["set", "one", "--text-days", "-1"], 2, "--text-days -1.0 is not a number of days of at least 0"),
    "endless": (["drop-texts", "--older-than", "inf"], 2, "--older-than inf is not a number of days of at least 0"),
    "unknown suite": (["set", "on", "--half-life", "9"], 2, "did you mean 'one'?"),
    "unknown suite of texts": (["drop-texts", "--older-than", "0", "--suite", "on"], 2, "did you mean 'one'?"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_done_is_one_clear_line(
    tmp_path: Path, store: OutcomeStore, refused: Refused, arguments: list[str], code: int, says: str
) -> None:
    (tmp_path / "folder.csv").mkdir()
    before = content(store)
    assert says in refused("store", *arguments, code=code)
    assert content(store) == before


@pytest.mark.parametrize(
    "command",
    ["status", "vacuum", "export x.csv", "forget r --yes", "set s --half-life 1", "drop-texts --older-than 1"],
)
def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, refused: Refused, command: str) -> None:
    assert "store sqlite:///hmrouter.db does not exist" in refused("store", *command.split())
    assert list(tmp_path.iterdir()) == []


def test_status(store: OutcomeStore, cli: Cli, inside: Cli) -> None:
    inside("store", "set", "one", "--half-life", "90")
    done = cli("store", "status")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0].startswith("sqlite:///hmrouter.db, ")
    assert lines[1:6] == [
        "The store holds 16 outcomes of 8 tasks on 2 routes in 2 suites; 100.0% of the grid is filled.",
        "Texts: 7 of 8 tasks.",
        "Cost: 50.0% reported, 50.0% recomputed from tokens.",
        "Status: 4 infra_error, 8 ok, 4 unknown.",
        "From 2026-01-31 to 2026-02-07.",
    ]
    assert "one 8 90 days ever" in lines
    assert "two,three 8 off ever" in lines
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert f"jobs r2 one, two,three 4 2 2026-02-02 2026-02-05 {today}" in lines


def test_the_document_of_status(store: OutcomeStore, inside: Cli) -> None:
    report = json.loads(inside("store", "status", "--json").stdout)
    assert (report["store"], report["outcomes"], report["cells"], report["density"]) == (
        "sqlite:///hmrouter.db", 16, 16, 1.0,
    )  # fmt: skip
    assert (report["first"], report["last"]) == ("2026-01-31T12:00:00.123456+00:00", "2026-02-07T12:00:00.123456+00:00")
    assert [(run["source"], run["run"], run["outcomes"]) for run in report["runs"]] == [
        ("jobs", "r0", 6), ("jobs", "r1", 6), ("jobs", "r2", 4),
    ]  # fmt: skip
    assert report["bytes"] > 0
    assert report["settings"] == {}


def test_forget_a_run(store: OutcomeStore, inside: Cli) -> None:
    done = inside("store", "forget", "r1", "--yes", "--json")
    gone = {"schema": "hmrouter.store-forget/1", "run": "r1", "outcomes": 6, "tasks": 3, "routes": 0}
    assert json.loads(done.stdout) == gone
    assert {outcome.run for outcome, _ in content(store)} == {"r0", "r2"}
    assert "run 'r1' is not in store" in inside("store", "forget", "r1", "--yes").stderr
    assert inside("store", "vacuum").stdout.startswith("sqlite:///hmrouter.db: ")
    sizes = json.loads(inside("store", "vacuum", "--json").stdout)
    assert 0 < sizes["bytes_after"] <= sizes["bytes_before"]


def test_a_run_id_of_two_sources_needs_the_source(store: OutcomeStore, inside: Cli, refused: Refused) -> None:
    with store:
        store.add([Outcome(Task("x"), Route("gpt-5", "codex"), 1.0, source="other", run="r1")])
    assert "run 'r1' is in the sources jobs, other" in refused("store", "forget", "r1", "--yes", code=2)
    assert inside("store", "forget", "r1", "--source", "other", "--yes").returncode == 0
    assert {(o.source, o.run) for o, _ in content(store)} == {("jobs", "r0"), ("jobs", "r1"), ("jobs", "r2")}


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, {"r0", "r2"}), ("n\n", 1, {"r0", "r1", "r2"})])
def test_a_person_is_asked(store: OutcomeStore, terminal: Terminal, answer: str, code: int, left: set[str]) -> None:
    done = terminal("store", "forget", "r1", at=["stdin"], typed=answer)
    assert done.code == code, done.stderr
    assert "To be forgotten: run r1 of jobs: 6 outcomes on 2 routes, suites: one, two,three" in done.stderr
    assert {outcome.run for outcome, _ in content(store)} == left


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 7)])
def test_a_person_is_asked_about_texts(
    store: OutcomeStore, terminal: Terminal, answer: str, code: int, left: int
) -> None:
    done = terminal("store", "drop-texts", "--older-than", "0", at=["stdin"], typed=answer)
    assert done.code == code, done.stderr
    assert "To be dropped: the texts of all tasks; sqlite:///hmrouter.db holds 7 texts" in done.stderr
    assert len({outcome.task.key for outcome, _ in content(store) if outcome.task.text}) == left


def test_settings_of_a_suite(store: OutcomeStore, inside: Cli) -> None:
    done = inside("store", "set", "one", "--half-life", "90", "--text-days", "30")
    assert done.stdout == "Suite 'one': outcomes count half after 90 days, texts are kept for 30 days.\n"
    with store:
        assert store.suite_settings() == {"one": SuiteSettings(90.0, 30.0)}
    done = inside("store", "set", "one", "--half-life", "off", "--json")
    kept = {"schema": "hmrouter.store-set/1", "suite": "one", "half_life_days": None, "text_days": 30.0}
    assert json.loads(done.stdout) == kept
    done = inside("store", "set", "one", "--text-days", "OFF")
    assert done.stdout == "Suite 'one': outcomes do not fade, texts are kept for ever.\n"


def test_texts_can_be_dropped(store: OutcomeStore, inside: Cli) -> None:
    assert json.loads(inside("store", "drop-texts", "--older-than", "1", "--yes", "--json").stdout)["dropped"] == 0
    done = inside("store", "drop-texts", "--older-than", "0", "--suite", "one", "--yes")
    assert done.stdout == "Dropped the texts of 4 tasks.\n"
    assert {bool(o.task.text) for o, _ in content(store) if o.task.suite == "one"} == {False}
    assert any(o.task.text for o, _ in content(store) if o.task.suite != "one")


@pytest.mark.parametrize("command", ["status", "export", "forget", "vacuum", "set", "drop-texts"])
def test_help_has_an_example(inside: Cli, command: str) -> None:
    done = inside("store", command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Examples: hmrouter store {command}" in " ".join(done.stdout.split())
    assert "--json" in done.stdout
    assert "--store" in done.stdout


def test_status_fits_a_screen_and_all_shows_the_rest(
    tmp_path: Path, inside: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [f"suite{i},run{i:02},t{i},gpt-5,codex,1" for i in range(30)]
    (tmp_path / "many.csv").write_text("suite,run,task,model,harness,score\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    assert inside("import", "many.csv").returncode == 0
    short, whole = (inside("store", "status", *more).stdout for more in ([], ["--all"]))
    assert len(short.splitlines()) <= 26
    assert max(map(len, short.splitlines()[2:])) <= 80
    assert "Suites: 4 of 30, the others with --all" in short
    assert "Runs: 5 of 30, the others with --all" in short
    assert short.count("run0") + short.count("run1") + short.count("run2") == 5
    assert all(f"suite{i} " in whole and f"run{i:02}" in whole for i in range(30))
    assert "with --all" not in whole
