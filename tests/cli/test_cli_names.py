"""`hmrouter names`: what is in the store, what looks alike, merging and splitting."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Refused = Callable[..., str]

ROUTES = [("kimi-2-5", "codex"), ("kimi-k2-5", "codex"), ("kimi-k2-5", "codx"), ("our-own", "claude-code")]


@pytest.fixture
def store(tmp_path: Path) -> OutcomeStore:
    store = OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}")
    with store:
        store.add([Outcome(Task(f"t{i}"), Route(*route), 1.0, run="r1") for i in range(3) for route in ROUTES])
    return store


def models(store: OutcomeStore) -> set[str]:
    with store:
        return {outcome.route.model for outcome in store.outcomes()}


def rows(output: str) -> list[str]:
    return [" ".join(line.split()) for line in output.splitlines()]


def test_names_are_shown_with_what_they_look_like(store: OutcomeStore, cli: Cli) -> None:
    done = cli("names")
    assert (done.returncode, done.stderr) == (0, "")
    assert [row for row in rows(done.stdout) if " known" in row or " new" in row] == [
        "kimi-2-5 3 known kimi-k2-5",
        "kimi-k2-5 6 known kimi-2-5",
        "our-own 3 new",
        "claude-code 3 known",
        "codex 6 known codx",
        "codx 3 new codex",
    ]
    assert done.stdout.splitlines()[-1].startswith("To count two as one: hmrouter names merge")


def test_the_document(store: OutcomeStore, inside: Cli, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("[models]\nour-own = []\n")
    report = json.loads(inside("names", "--json", "--names", "own.toml").stdout)
    assert list(report) == ["schema", "models", "harnesses"]
    assert report["models"][0] == {
        "name": "kimi-2-5", "outcomes": 3, "known": True, "merged_into": None, "looks_like": ["kimi-k2-5"],
        "spelled": [],
    }  # fmt: skip
    assert [row["known"] for row in report["models"]] == [True, True, True]


def test_a_new_name_may_look_like_one_that_is_not_in_the_store(tmp_path: Path, inside: Cli) -> None:
    with OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}") as store:
        store.add([Outcome(Task("t"), Route("gtp-5", "openhand"), 1.0)])
    report = json.loads(inside("names", "--json").stdout)
    assert report["models"][0]["looks_like"] == ["gpt-5"]
    assert report["harnesses"][0]["looks_like"] == ["openhands"]


def test_a_merge_counts_two_as_one_until_it_is_split(store: OutcomeStore, inside: Cli) -> None:
    done = inside("names", "merge", "model", "kimi-2-5", "kimi-k2-5")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Model 'kimi-2-5' (3 outcomes) counts as 'kimi-k2-5' from now on")
    assert "hmrouter names split model kimi-2-5" in done.stdout
    assert models(store) == {"kimi-k2-5", "our-own"}
    shown = json.loads(inside("names", "--json").stdout)["models"]
    assert [(row["name"], row["merged_into"], row["looks_like"]) for row in shown] == [
        ("kimi-2-5", "kimi-k2-5", []),
        ("kimi-k2-5", None, []),
        ("our-own", None, []),
    ]
    done = inside("names", "split", "model", "kimi-2-5", "--json")
    undone = {"kind": "model", "name": "kimi-2-5", "merged_into": None, "outcomes": 3}
    assert json.loads(done.stdout) == {"schema": "hmrouter.names-split/1", **undone}
    assert models(store) == {"kimi-2-5", "kimi-k2-5", "our-own"}


def test_a_merge_into_a_merged_name_says_where_it_went(store: OutcomeStore, inside: Cli) -> None:
    inside("names", "merge", "model", "kimi-2-5", "kimi-k2-5")
    done = inside("names", "merge", "model", "our-own", "kimi-2-5", "--json")
    assert json.loads(done.stdout)["merged_into"] == "kimi-k2-5"


def test_the_store_may_be_named_before_the_subcommand(
    store: OutcomeStore, inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hmrouter.db").rename(tmp_path / "other.db")
    monkeypatch.setenv("HMROUTER_STORE", "sqlite:///nowhere.db")
    merge = ("merge", "harness", "codx", "codex")
    assert inside("names", "--store", "sqlite:///other.db", *merge).returncode == 0
    assert inside("names", "split", "harness", "codx", "--store", "sqlite:///other.db").returncode == 0
    assert "sqlite:///nowhere.db does not exist" in inside("names", *merge).stderr


WRONG = {
    "unknown model": (["merge", "model", "kimi-2-6", "kimi-k2-5"], "model 'kimi-2-6' is not in store"),
    "unknown target": (["merge", "model", "kimi-2-5", "kimi-k2-6"], "did you mean 'kimi-k2-5'?"),
    "itself": (["merge", "model", "kimi-2-5", "kimi-2-5"], "'kimi-2-5' cannot be merged into itself"),
    "not merged": (["split", "harness", "codx"], "merged harness 'codx' is not in store"),
}


@pytest.mark.parametrize(("arguments", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_merged(store: OutcomeStore, refused: Refused, arguments: list[str], says: str) -> None:
    assert says in refused("names", *arguments, code=2)


def test_what_is_no_kind_of_name(store: OutcomeStore, inside: Cli) -> None:
    done = inside("names", "merge", "route", "a", "b")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not one of: model, harness" in done.stderr


def test_no_store(refused: Refused) -> None:
    assert "store sqlite:///hmrouter.db does not exist" in refused("names")


@pytest.mark.parametrize("command", [["names"], ["names", "merge"], ["names", "split"]])
def test_help_has_an_example(inside: Cli, command: list[str]) -> None:
    done = inside(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Examples: hmrouter {' '.join(command)}" in " ".join(done.stdout.split())
    assert "--json" in done.stdout
