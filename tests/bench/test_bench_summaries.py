"""Means and differences of rows: nothing is compared that was not measured on the same splits."""

from __future__ import annotations

from typing import Any

import pytest

from hmrouter.bench.experiments.summaries import (
    accuracy_table,
    benchmark_means,
    compared,
    difference_table,
    differences,
    mean_of,
    overall_difference,
)
from hmrouter.bench.report.parts import Interval


def rows(values: dict[tuple[str, str], list[float | None]], **more: Any) -> list[dict[str, Any]]:
    """Rows from {(benchmark, method): normalised accuracy per split}."""
    return [
        {"benchmark": b, "method": m, "split": i, "setting": "", "normalized_accuracy": v, "n_test": 3, "n_train": 7}
        | more
        for (b, m), accuracies in values.items()
        for i, v in enumerate(accuracies)
    ]


TWO = rows({
    ("a", "fixed"): [0.5, 0.7], ("a", "hm"): [0.6, 0.6], ("a", "oracle"): [1.0, 1.0],
    ("b", "fixed"): [0.2, 0.4], ("b", "hm"): [0.4, 0.4], ("b", "oracle"): [1.0, 1.0],
})  # fmt: skip


def test_means_of_means() -> None:
    assert benchmark_means(TWO, "normalized_accuracy", "hm", 100.0) == pytest.approx({"a": 60.0, "b": 40.0})
    table = accuracy_table(TWO, "Accuracy")
    assert [list(line) for line in table.rows] == [
        ["a", pytest.approx(60), pytest.approx(60), 100], ["b", pytest.approx(30), pytest.approx(40), 100],
        ["mean", pytest.approx(45), pytest.approx(50), 100],
    ]  # fmt: skip


def test_differences_are_paired() -> None:
    assert differences(TWO, "hm") == {"a": pytest.approx([10, -10]), "b": pytest.approx([20, 0])}
    found = overall_difference(TWO, "hm")
    assert found is not None
    assert found.value == pytest.approx(5.0)
    assert found.low < 5 < found.high
    table = difference_table(TWO, "Difference")
    assert table is not None
    assert list(table.columns) == ["benchmark", "hm"]
    assert [c.value for line in table.rows for c in line if isinstance(c, Interval)] == pytest.approx([0, 10, 5])


def test_a_method_that_lacks_a_split_has_no_mean() -> None:
    short = [r for r in TWO if not (r["method"] == "hm" and r["benchmark"] == "b" and r["split"] == 1)]
    assert benchmark_means(short, "normalized_accuracy", "hm") == {"a": pytest.approx(0.6), "b": None}
    assert accuracy_table(short, "").rows[-1][2] is None
    assert differences(short, "hm")["b"] == pytest.approx([20.0])  # paired, on the split that both have


def test_a_method_that_lacks_a_benchmark_has_no_mean_over_benchmarks() -> None:
    short = [r for r in TWO if not (r["method"] == "hm" and r["benchmark"] == "b")]
    assert list(accuracy_table(short, "").rows[-1]) == ["mean", pytest.approx(45), None, 100]
    assert overall_difference(short, "hm") is None
    table = difference_table(short, "")
    assert table is not None
    assert [line[1] is None for line in table.rows] == [False, True, True]


def test_what_nobody_can_be_judged_on_is_left_out_for_all() -> None:
    third = rows({("c", "fixed"): [None, None], ("c", "hm"): [None, None], ("c", "oracle"): [None, None]})
    half = rows({("d", "fixed"): [None, 0.5], ("d", "hm"): [None, 0.7], ("d", "oracle"): [None, 1.0]})
    assert accuracy_table([*TWO, *third], "").rows == accuracy_table(TWO, "").rows
    assert overall_difference([*TWO, *third], "hm") == overall_difference(TWO, "hm")
    assert benchmark_means(half, "normalized_accuracy", "hm") == {"d": 0.7}


def test_without_the_one_to_compare_with_there_is_no_difference() -> None:
    alone = [r for r in TWO if r["method"] != "fixed"]
    assert compared(alone) == []
    assert compared(TWO) == ["hm"]
    assert difference_table(alone, "") is None
    assert overall_difference(alone, "hm") is None


def test_settings_are_apart() -> None:
    both = [r | {"setting": "full"} for r in TWO]
    both += [r | {"setting": "thin", "normalized_accuracy": r["normalized_accuracy"] / 2} for r in TWO]
    assert accuracy_table(both, "", setting="thin").rows[-1][2] == pytest.approx(25)
    assert overall_difference(both, "hm", setting="full") == overall_difference(TWO, "hm")


def test_mean_of() -> None:
    assert mean_of([1.0, 2.0]) == 1.5
    assert mean_of([]) is mean_of([1.0, None]) is None
