"""What goes in comes out, once, and all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.errors import InvalidOutcome, LogError
from hmrouter.store import AddReport, OutcomeStore
from hmrouter.store.ingest import BATCH
from hmrouter.types import Outcome, Route, Status, Task

CODEX = Route("gpt-5", "codex")
CLAUDE = Route("claude-opus-4-5", "claude-code")


def counts(report: AddReport) -> tuple[int, int]:
    return report.new, report.known


def world(n: int) -> Iterator[Outcome]:
    for i in range(n):
        yield Outcome(Task(f"t{i}", text=f"text {i}"), CODEX, score=i % 2, source="test", run="r")


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as opened:
        yield opened


def test_a_second_add_of_the_same_outcomes_adds_nothing(store: OutcomeStore) -> None:
    n = BATCH + 7
    assert counts(store.add(world(n))) == (n, 0)
    before = set(store.outcomes())
    assert counts(store.add(world(n + 3))) == (3, n)
    assert before < set(store.outcomes())
    assert store.count() == n + 3


def test_the_first_of_two_outcomes_with_one_key_stays(store: OutcomeStore) -> None:
    first, second = Outcome(Task("t"), CODEX, score=1.0), Outcome(Task("t"), CODEX, score=0.0)
    assert counts(store.add([first, second])) == (1, 1)
    assert counts(store.add([second])) == (0, 1)
    assert list(store.outcomes()) == [first]


def test_each_part_of_the_key_tells_outcomes_apart(store: OutcomeStore) -> None:
    different = [
        Outcome(Task("t"), CODEX, 1.0),
        Outcome(Task("t", suite="other"), CODEX, 1.0),
        Outcome(Task("u"), CODEX, 1.0),
        Outcome(Task("t"), Route("gpt-5", "openhands"), 1.0),
        Outcome(Task("t"), Route("o3", "codex"), 1.0),
        Outcome(Task("t"), CODEX, 1.0, source="s"),
        Outcome(Task("t"), CODEX, 1.0, run="r"),
        Outcome(Task("t"), CODEX, 1.0, trial="2"),
    ]
    assert store.add(different).new == len(different)
    assert {outcome.key for outcome in store.outcomes()} == {outcome.key for outcome in different}


def test_an_input_that_fails_late_leaves_the_store_as_it_was(store: OutcomeStore) -> None:
    def broken() -> Iterator[Outcome]:
        yield Outcome(Task("t0", text="another text"), CLAUDE, score=1.0)
        yield from world(2 * BATCH + 5)
        raise LogError("line 4006 is cut off")

    store.add(world(10))
    before, summary = list(store.outcomes()), replace(store.summary(), bytes=0)  # a server's tables may have grown
    with pytest.raises(LogError, match="line 4006"):
        store.add(broken())
    assert list(store.outcomes()) == before
    assert replace(store.summary(), bytes=0) == summary
    assert counts(store.add(world(12))) == (2, 10)


def test_an_input_that_fails_at_once_makes_no_store(sqlite_url: str, tmp_path: Path) -> None:
    def broken() -> Iterator[Outcome]:
        yield from world(3)
        raise LogError("line 4 is cut off")

    with OutcomeStore(sqlite_url) as store, pytest.raises(LogError):
        store.add(broken())
    assert list(tmp_path.iterdir()) == []


def test_nobody_waits_for_a_slow_input(url: str, store: OutcomeStore) -> None:
    def slow(other: OutcomeStore) -> Iterator[Outcome]:
        for i, outcome in enumerate(world(2 * BATCH)):
            if i == BATCH + BATCH // 2:
                assert counts(other.add(world(100))) == (100, 0)
            yield outcome

    with OutcomeStore(url, timeout=0.2) as other:
        assert counts(store.add(slow(other))) == (2 * BATCH - 100, 100)


def test_progress_counts_every_outcome(store: OutcomeStore) -> None:
    steps: list[int] = []
    store.add(world(BATCH + 1), progress=steps.append)
    assert steps == [BATCH, 1]


def test_a_text_and_a_meta_that_come_later_are_kept(store: OutcomeStore) -> None:
    def seen(**task: Any) -> tuple[str, dict[str, object]]:
        trial = str(store.count())
        store.add([Outcome(Task("t", **task), CODEX, score=1.0, trial=trial)])
        (found,) = {id(outcome.task): outcome.task for outcome in store.outcomes()}.values()
        return found.text, dict(found.meta)

    assert seen() == ("", {})
    assert seen(meta={"n": 1}) == ("", {"n": 1})
    assert seen(text="first") == ("first", {"n": 1})
    assert seen(text="second", meta={"n": 2}) == ("first", {"n": 1})


def test_a_text_that_is_known_stays_when_a_later_task_brings_a_meta(store: OutcomeStore) -> None:
    store.add([Outcome(Task("t", text="first"), CODEX, score=1.0)])
    store.add([Outcome(Task("t", text="second", meta={"n": 2}), CLAUDE, score=1.0)])
    (task, _) = (outcome.task for outcome in store.outcomes())
    assert (task.text, task.meta) == ("first", {"n": 2})


def test_a_known_outcome_still_brings_the_text_of_its_task(store: OutcomeStore) -> None:
    store.add([Outcome(Task("t"), CODEX, score=1.0)])
    assert counts(store.add([Outcome(Task("t", text="late"), CODEX, score=1.0)])) == (0, 1)
    assert [outcome.task.text for outcome in store.outcomes()] == ["late"]


def test_within_one_add_a_task_is_put_together_from_all_its_outcomes(store: OutcomeStore) -> None:
    def scattered() -> Iterator[Outcome]:
        yield Outcome(Task("t"), CODEX, score=1.0)
        yield Outcome(Task("t", meta={"a": [1]}), CLAUDE, score=1.0)
        yield from world(BATCH)
        yield Outcome(Task("t", text="late"), CODEX, score=1.0, trial="2")

    store.add(scattered())
    (task,) = {id(o.task): o.task for o in store.outcomes() if o.task.id == "t"}.values()
    assert (task.text, task.meta) == ("late", {"a": [1]})


def test_times_are_kept_in_utc(store: OutcomeStore) -> None:
    naive = datetime(2025, 6, 1, 12, 0, 0, 123456)
    east = naive.replace(tzinfo=timezone(timedelta(hours=8)))
    store.add([Outcome(Task("a"), CODEX, 1.0, when=naive), Outcome(Task("b"), CODEX, 1.0, when=east)])
    expected = [naive.replace(tzinfo=UTC), datetime(2025, 6, 1, 4, 0, 0, 123456, UTC)]
    found = [outcome.when for outcome in store.outcomes()]
    assert found == expected
    assert {when.tzinfo for when in found if when} == {UTC}


def test_numbers_of_numpy_are_stored_as_numbers(store: OutcomeStore) -> None:
    numbers: Any = {
        "score": np.float32(0.5), "n_trials": np.int64(3), "cost": np.float64(0.25),
        "cost_is_route_mean": np.bool_(True), "output_tokens": np.int32(7),
    }  # fmt: skip
    outcome = Outcome(Task("t"), CODEX, **numbers)
    store.add([outcome])
    (found,) = store.outcomes()
    assert found == outcome
    assert (type(found.score), type(found.n_trials), type(found.cost_is_route_mean)) == (float, int, bool)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (Outcome(Task("t", text="a\0b"), CODEX, 1.0), "task 't' has a NUL character"),
        (Outcome(Task("t"), CODEX, 1.0, run="a\0b"), "task 't' has a NUL character"),
        (Outcome(Task("t", text="\ud800"), CODEX, 1.0), "half a surrogate pair"),
        (Outcome(Task("t"), CODEX, 1.0, dataset_version="a\0b"), "task 't' has a NUL character"),
        (Outcome(Task("t"), CODEX, 1.0, model_version="\udc00"), "half a surrogate pair"),
        (Outcome(Task("t" * 1001), CODEX, 1.0), "1001 bytes; a name has at most 1000"),
        (Outcome(Task("t"), Route("é" * 501, "codex"), 1.0), "model 'éé.* 1002 bytes"),
        (Outcome(Task("t", meta={"when": datetime(2025, 1, 1)}), CODEX, 1.0), "meta of task 't' .* as JSON"),
        (
            Outcome(Task("t"), CODEX, 1.0, when=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))),
            "outside the years 1 to 9999",
        ),
    ],
)
def test_what_a_database_cannot_hold_is_refused_in_one_line(store: OutcomeStore, bad: Outcome, says: str) -> None:
    store.add(world(2))
    with pytest.raises(InvalidOutcome, match=says) as refused:
        store.add([*world(4), bad])
    assert "\n" not in str(refused.value)
    assert store.count() == 2


def test_names_of_the_greatest_length_fit(store: OutcomeStore) -> None:
    long = ["".join(chr(97 + (i * i + k) % 26) for i in range(1000)) for k in range(7)]
    outcome = Outcome(
        Task(long[0], suite=long[1]), Route(long[2], long[3]), 1.0, source=long[4], run=long[5], trial=long[6]
    )
    store.add([outcome])
    assert list(store.outcomes()) == [outcome]


def test_outcomes_without_a_verdict_are_kept_as_they_are(store: OutcomeStore) -> None:
    crashed = Outcome(Task("t"), CODEX, score=None, status=Status.INFRA_ERROR, n_trials=0)
    store.add([crashed])
    assert list(store.outcomes()) == [crashed]
