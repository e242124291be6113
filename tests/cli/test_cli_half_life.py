"""`hmrouter train --half-life`: what is set in the store, what the command line says instead, and what is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def stored(tmp_path: Path, inside: Cli) -> Path:
    """Two suites in which one route was right a year ago and the other is now."""
    for suite in ("ours", "theirs"):
        rows = ["task,model,harness,score,when"]
        for i in range(30):
            day, right = ("2025-01-01", "old") if i < 20 else ("2026-01-01", "new")
            rows += [f"t{i},{model},codex,{int(model == right)},{day}T00:00:00Z" for model in ("old", "new")]
        (tmp_path / f"{suite}.csv").write_text("\n".join(rows) + "\n")
        done = inside("import", f"{suite}.csv", "--suite", suite)
        assert done.returncode == 0, done.stderr
    return tmp_path


def chosen(inside: Cli, *options: str) -> tuple[str, dict[str, float]]:
    """The model that a router trained so chooses, and the half-lives that it was trained with."""
    trained = inside("train", "--suite", "ours", "--json", *options)
    assert trained.returncode == 0, trained.stderr
    routed = inside("route", "Fix it", "--json")
    return json.loads(routed.stdout)["route"].split(":")[1], json.loads(trained.stdout)["half_life"]


@pytest.mark.usefixtures("stored")
def test_what_is_set_in_the_store_holds_unless_the_command_line_says_otherwise(inside: Cli) -> None:
    assert chosen(inside) == ("old", {})
    assert chosen(inside, "--half-life", "60") == ("new", {"ours": 60.0})
    assert inside("store", "set", "ours", "--half-life", "90").returncode == 0
    assert inside("store", "set", "theirs", "--half-life", "30").returncode == 0
    assert chosen(inside) == ("new", {"ours": 90.0})
    assert chosen(inside, "--half-life", "off") == ("old", {})
    assert chosen(inside, "--half-life", "ours=off") == ("old", {})
    assert chosen(inside, "--half-life", "ours=100000") == ("old", {"ours": 100000.0})


@pytest.mark.usefixtures("stored")
def test_people_are_told_what_fades(inside: Cli) -> None:
    inside("store", "set", "theirs", "--half-life", "30.5")
    done = inside("train", "--scorer", "fixed", "--half-life", "ours=90")
    assert [line for line in done.stdout.splitlines() if "fades" in line] == [
        "Evidence of suite ours fades: half-life 90 days.",
        "Evidence of suite theirs fades: half-life 30.5 days.",
    ]
    assert "fades" not in inside("train", "--scorer", "fixed", "--half-life", "off").stdout


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("soon", "--half-life 'soon' is not a number of days above 0; give one, SUITE=DAYS,... or off"),
        ("0", "--half-life '0' is not a number of days above 0"),
        ("-3", "--half-life '-3' is not a number of days above 0"),
        ("nan", "--half-life 'nan' is not a number of days above 0"),
        ("ours=", "--half-life '' is not a number of days above 0"),
        ("ours=90,theirs", "--half-life 'theirs' is not SUITE=DAYS; write for example our-repo=90,other=off"),
        ("our=90", "suite 'our' is not in the outcomes; did you mean 'ours'?"),
    ],
)
def test_what_is_no_half_life_is_refused(value: str, says: str, refused: Callable[..., str], tmp_path: Path) -> None:
    assert says in refused("train", "--suite", "ours", "--half-life", value, code=2)
    assert not (tmp_path / "router.hmr").exists()
