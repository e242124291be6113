from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.errors import InvalidOutcome, UsageError
from hmrouter.types import Candidate, Decision, Evidence, Outcome, Route, Status, Task

ROUTE = Route("gpt-5", "codex")
names = st.text(st.characters(codec="utf-8", exclude_characters=":"), min_size=1).filter(lambda s: s == s.strip())


@given(names, st.lists(names, min_size=1, max_size=3))
def test_a_route_survives_its_text(harness: str, parts: list[str]) -> None:
    route = Route(model=":".join(parts), harness=harness)  # models may contain colons
    assert Route.parse(str(route)) == route


def test_spaces_around_names_do_not_count() -> None:
    assert Route.parse(" codex : gpt-5 ") == ROUTE


@pytest.mark.parametrize("text", ["", "codex", "codex:", ":gpt-5", " : ", "codex: "])
def test_what_is_not_a_route(text: str) -> None:
    with pytest.raises(UsageError, match="is not a route; write harness:model"):
        Route.parse(text)


@pytest.mark.parametrize(("model", "harness"), [("", "codex"), ("gpt-5", ""), ("gpt-5", "co:dex")])
def test_a_route_cannot_be_made_of_anything(model: str, harness: str) -> None:
    with pytest.raises(UsageError):
        Route(model, harness)


def test_a_task_by_its_text() -> None:
    one, two = Task.of_text("Fix the bug"), Task.of_text("Fix the bug", suite="team")
    assert one.id == two.id
    assert one.key != two.key
    assert one != Task.of_text("Fix the bug.")
    assert Task("a", meta={"x": 1}) == Task("a", meta={"x": 2})
    assert hash(Task("a", meta={"x": 1})) == hash(Task("a"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"score": 1.7}, "score 1.7 is outside 0 to 1"),
        ({"score": -0.1}, "score -0.1 is outside 0 to 1"),
        ({"score": float("nan")}, "score nan is outside 0 to 1"),
        ({"score": None}, "score is missing; give a number from 0 to 1, or status infra_error or unknown"),
        ({"score": 2.0, "status": Status.INFRA_ERROR}, "score 2.0 is outside 0 to 1"),
        ({"score": 1.0, "n_trials": -1}, "n_trials -1 is negative"),
        ({"score": 1.0, "cost": -0.5}, "cost -0.5 is not a finite number"),
        ({"score": 1.0, "cost": float("nan")}, "cost nan is not a finite number"),
        ({"score": 1.0, "seconds": float("inf")}, "seconds inf is not a finite number"),
        ({"score": 1.0, "input_tokens": -1}, "input_tokens -1 is negative"),
        ({"score": 1.0, "output_tokens": -2}, "output_tokens -2 is negative"),
        ({"score": 1.0, "cached_tokens": -3}, "cached_tokens -3 is negative"),
        ({"score": 1.0, "task": Task("")}, "task id is empty"),
    ],
)
def test_an_outcome_out_of_range(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOutcome, match=message):
        Outcome(**{"task": Task("t"), "route": ROUTE, **values})


@pytest.mark.parametrize("status", [Status.INFRA_ERROR, Status.UNKNOWN])
def test_only_a_run_that_ended_needs_a_score(status: Status) -> None:
    assert Outcome(Task("t"), ROUTE, None, status=status).score is None


def test_the_natural_key_tells_records_apart() -> None:
    outcome = Outcome(Task("t", "s"), ROUTE, 1.0, source="log", run="r", trial="1")
    assert outcome.key == ("s", "log", "r", "t", "gpt-5", "codex", "1")
    other_values = dataclasses.replace(outcome, score=0.0, cost=1.0, n_trials=4)
    assert other_values.key == outcome.key
    others = [
        {"source": "x"}, {"run": "x"}, {"trial": "x"}, {"task": Task("x", "s")}, {"task": Task("t", "x")},
        {"route": Route("x", "codex")}, {"route": Route("gpt-5", "x")},
    ]  # fmt: skip
    assert len({outcome.key, *(dataclasses.replace(outcome, **o).key for o in others)}) == len(others) + 1  # type: ignore[arg-type]


def test_values_are_frozen() -> None:
    for value, name in ((ROUTE, "model"), (Task("t"), "text"), (Outcome(Task("t"), ROUTE, 1.0), "score")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, "x")


def test_a_decision_speaks_for_its_best_candidate() -> None:
    best, other = (
        Candidate(
            Route(model, "codex"), success=0.75, score=1.1, merit=0.75, value=0.7, cost=0.5, cost_basis="route",
            observed=True,
            evidence=Evidence(3, 5, 9), interval=(0.5, 0.9),
        )
        for model in ("gpt-5", "gpt-4")
    )  # fmt: skip
    decision = Decision(Task("t"), (best, other))
    assert (decision.best, decision.route, decision.success) == (best, best.route, 0.75)
    assert (decision.interval, decision.cost, decision.observed) == ((0.5, 0.9), 0.5, True)
    assert decision.evidence == Evidence(pair=3, model=5, harness=9)
    outcome = decision.outcome(score=1, cost=0.42, seconds=3.0)
    assert (outcome.task, outcome.route, outcome.score, outcome.cost) == (decision.task, best.route, 1, 0.42)
    assert outcome.run == decision.id
    # Two decisions are two runs, even for the same task: neither overwrites the other in a store.
    assert outcome.key != Decision(Task("t"), (best, other)).outcome(score=1).key
    assert decision.outcome(None, status=Status.INFRA_ERROR).status is Status.INFRA_ERROR
