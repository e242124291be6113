"""`hmrouter route` with a router that is older than the store, and with an incumbent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.router import Router

Cli = Callable[..., Any]
QUESTION = ("route", "Fix the login")


@pytest.fixture(autouse=True)
def any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not a terminal has no width, unless the environment says one."""
    monkeypatch.delenv("COLUMNS", raising=False)


def more(folder: Path, inside: Cli, suite: str = "default", trials: int = 1, store: str = "") -> None:
    """Import three outcomes more."""
    rows = [f"{suite},new{i},gpt-5,codex,1,{trials}" for i in range(3)]
    (folder / "more.csv").write_text("suite,task,model,harness,score,n_trials\n" + "\n".join(rows) + "\n")
    assert inside("import", "more.csv", *(["--store", store] if store else [])).returncode == 0


def test_a_router_that_is_older_than_the_store_says_so(folder: Path, inside: Cli) -> None:
    assert inside(*QUESTION).stderr == ""
    more(folder, inside)
    note = (
        "note: router.hmr was trained on 96 outcomes, the store now has 99; train again with: "
        "hmrouter train --scorer knn\n"
    )
    assert inside(*QUESTION).stderr == note
    done = inside(*QUESTION, "--json")
    assert (done.stderr, json.loads(done.stdout)["scorer"]) == (note, "knn")
    assert inside("train", "--history", "none").returncode == 0
    assert inside(*QUESTION).stderr == ""


def test_the_command_that_it_names_makes_the_note_go(folder: Path, inside: Cli) -> None:
    store = f"sqlite:///{folder / 'own store.db'}"
    (folder / "hmrouter.db").rename(folder / "own store.db")
    (folder / "router.hmr").rename(folder / "own.hmr")
    more(folder, inside, store=store)
    more(folder, inside, suite="other", store=store)
    asked = (*QUESTION, "--router", "own.hmr", "--store", store)
    note = inside(*asked).stderr
    again = f"hmrouter train --store '{store}' --suite default --scorer knn --out own.hmr"
    assert note == f"note: own.hmr was trained on 96 outcomes, the store now has 99; train again with: {again}\n"
    assert (
        inside("train", "--store", store, "--suite", "default", "--scorer", "knn", "--out", "own.hmr").returncode == 0
    )
    assert inside(*asked).stderr == ""


def test_other_suites_do_not_make_it_old(folder: Path, inside: Cli) -> None:
    more(folder, inside, suite="other")
    assert inside(*QUESTION).stderr == ""


def test_rows_that_stand_for_no_run_or_for_several_are_counted_as_training_does(tmp_path: Path, inside: Cli) -> None:
    more(tmp_path, inside, trials=0)
    assert inside("train", "--scorer", "fixed").returncode == 0
    assert Router.load(tmp_path / "router.hmr").report_.outcomes == 0
    assert inside(*QUESTION).stderr == ""
    (tmp_path / "many.csv").write_text("task,model,harness,score,n_trials\nz,gpt-5,codex,0.5,8\n")
    assert inside("import", "many.csv").returncode == 0
    assert "was trained on 0 outcomes, the store now has 8; " in inside(*QUESTION).stderr


def test_outcomes_that_the_router_observed_are_not_new_to_it(folder: Path, inside: Cli) -> None:
    router = Router.load(folder / "router.hmr")
    for i in range(3):
        router.observe(router.route(f"new {i}").outcome(1.0))
    router.save(folder / "router.hmr")
    more(folder, inside)
    assert inside(*QUESTION).stderr == ""


@pytest.mark.parametrize("damage", ["gone", "no store", "a folder", "elsewhere", "no address", "no server"])
def test_a_store_that_cannot_be_read_is_no_reason_to_fail(folder: Path, inside: Cli, damage: str) -> None:
    file = folder / "hmrouter.db"
    file.unlink()
    if damage == "no store":
        file.write_text("no database")
    elif damage == "a folder":
        file.mkdir()
    server = "postgresql://me@127.0.0.1:1/runs"
    address = {"elsewhere": "sqlite:///no.db", "no address": "no.db", "no server": server}.get(damage)
    before = sorted(path.name for path in folder.iterdir())
    done = inside(*QUESTION, *(["--store", address] if address else []))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in folder.iterdir()) == before


# -- the incumbent ----------------------------------------------------------------------------------------------------


def verdict(done: Any) -> str:
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("The incumbent ")]
    return str(line)


def test_an_incumbent_stays_or_goes_with_a_reason(folder: Path, inside: Cli) -> None:
    """All four do equally well; by their cost they differ."""
    home = ("--incumbent", "aider:gpt-5", "--top", "1")
    assert verdict(inside(*QUESTION, "--incumbent", "codex:gpt-5")) == (
        "The incumbent codex:gpt-5 stays: no candidate ranks above it."
    )
    stays = inside(*QUESTION, *home, "--cost-weight", "0.1")
    assert verdict(stays) == (
        "The incumbent aider:gpt-5 stays: no candidate is better by the margin of 0.02 (codex:gpt-5 is ahead by 0.010)."
    )
    assert stays.stdout.startswith("Route: aider:gpt-5\n")
    assert "codex:gpt-5 " not in stays.stdout.partition("The incumbent")[0]  # --top 1
    assert verdict(inside(*QUESTION, *home, "--cost-weight", "0.1", "--margin", "0.005")) == (
        "The incumbent aider:gpt-5 was left: the choice is better by 0.010, the margin is 0.005."
    )
    assert verdict(inside(*QUESTION, *home, "--max-cost", "0.15")) == (
        "The incumbent aider:gpt-5 was left: it is ruled out (over --max-cost)."
    )
    assert len(json.loads(inside(*QUESTION, *home, "--json").stdout)["ranked"]) == 1


def test_where_the_scorer_can_tell_how_sure_it_is_that_is_told(folder: Path, inside: Cli) -> None:
    assert inside("train", "--history", "none").returncode == 0
    line = verdict(inside(*QUESTION, "--incumbent", "claude-code:claude-opus-4-5", "--cost-weight", "0.01"))
    assert line.startswith("The incumbent claude-code:claude-opus-4-5 stays: ")
    assert "with a probability of at least 80%" in line or "ranks above" in line
