"""A router with what other suites know: none of its own outcomes, a few, and which have the last word."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hmrouter.decide.document import elsewhere_from_json, from_json, to_dict
from hmrouter.decide.explanation import in_words
from hmrouter.errors import InputError
from hmrouter.evidence.dataset import Dataset
from hmrouter.history.public import SuiteCounts, shipped
from hmrouter.history.records import Record
from hmrouter.router import Router
from hmrouter.types import Outcome, Route, Status, Task

STRONG, WEAK, OTHER = Route("gpt-5", "codex"), Route("gpt-4o", "codex"), Route("claude-opus-4-5", "claude-code")
RATES = {STRONG: 0.6, WEAK: 0.4, OTHER: 0.5}
COSTS = {STRONG: 1.0, WEAK: 0.25, OTHER: None}


def published(suite: str, family: str = "") -> list[Record]:
    return [Record(suite, r, 100, p, COSTS[r], family, "us/runs@1", "2026-01") for r, p in RATES.items()]


HISTORY = [*published("one"), *published("two"), *published("three")]


def runs(scores: dict[Route, float], n: int = 5, suite: str = "default", cost: float | None = None) -> list[Outcome]:
    tasks = [Task(f"t{i}", suite, f"Mend part {i} of the build") for i in range(n)]
    return [Outcome(task, route, score, cost=cost) for task in tasks for route, score in scores.items()]


@pytest.fixture(scope="module")
def blank() -> Router:
    """No outcome of its own; for tests that only ask."""
    return Router.from_history(HISTORY)


def test_no_outcomes_but_history_is_enough(blank: Router) -> None:
    decision = blank.route("Mend the build")
    assert [c.route for c in decision.ranked] == [STRONG, OTHER, WEAK]
    assert not any(c.observed or c.evidence.pair or c.evidence.model for c in decision.ranked)
    assert decision.interval is not None
    assert decision.interval[0] < decision.success < decision.interval[1]
    assert blank.report_.outcomes == blank.report_.observed_routes == 0
    assert blank.pool_ == blank.known_routes == tuple(sorted(RATES))


def test_what_was_written_for_one_benchmark_is_no_candidate_unless_it_was_run_here() -> None:
    special = Route("gpt-5", "scicode-zero-shot-agent")
    history = [*HISTORY, replace(HISTORY[0], route=special)]
    assert special not in Router.from_history(history).known_routes
    run = Router().fit(Dataset(runs({special: 1.0})), history=history)
    assert special in run.known_routes


def test_neither_outcomes_nor_history_is_not_enough() -> None:
    for settings in ({"scorer": "hm"}, {"scorer": "safe_alone"}, {"scorer": "fixed"}):
        with pytest.raises(InputError, match="there is no outcome with a score to learn from"):
            Router.from_history(HISTORY, **settings)
    with pytest.raises(InputError, match="there is no outcome with a score"):
        Router().fit(Dataset([]), history=[])


def test_failed_machinery_and_history() -> None:
    broken = Outcome(Task("t"), WEAK, None, status=Status.INFRA_ERROR)
    router = Router().fit(Dataset([broken]), history=HISTORY)
    assert router.pool_ == (WEAK,)
    assert not router.route("x").observed


def test_costs_come_from_elsewhere_until_there_are_own() -> None:
    router = Router.from_history(HISTORY)
    shown = {c.route: (c.cost, c.cost_basis) for c in router.route("x").ranked}
    assert shown[STRONG] == (1.0, "history")
    assert shown[OTHER] == (None, "unknown")
    assert [c.route for c in router.route("x", max_cost=0.5).ranked] == [WEAK]
    near = router.route("x", pool=[Route("gpt-5", "aider")]).best
    assert (near.cost, near.cost_basis) == (1.0, "history estimate")
    router.observe(Outcome(Task("t"), STRONG, 1.0, cost=4.0))
    assert router.route("x", pool=[STRONG]).best.cost_basis == "route"
    assert router.route("x", pool=[STRONG]).cost == 4.0  # its own, not a mean with what others paid
    assert router.route("x", pool=[WEAK]).cost == 0.25


def test_own_costs_of_other_pairs_come_after_what_others_paid_for_this_one() -> None:
    router = Router().fit(Dataset(runs({STRONG: 1.0}, cost=7.0)), history=HISTORY)
    shown = {c.route: (c.cost, c.cost_basis) for c in router.route("x", pool=[*RATES, Route("o3", "codex")]).ranked}
    assert shown[WEAK] == (0.25, "history")
    cost, basis = shown[Route("o3", "codex")]
    assert basis == "harness"
    assert cost == pytest.approx(7.0)


def test_ten_own_outcomes_that_contradict_change_the_choice(blank: Router) -> None:
    assert blank.route("Mend the build").route == STRONG
    own = Dataset(runs({STRONG: 0.0, WEAK: 1.0}), routes=RATES)
    assert Router().fit(own, history=HISTORY).route("Mend the build").route == WEAK


def test_ten_own_outcomes_that_are_observed_change_the_choice_too() -> None:
    router = Router.from_history(HISTORY)
    for outcome in runs({STRONG: 0.0, WEAK: 1.0}):
        router.observe(outcome)
    decision = router.route("Mend the build")
    assert (decision.route, decision.evidence.pair) == (WEAK, 5)
    elsewhere = router.elsewhere(decision)
    assert elsewhere is not None
    assert elsewhere.background.own_outcomes == 10


@pytest.mark.parametrize("place", [1, 19, -1])
def test_ten_own_outcomes_overrule_the_shipped_table(place: int) -> None:
    """Five tasks on which the public favourite fails and another one succeeds, be that the last of all."""
    rules = ["harness=claude-code,codex,openhands"]
    before = Router.from_history(shipped()).route("Fix the failing CI job", allow=rules, max_cost=2.0)
    assert not before.observed
    worse = before.ranked[place].route
    router = Router().fit(Dataset(runs({before.route: 0.0, worse: 1.0})), history=shipped())
    after = router.route("Fix the failing CI job", pool=router.known_routes, allow=rules, max_cost=2.0)
    assert after.route == worse


def test_own_figures_have_no_say() -> None:
    """Whoever trains on a public suite, or on one that shares its tasks, learns nothing from its published figures."""
    for suite, records in {
        "two": HISTORY,
        "Two (rerun)": published("two rerun"),
        "mine": [Record("mine", STRONG, 9, 0.9, family="two"), Record("twin", STRONG, 9, 0.9, family="two")],
    }.items():
        data = Dataset(runs({STRONG: 1.0, WEAK: 0.0}, suite=suite))
        background = Router().fit(data, history=records).report_.history
        heard = set() if background is None else {*background.public_suites, *background.own_suites}
        assert heard == {"one", "three"} & {r.suite for r in records}


def test_a_new_suite_named_like_a_public_one_does_not_hear_of_it() -> None:
    router = Router.from_history(HISTORY, suite="two")
    assert router.report_.history is not None
    assert router.report_.history.public_suites == ("one", "three")
    with pytest.raises(InputError, match="there is no outcome with a score"):
        Router.from_history(published("two"), suite="two")


def test_the_file_keeps_what_was_heard(tmp_path: Path, blank: Router) -> None:
    partly = Router().fit(Dataset(runs({STRONG: 1.0, WEAK: 0.0})), history=HISTORY)
    for router in (blank, partly):
        router.save(tmp_path / "r.hmr")
        again = Router.load(tmp_path / "r.hmr")
        assert again.report_ == router.report_
        assert again.known_routes == router.known_routes
        for pool in (None, [*RATES, Route("o3", "codex")]):
            one, other = router.route("Mend it", pool=pool), again.route("Mend it", pool=pool)
            assert [(c.route, c.cost, c.cost_basis) for c in one.ranked] == [
                (c.route, c.cost, c.cost_basis) for c in other.ranked
            ]
            assert [c.success for c in one.ranked] == pytest.approx([c.success for c in other.ranked], abs=1e-9)
            assert router.elsewhere(one) is not None
            assert router.elsewhere(one) == again.elsewhere(other)


def test_without_history_nothing_is_said_of_it(tmp_path: Path) -> None:
    router = Router().fit(Dataset(runs({STRONG: 1.0, WEAK: 0.0})))
    router.save(tmp_path / "r.hmr")
    decision = Router.load(tmp_path / "r.hmr").route("x")
    assert router.report_.history is None
    assert router.elsewhere(decision) is None
    assert to_dict(decision)["history"] is None
    assert elsewhere_from_json(json.dumps(to_dict(decision))) is None


# -- as JSON and in words -------------------------------------------------------------------------------------------


def test_a_decision_says_what_it_rests_on(blank: Router) -> None:
    decision = blank.route("Mend the build", max_cost=2.0)
    elsewhere = blank.elsewhere(decision)
    shown = to_dict(decision, elsewhere)
    assert shown["history"] == {
        "note": "public evidence only", "own_outcomes": 0, "records": 9, "routes": 3, "own_suites": (),
        "public_suites": ("one", "three", "two"), "oldest": "2026-01", "newest": "2026-01",
    }  # fmt: skip
    assert shown["elsewhere"] == shown["ranked"][0]["elsewhere"] == {"public": 3, "own": 0}
    text = json.dumps(shown)
    assert from_json(text) == decision
    assert elsewhere_from_json(text) == elsewhere
    lines = in_words(decision, elsewhere)
    assert lines[1] == "It rests on public evidence only (3 routes on 3 suites, newest date 2026-01)."
    assert "This pair is unrun here, 3 public suites report it; 0 runs of its model" in lines[2]
    assert "the mean that other suites report of this pair" in "\n".join(lines)


def test_what_own_suites_and_own_runs_say_is_told_apart() -> None:
    history = [*HISTORY, *(Record("ours", r, 20, p) for r, p in RATES.items())]
    router = Router().fit(Dataset(runs({STRONG: 1.0})), history=history)
    decision = router.route("Mend the build", pool=list(RATES))
    elsewhere = router.elsewhere(decision)
    assert elsewhere is not None
    assert elsewhere.seen == dict.fromkeys(RATES, SuiteCounts(3, 1))
    assert elsewhere.background.note == "5 own runs, public evidence and your other suites"
    said = "5 runs of this pair, 3 public suites and 1 other suite of yours report it; 5 runs of its model"
    assert said in in_words(decision, elsewhere)[2]


DAMAGES: dict[str, Callable[[dict[str, object]], object]] = {
    "no counts": lambda d: d.update(history={"note": "x"}),
    "a list": lambda d: d.update(history=[1]),
    "candidates without": lambda d: d["ranked"][0].pop("elsewhere"),  # type: ignore[index]
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_what_is_not_known_of_other_suites(blank: Router, damage: Callable[[dict[str, object]], object]) -> None:
    decision = blank.route("Mend the build")
    shown = to_dict(decision, blank.elsewhere(decision))
    damage(shown)
    with pytest.raises(InputError, match="this is not a decision"):
        elsewhere_from_json(json.dumps(shown))
