"""The same store gives the same numbers, whether a person types commands or a program calls the library."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hmrouter.errors import UnknownName
from hmrouter.router import Router
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task
from hmrouter.workload import Workload

COMMAND = Path(sys.executable).with_name("hmrouter")
OPUS, GPT = Route("claude-opus-4-5", "claude-code"), Route("gpt-5", "codex")
START = datetime(2026, 1, 1, tzinfo=UTC)
QUESTION = "Fix the failing CI job"


def outcomes() -> list[Outcome]:
    """Two suites; some runs without a reported cost, but with tokens; some long ago."""
    made = [
        Outcome(
            Task(f"T-{i}", "ours", f"Fix bug {i} of the {('parser', 'report')[i % 2]}"), route, float((i + j) % 3 > 0),
            cost=None if i % 4 == 0 else 0.2 + 0.3 * j, input_tokens=90_000, output_tokens=4_000,
            when=START + timedelta(days=i), source="csv", run="r",
        )
        for i in range(40) for j, route in enumerate((OPUS, GPT))
    ]  # fmt: skip
    return [*made, *(Outcome(Task(f"o{i}", "other"), GPT, float(i % 5 > 0), source="csv", run="o") for i in range(30))]


def numbers(decision: dict[str, object]) -> list[object]:
    ranked = decision["ranked"]
    assert isinstance(ranked, list)
    return [[c[key] for key in ("route", "success", "interval", "cost", "cost_interval", "p_best")] for c in ranked]


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=600)
    return done.stdout


@pytest.mark.parametrize("suites", [[], ["ours"]])
def test_python_and_the_command_line_say_the_same(tmp_path: Path, suites: list[str]) -> None:
    from hmrouter.decide.document import to_dict

    with OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}") as store:
        store.add(outcomes())
        store.set_suite("ours", half_life_days=20)
        router = Router().fit_store(store, suites=suites)
    run(tmp_path, "train", *(f"--suite={s}" for s in suites))
    typed = json.loads(run(tmp_path, "route", QUESTION, "--max-cost", "2", "--json"))
    called = json.loads(json.dumps(to_dict(router.route(QUESTION, max_cost=2.0))))
    assert numbers(typed) == numbers(called)
    assert typed["history"] is not None
    # and without a router file, of the same suite
    (tmp_path / "router.hmr").unlink()
    if suites:
        pool = tmp_path / "pool.toml"
        pool.write_text(f'routes = ["{OPUS}", "{GPT}"]')
        options = ("--max-cost", "2", "--json", "--suite", "ours", "--pool", str(pool))
        assert numbers(json.loads(run(tmp_path, "route", QUESTION, *options))) == numbers(called)


def test_what_a_workload_is_made_of(tmp_path: Path) -> None:
    with OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}") as store:
        store.add(outcomes())
        store.set_suite("ours", half_life_days=20)
        ours = Workload.of_store(store, suites=["ours"])
        assert ours.data.suites == ("ours",)
        assert ours.data.half_life == {"ours": 20.0}
        assert not (ours.data.cells.cost != ours.data.cells.cost).any()  # tokens have a price
        assert {r.suite for r in ours.records if not r.source} == {"other"}
        assert len({r.suite for r in ours.records if r.source}) == 13
        assert Workload.of_store(store, suites=["ours"], half_life=None).data.half_life == {}
        everything = Workload.of_store(store)
        assert everything.data.suites == ("other", "ours")
        assert all(r.source for r in everything.records)
        with pytest.raises(UnknownName, match="suite 'theirs' is not in"):
            Workload.of_store(store, suites=["theirs"])
        new = Workload.of_store(store, suites=["theirs"], new_suites=True)
        assert (len(new.data.cells), {r.suite for r in new.records if not r.source}) == (0, {"ours", "other"})
        with pytest.raises(UnknownName, match="history 'everything' is not known; choose from"):
            Router().fit_store(store, history="everything")
    assert len(Workload.of_store(None).data.cells) == 0


def test_a_public_suite_in_the_store_does_not_hear_of_itself(tmp_path: Path) -> None:
    with OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}") as store:
        store.add([Outcome(Task("t", "scicode"), GPT, 1.0, source="csv", run="r")])
        assert "scicode" not in {r.suite for r in Workload.of_store(store).records}
