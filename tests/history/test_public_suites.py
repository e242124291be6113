"""The shipped table, which suites are the same as which, and what all of it says about one."""

from __future__ import annotations

import io
import os
import re
import runpy
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from hmrouter.history.belief import learn
from hmrouter.history.families import families_of_suites, own_families
from hmrouter.history.public import (
    RESULTS,
    Background,
    SuiteCounts,
    _learned_from_shipped,
    believe,
    count_suites,
    shipped,
)
from hmrouter.history.records import Record, once_per_family
from hmrouter.types import Route, Task, text_hash

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
CORPUS = SHARED / "corpus"
TOOL = Path(__file__).parents[2] / "tools" / "make_public_results.py"
CODEX, AIDER = Route("gpt-5", "codex"), Route("gpt-5", "aider")


def record(suite: str, route: Route = CODEX, family: str = "", source: str = "") -> Record:
    return Record(suite, route, 20, 0.5, family=family, source=source)


# -- the shipped table ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no shared data; set HMROUTER_SHARED_DATA to its folder")
def test_the_shipped_table_is_what_the_tool_makes_of_the_corpus() -> None:
    out = io.StringIO()
    runpy.run_path(str(TOOL))["write_table"](CORPUS, out)
    assert out.getvalue() == (files("hmrouter.data") / RESULTS).read_text(encoding="utf-8")


def test_the_shipped_table_holds_figures_of_routes_with_their_source() -> None:
    assert len(shipped()) > 400
    assert all(r.source and re.fullmatch(r"(20\d\d-\d\d-\d\d)?", r.date) for r in shipped())
    assert all("@" in r.source and "://" not in r.source for r in shipped())
    assert {r.suite for r in shipped() if r.family == "swe-bench"} == {"openhands_swebench", "swebench_verified"}
    assert {r.suite for r in shipped() if r.family == "gaia"} == {"gaia_hal", "openhands_gaia"}
    assert {r.suite for r in shipped() if r.family == "terminal-bench"} == {"terminalbench_2", "terminalbench_core"}
    assert len({r.family for r in shipped()}) == 10


def test_what_was_learned_from_the_shipped_table_is_of_this_table_and_this_model() -> None:
    assert _learned_from_shipped() is not None, "make it again: python tools/make_public_results.py --variances"


@pytest.mark.heavy
def test_the_shipped_variances_are_what_is_learned() -> None:
    shortcut, whole = believe(shipped()), learn(shipped())
    assert shortcut is not None
    assert whole is not None
    assert shortcut.records == whole.records
    routes = sorted({r.route for r in shipped()})
    np.testing.assert_allclose(shortcut.mean(routes), whole.mean(routes), atol=0.01)


# -- which suites are the same --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suite", "expected"),
    [
        ("swebench_verified", {"swe-bench"}),
        ("SWE-bench Verified", {"swe-bench"}),
        ("swe-bench-multimodal", {"swe-bench"}),
        ("our-gaia-runs", {"gaia"}),
        ("terminal-bench-2-1", {"terminal-bench"}),
        ("taubench", {"taubench_airline"}),
        ("mind2web", {"online_mind2web"}),
        ("gaia and swe-bench", {"gaia", "swe-bench"}),
        ("default", set()),
        ("hard", set()),
        ("", set()),
        ("checkout-service", set()),
    ],
)
def test_a_suite_is_known_by_its_name(suite: str, expected: set[str]) -> None:
    assert own_families([suite], shipped()) == expected


def test_names_of_own_suites_must_be_the_same() -> None:
    """Two suites of a team may be called alike; whether they share tasks is known, so names do not count."""
    records = [record("backend"), record("backend-api"), record("backend-old", family="backend")]
    assert own_families(["backend-api"], records) == {"backend-api"}
    assert own_families(["backend-old"], records) == {"backend"}


def test_what_shares_tasks_with_a_public_suite_is_of_its_family() -> None:
    records = [record("swebench_verified", family="swe-bench"), record("mine", family="swe-bench"), *shipped()]
    assert own_families(["mine"], records) == {"swe-bench"}
    other_label = [record("gaia-runs", family="x"), record("mine", family="x"), *shipped()]
    assert own_families(["mine"], other_label) == {"x", "gaia"}


def tasks(suite: str, ids: str, texts: str = "") -> list[Task]:
    return [Task(i, suite, text) for i, text in zip(ids.split(), texts.split() or [""] * len(ids.split()), strict=True)]


def test_suites_with_the_same_tasks_are_one_family() -> None:
    assert families_of_suites({"a": tasks("a", "t1 t2"), "b": tasks("b", "t1 t2 t3"), "c": tasks("c", "t4")}) == {
        "a": "a", "b": "a", "c": "c"}  # fmt: skip
    # other ids, the same texts; then with one of the two chained to a third
    one, two = tasks("a", "x1 x2", "plot call"), tasks("b", "y1 y2", "plot call")
    assert families_of_suites({"a": one, "b": two, "c": tasks("c", "y1 y2")}) == {"a": "a", "b": "a", "c": "a"}
    hashed = [Task("z1", "d", text_hash=text_hash("plot"))]
    assert families_of_suites({"a": one, "d": hashed})["d"] == "a"


def test_numbers_say_nothing_about_a_task() -> None:
    assert families_of_suites({"a": tasks("a", "1 2 3"), "b": tasks("b", "1 2 3")}) == {"a": "a", "b": "b"}
    assert families_of_suites({"a": tasks("a", "1 2", "plot call"), "b": tasks("b", "1 2", "sort sum")}) == {
        "a": "a",
        "b": "b",
    }


def test_a_family_of_own_suites_has_the_name_of_the_public_one() -> None:
    own = {"swe-bench-lite": tasks("swe-bench-lite", "django-1 django-2"), "mine": tasks("mine", "django-1")}
    assert families_of_suites(own, shipped()) == {"swe-bench-lite": "swe-bench", "mine": "swe-bench"}
    assert families_of_suites(own) == {"swe-bench-lite": "mine", "mine": "mine"}


# -- what they say --------------------------------------------------------------------------------------------------


def test_a_suite_is_never_informed_by_its_own_figures() -> None:
    belief = believe(shipped(), ["swe-bench-lite"])
    assert belief is not None
    heard = {r.family for r in belief.records}
    assert "swe-bench" not in heard
    assert len(heard) >= 8  # the others, but for one that they may foretell badly
    own = [r for r in shipped() if r.family == "swe-bench"]
    assert believe(own, ["swebench_verified"]) is None
    assert believe([]) is None


def test_any_other_history_is_learned_from() -> None:
    records = [Record(f"s{i}", r, 50, m) for i in range(3) for r, m in ((CODEX, 0.7), (AIDER, 0.3))]
    belief, expected = believe(records), learn(records)
    assert belief is not None
    assert expected is not None
    np.testing.assert_allclose(belief.mean([CODEX, AIDER]), expected.mean([CODEX, AIDER]), atol=1e-3)
    assert belief.mean([CODEX])[0] > belief.mean([AIDER])[0] + 0.5


def test_suites_of_one_family_are_seen_once() -> None:
    records = [
        record("a", family="f", source="x"),
        record("b", family="f", source="x"),
        record("c"),
        record("d", AIDER),
    ]
    assert count_suites(records) == {CODEX: SuiteCounts(1, 1), AIDER: SuiteCounts(0, 1)}
    assert sum(seen.public for seen in count_suites(shipped()).values()) == len(once_per_family(shipped()))


def test_what_is_known_in_words() -> None:
    public = Background.of([record("a", source="x"), record("b", AIDER, source="x")], 0)
    assert str(public) == "public evidence only (2 routes on 2 suites)"
    both = Background.of([Record("a", CODEX, 9, 0.5, source="x", date="2026-01"), record("own")], 1)
    assert str(both) == "1 own run, public evidence and your other suites (1 routes on 2 suites, newest date 2026-01)"
    assert str(Background.of([record("own")], 0)) == "your other suites only (1 routes on 1 suite)"
