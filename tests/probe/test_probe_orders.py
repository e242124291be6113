"""The book of orders: run twice, results in parts, and what is given up."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hmrouter.errors import InputError, UsageError
from hmrouter.probe import Suggestion
from hmrouter.probe.orders import CellKey, Order, Orders, ordered
from hmrouter.types import Route, Task

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROUTE = Route("qwen-3:8b", "codex")


def key(task: str, suite: str = "s") -> CellKey:
    return suite, task, ROUTE


def orders(*tasks: str, suite: str = "s", days: int = 0, failures: int = 0) -> list[Order]:
    suggested = [Suggestion(Task(task, suite), ROUTE, 0.01, 0.5, "route") for task in tasks]
    return ordered(suggested, {key(task, suite): failures for task in tasks}, NOW + timedelta(days=days))


def test_what_was_suggested_is_open_until_it_comes_back(tmp_path: Path) -> None:
    book = Orders(tmp_path / "orders.jsonl")
    assert book.read() == []
    assert str(book.account("s", (), {}, 14, NOW)) == "No run was suggested yet"
    book.append(orders("a", "b", failures=1))
    book.append([*orders("c", failures=2), *orders("x", suite="other")])
    assert [o.key for o in book.read()] == [key("a"), key("b"), key("c"), key("x", "other")]
    account = book.account("s", {key("a")}, {key("b"): 2, key("c"): 2}, 14, NOW + timedelta(days=1))
    assert [o.task for o in account.done] == ["a"]
    assert [o.task for o in account.failed] == ["b"]
    assert [o.task for o in account.open] == ["c"]
    assert str(account) == (
        "1 of 3 suggested runs have come back; still out: 1 (1 failed: may be suggested again)"
    )  # fmt: skip
    late = book.account("s", {key("a")}, {key("b"): 2, key("c"): 2}, 14, NOW + timedelta(days=15))
    assert [o.task for o in late.expired] == ["c"]


def test_a_cell_ordered_again_counts_once_from_the_last_time(tmp_path: Path) -> None:
    book = Orders(tmp_path / "orders.jsonl")
    for days in (0, 20):
        book.append(orders("a", days=days))
    account = book.account("s", (), {}, 14, NOW + timedelta(days=21))
    assert len(book.read()) == 2
    assert [len(part) for part in (account.open, account.done, account.expired)] == [1, 0, 0]


def line(**changed: object) -> str:
    return json.dumps(asdict(orders("a")[0]) | changed)


@pytest.mark.parametrize(
    "line",
    [
        "{", "[]", "{}", '{"suite": "s"}', '"x"', '{"suite":"s","task":"t","route":"r"}', "[" * 100_000,
        line(failures="x"), line(failures=None), line(task=["a"]), line(suite=["s"]), line(gain="abc"),
        line(route="codex"), line(when="2026-03-01T12:00:00"), line(cost=True),
    ],
)  # fmt: skip
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    book = Orders(tmp_path / "orders.jsonl")
    book.append(orders("a"))
    with book.path.open("a") as file:
        file.write(f"\n{line}\n")
    with pytest.raises(InputError, match=r"line 3 of .*orders.jsonl is not an order"):
        book.read()


def test_any_name_survives_the_book(tmp_path: Path) -> None:
    names = ["line\u2028sep", "next\x85line", 'tab\tquote"', "修复", "=1+1"]
    book = Orders(tmp_path / "orders.jsonl")
    book.append(orders(*names))
    book.append(orders("last"))
    assert [o.task for o in book.read()] == [*names, "last"]


@pytest.mark.parametrize("days", [-1.0, float("nan"), float("inf")])
def test_days_must_be_days(tmp_path: Path, days: float) -> None:
    with pytest.raises(UsageError, match="is not a number of days"):
        Orders(tmp_path / "orders.jsonl").account("s", (), {}, days, NOW)


def test_a_book_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the orders"):
        Orders(tmp_path).read()
