"""A decision as JSON and in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.decide.document import from_json, to_dict
from hmrouter.decide.explanation import in_words
from hmrouter.errors import InputError
from hmrouter.types import Candidate, Decision, Evidence, Route, Task

BIG = Candidate(Route("big", "codex"), 0.8, 1.4, 0.8, 0.8, 2.0, "route", True, Evidence(12, 1030, 40))
SMALL = Candidate(Route("small", "codex"), 0.7, 0.8, 0.7, 0.7, 0.5, "route", True, Evidence(1, 1, 40))
NEW = Candidate(Route("new", "aider"), 0.6, 0.4, 0.6, 0.6, 0.004, "model+harness", False, Evidence(0, 9, 3), (0.4, 0.8))
DARK = Candidate(Route("dark", "own"), 0.6, 0.4, 0.6, 0.6, None, "unknown", False, Evidence(0, 0, 0))


def decision(*ranked: Candidate, **more: Any) -> Decision:
    return Decision(Task("t1", "ours", "Fix it"), ranked, scorer="hm", **more)


NUMBER = st.floats(-1e6, 1e6)
CANDIDATES = st.builds(
    Candidate,
    st.builds(Route, st.text("abc:-/ é", min_size=1).map(str.strip).filter(bool), st.sampled_from(["codex", "a b"])),
    st.floats(0, 1), NUMBER, NUMBER, NUMBER, st.none() | st.floats(0, 1e6),
    st.sampled_from(["route", "model+harness", "model", "harness", "unknown"]), st.booleans(),
    st.builds(Evidence, st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9)),
    st.none() | st.tuples(st.floats(0, 1), st.floats(0, 1)),
)  # fmt: skip


@given(
    st.builds(
        Decision,
        st.builds(Task, st.text(), st.text(), st.text()),
        st.lists(CANDIDATES, min_size=1, max_size=4).map(tuple),
        st.floats(0, 10),
        st.none() | st.floats(0, 1e6),
        st.dictionaries(st.text(), st.integers(1, 99)),
        st.text(),
    )
)
def test_json_gives_back_the_decision_and_every_decision_can_be_explained(made: Decision) -> None:
    assert from_json(json.dumps(to_dict(made), allow_nan=False)) == made
    lines = in_words(made)
    assert str(made.route) in lines[0]
    assert len(lines) >= 4


def test_the_chosen_route_stands_at_the_top() -> None:
    shown = to_dict(decision(BIG, SMALL))
    assert {key: shown[key] for key in shown["ranked"][0]} == shown["ranked"][0]
    assert (shown["route"], shown["model"], shown["harness"]) == ("codex:big", "big", "codex")
    assert shown["task"] == {"id": "t1", "suite": "ours", "text": "Fix it"}


DAMAGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no ranking": (lambda d: d.pop("ranked"), "'ranked' is missing"),
    "an empty ranking": (lambda d: d.update(ranked=[]), "it ranks no route"),
    "a ranking of texts": (lambda d: d.update(ranked=["codex:big"]), "string indices"),
    "a route that is none": (lambda d: d["ranked"][0].update(route="big"), "'big' is not a route"),
    "a route that is a number": (lambda d: d["ranked"][0].update(route=5), "'int' object"),
    "no cost": (lambda d: d["ranked"][0].pop("cost"), "'cost' is missing"),
    "a cost in words": (lambda d: d["ranked"][0].update(cost="cheap"), "could not convert string to float: 'cheap'"),
    "a basis from nowhere": (lambda d: d["ranked"][0].update(cost_basis="guess"), "cost_basis 'guess' is not known"),
    "success that is no number": (lambda d: d["ranked"][0].update(success=float("nan")), "nan is not a finite number"),
    "half an interval": (lambda d: d["ranked"][0].update(interval=[0.1]), "index out of range"),
    "evidence in words": (lambda d: d["ranked"][0]["evidence"].update(pair="many"), "invalid literal"),
    "endless evidence": (lambda d: d["ranked"][0]["evidence"].update(pair=float("inf")), "infinity"),
    "no task": (lambda d: d.update(task=None), "'NoneType' object"),
    "a weight in words": (lambda d: d.update(cost_weight="much"), "could not convert string to float: 'much'"),
    "a list of reasons": (lambda d: d.update(excluded=[1]), "'list' object"),
    "another incumbent": (lambda d: d.update(incumbent="codex"), "'codex' is not a route"),
    "calibrated on nothing": (lambda d: d.update(calibration={"kind": "none"}), "'cells' is missing"),
}


@pytest.mark.parametrize(("damage", "says"), DAMAGES.values(), ids=DAMAGES.keys())
def test_what_is_not_a_decision(damage: Callable[[dict[str, Any]], object], says: str) -> None:
    document = to_dict(decision(BIG, SMALL))
    damage(document)
    with pytest.raises(InputError) as refused:
        from_json(json.dumps(document))
    assert str(refused.value).startswith("this is not a decision (")
    assert says in str(refused.value)
    assert refused.value.hint == "decision_document"


@pytest.mark.parametrize("text", ["", "[]", "null", "3", '"x"', "{", "[" * 100_000])
def test_other_json_is_not_a_decision(text: str) -> None:
    with pytest.raises(InputError, match="this is not a decision"):
        from_json(text)


def test_a_choice_in_words() -> None:
    assert in_words(decision(BIG, SMALL, excluded={"over max_cost": 1, "cost unknown": 2})) == [
        "codex:big was chosen for this task by the scorer 'hm'.",
        "Predicted success: 80%. 12 runs of this pair; 1,030 runs of its model and 40 of its harness stand behind it.",
        "Expected cost: $2.00 per task, the mean of this pair's own runs.",
        "Runner-up: codex:small with 70% at $0.50 (+10.0 points for the choice).",
        "A cost weight above about 0.067 would put the runner-up first of the two.",
        "Left out: 1 route (over max_cost).",
        "Left out: 2 routes (cost unknown).",
    ]


def test_what_became_of_the_incumbent() -> None:
    better = "was left: the choice is better by the margin, with enough probability."
    assert f"The incumbent codex:small {better}" in in_words(decision(BIG, SMALL, incumbent=SMALL.route))
    ruled_out = in_words(decision(BIG, SMALL, incumbent=NEW.route, excluded={"over max_cost": 1}))
    assert any(line.startswith("The incumbent aider:new was left: it is ruled out, or ") for line in ruled_out)
    assert not any("incumbent" in line for line in in_words(decision(BIG, SMALL)))


def test_a_weighed_choice_in_words() -> None:
    lines = in_words(decision(replace(SMALL, value=0.6), replace(BIG, value=0.4), cost_weight=0.2))
    assert "1 run of this pair; 1 run of its model and 40 of its harness" in lines[1]
    assert lines[3] == (
        "Cost weight 0.2: a dollar must buy 20% of success, so it was ranked by 0.700 - 0.2 x 0.5 = 0.600."
    )
    assert lines[5] == "A cost weight below about 0.067 would put the runner-up first of the two."


def test_estimates_and_gaps_are_said_to_be_such() -> None:
    lines = in_words(decision(NEW, DARK))
    assert "This pair was never run; 9 runs of its model and 3 of its harness stand behind it." in lines[1]
    assert lines[2] == (
        "Expected cost: $0.004 per task, an estimate from other runs of its model and its harness, as the pair has no "
        "known cost."
    )
    assert lines[3] == "Runner-up: own:dark with 60% (+0.0 points for the choice)."
    assert not [line for line in lines if line.startswith("A cost weight")]
    assert in_words(decision(DARK))[2:] == [
        "Expected cost: not known; no run of its model or its harness has a cost.",
        "There was no other candidate.",
    ]


SHARE, DOLLARS = st.integers(0, 100).map(lambda n: n / 100), st.integers(0, 300).map(lambda n: n / 100)


@given(SHARE, SHARE, DOLLARS, DOLLARS, st.sampled_from([0.0, 0.1, 0.5]))
def test_the_weight_that_is_named_does_turn_the_two(
    success: float, other_success: float, cost: float, other_cost: float, weight: float
) -> None:
    pair = [replace(BIG, success=success, merit=success, cost=cost),
            replace(SMALL, success=other_success, merit=other_success, cost=other_cost)]  # fmt: skip
    valued = [replace(c, value=c.success - weight * (c.cost or 0.0)) for c in pair]
    first, second = sorted(valued, key=lambda c: (-c.value, c.cost))
    named = [line for line in in_words(decision(first, second, cost_weight=weight)) if line.startswith("A cost weight")]
    assert first.cost is not None
    assert second.cost is not None
    if not named:  # then the choice is at least as good and at least as cheap, or the two are equal in one of them
        assert (first.success - second.success) * (first.cost - second.cost) <= 0
        return
    side, at = named[0].split()[3], float(named[0].split()[5])
    turned = at * 1.06 if side == "above" else at * 0.94  # two digits are shown
    assert second.success - turned * second.cost > first.success - turned * first.cost
