"""What the commands that answer at once do not load."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hmrouter.store import OutcomeStore
from hmrouter.store.glance import count_outcomes

HEAVY = {"scipy", "sklearn", "sqlalchemy", "genai_prices", "pydantic", "threadpoolctl", "pandas", "httpx2"}
PROGRAM = """
import sys
sys.argv[0] = "hmrouter"
from hmrouter.cli import main
try:
    main()
except SystemExit as done:
    print(done.code or 0, *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def loaded(folder: Path, *typed: str, env: dict[str, str] | None = None) -> set[str]:
    """The packages that a command loads."""
    command = [sys.executable, "-c", PROGRAM, *typed]
    done = subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True, timeout=600)
    code, *names = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return {*names}


@pytest.fixture
def safe(folder: Path) -> Path:
    """The folder with a router of the default scorer, which listens to other suites."""
    loaded(folder, "train")
    return folder


@pytest.mark.parametrize("typed", [("route", "Fix the login", "--max-cost", "2"), ("route", "Fix it", "--json")])
def test_a_decision_of_a_saved_router_needs_numpy_and_little_else(safe: Path, typed: tuple[str, ...]) -> None:
    names = loaded(safe, *typed)
    assert "numpy" in names
    assert names & HEAVY == set()


def test_a_pair_that_was_never_run_is_compared_all_the_same(safe: Path) -> None:
    (safe / "pool.toml").write_text('routes = ["codex:gpt-5", "claude-code:gpt-5"]\n')
    assert "scipy" in loaded(safe, "route", "Fix the login", "--pool", "pool.toml")


def test_training_does_without_scikit_learn(folder: Path) -> None:
    assert "sklearn" not in loaded(folder, "train")


@pytest.mark.parametrize("words", ["hmrouter ro", "hmrouter bench run rou", "hmrouter route x --incumbent codex"])
def test_a_tab_loads_no_library_for_data(folder: Path, words: str) -> None:
    tab = {"_HMROUTER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    assert loaded(folder, env=os.environ | tab) & (HEAVY | {"numpy"}) == set()


# -- the number of outcomes at a glance -------------------------------------------------------------------------------


def test_a_glance_counts_as_the_store_does(folder: Path) -> None:
    address = f"sqlite:///{folder / 'hmrouter.db'}"
    with OutcomeStore(address) as store:
        assert count_outcomes(address) == store.count() == 96


def test_a_glance_leaves_alone_what_it_cannot_tell(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database")
    (tmp_path / "empty.db").touch()
    assert count_outcomes(f"sqlite:///{tmp_path / 'none.db'}") == 0
    assert not (tmp_path / "none.db").exists()
    for address in (f"sqlite:///{tmp_path / 'text.db'}", f"sqlite:///{tmp_path / 'empty.db'}", f"sqlite:///{tmp_path}"):
        assert count_outcomes(address) is None
    assert count_outcomes("postgresql+psycopg://nobody@nowhere/none") is None
    assert count_outcomes(f"sqlite:///{tmp_path / 'none.db'}?timeout=1") is None
