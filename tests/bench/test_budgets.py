"""Frontiers and the two rules, on rows by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.experiments.cost.frontiers import TEST_RULE, TRAINING_RULE, Frontiers


def a_row(benchmark: str, method: str, setting: str, numbers: tuple[float | None, ...], **more: Any) -> dict[str, Any]:
    keys = ("accuracy", "cost_usd", "train_accuracy", "train_cost_usd")
    place = {"benchmark": benchmark, "method": method, "setting": setting, "split": 0, "cost_per_task": True}
    values = dict(zip(keys, numbers, strict=True))
    return place | values | {"normalized_accuracy": values["accuracy"]} | more


def test_the_paper_rule_looks_at_test_and_the_honest_one_at_training() -> None:
    rows = [
        a_row("b", "m", "dear", (0.9, 3.0, 0.7, 1.0)),
        a_row("b", "m", "middle", (0.6, 1.5, 0.8, 1.5)),
        a_row("b", "m", "cheap", (0.4, 0.5, 0.5, 0.5)),
    ]
    frontiers = Frontiers(rows)
    by_test = [frontiers.accuracy("m", TEST_RULE, {"b": budget}) for budget in (0.4, 0.5, 1.5, 3.0)]
    assert by_test == [None, 40.0, 60.0, 90.0]
    # on training `dear` costs 1.0, so a budget of 1.0 takes it; with 1.5, `middle` looks better there
    by_training = [frontiers.accuracy("m", TRAINING_RULE, {"b": budget}) for budget in (0.4, 0.5, 1.0, 1.5)]
    assert by_training == [None, 40.0, 90.0, 60.0]


def test_of_two_alike_on_training_the_cheaper_one() -> None:
    rows = [a_row("b", "m", "x", (0.2, 1.0, 0.5, 2.0)), a_row("b", "m", "y", (0.3, 1.0, 0.5, 1.0))]
    assert Frontiers(rows).accuracy("m", TRAINING_RULE, {"b": 5.0}) == 30.0


def test_means_over_splits_then_the_rule_then_the_mean_over_benchmarks() -> None:
    rows = [
        a_row("a", "m", "x", (0.2, 1.0, 0.2, 1.0)), a_row("a", "m", "x", (0.6, 2.0, 0.6, 2.0), split=1),
        a_row("b", "m", "x", (1.0, 1.0, 1.0, 1.0)),
    ]  # fmt: skip
    frontiers = Frontiers(rows)
    assert frontiers.accuracy("m", TEST_RULE, {"a": 1.5, "b": 1.0}) == pytest.approx(70.0)
    # the mean cost on a is 1.5: one affordable split is not enough, and one benchmark without is none
    assert frontiers.accuracy("m", TEST_RULE, {"a": 1.4, "b": 1.0}) is None
    assert frontiers.accuracy("other", TEST_RULE, {"a": 9.0, "b": 9.0}) is None


@given(st.lists(st.tuples(*[st.floats(0.01, 1)] * 4), min_size=1, max_size=6), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_budget_is_never_worse_by_the_paper_rule(
    settings: list[tuple[float, float, float, float]], one: float, other: float
) -> None:
    frontiers = Frontiers([a_row("b", "m", str(i), numbers) for i, numbers in enumerate(settings)])
    small, large = (frontiers.accuracy("m", TEST_RULE, {"b": budget}) for budget in sorted((one, other)))
    fitting = [s[0] for s in settings if s[1] <= min(one, other)]
    assert small == (pytest.approx(100 * max(fitting)) if fitting else None)
    assert small is None or (large is not None and large >= small)


def test_fixed_costs_need_fixed_everywhere() -> None:
    rows = [a_row("a", "fixed", "lambda=0", (0.5, 2.0, 0.5, 2.0)), a_row("b", "m", "x", (0.5, 1.0, 0.5, 1.0))]
    assert Frontiers(rows).fixed_costs == {}
    rows.append(a_row("b", "fixed", "lambda=0", (0.5, 3.0, 0.5, 3.0)))
    assert Frontiers(rows).fixed_costs == {"a": 2.0, "b": 3.0}


def test_area_reaches_to_the_dearest_method_of_the_benchmark() -> None:
    rows = [
        a_row("a", "m", "x", (0.8, 1.0, 0.8, 1.0)), a_row("a", "dear", "x", (0.8, 4.0, 0.8, 4.0)),
        a_row("b", "dear", "x", (0.8, 9.0, 0.8, 9.0)),
    ]  # fmt: skip
    frontiers = Frontiers(rows)
    assert frontiers.area("a", "m") == pytest.approx(60.0)
    assert frontiers.area("b", "m") is None


def test_rows_without_costs_have_no_frontier() -> None:
    frontiers = Frontiers([a_row("a", "m", "x", (0.8, None, 0.8, None), cost_per_task=False)])
    assert frontiers.area("a", "m") is None
    assert frontiers.accuracy("m", TEST_RULE, {"a": 9.0}) is None
    assert "no benchmark" in frontiers.which_costs
