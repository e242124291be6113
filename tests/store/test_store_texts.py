"""Texts that are not kept, or not for ever; and what else is set for a suite."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, update

from hmrouter.errors import UnknownName, UsageError
from hmrouter.store import OutcomeStore, SuiteSettings
from hmrouter.store.schema import tasks
from hmrouter.types import Outcome, Route, Task, text_hash

SECRET = "Fix the login of our biggest customer"


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as opened:
        yield opened


def told(suite: str, task: str = "t", text: str = SECRET, trial: str = "") -> Outcome:
    return Outcome(Task(task, suite, text), Route("m", "h"), 1.0, trial=trial)


def texts(store: OutcomeStore) -> dict[str, tuple[str, str]]:
    """Text and hash by suite and task."""
    found = {outcome.task.key: outcome.task for outcome in store.outcomes()}
    return {"/".join(key): (task.text, task.text_hash) for key, task in found.items()}


def age(engine: Engine, days: float) -> None:
    """Let all that is stored have been added longer ago."""
    with engine.begin() as conn:
        conn.execute(update(tasks).values(added_us=tasks.c.added_us - round(days * 86_400_000_000)))


def test_a_text_that_is_not_kept_leaves_its_hash(store: OutcomeStore) -> None:
    store.add([told("s"), told("s", "empty", "")], keep_text=False)
    assert texts(store) == {"s/t": ("", text_hash(SECRET)), "s/empty": ("", "")}


def test_a_text_that_is_not_kept_is_nowhere_on_the_disk(sqlite_url: str, tmp_path: Path) -> None:
    with OutcomeStore(sqlite_url) as store:
        store.add([told("s")], keep_text=False)
        assert store.count() == 1
        content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert text_hash(SECRET).encode() in content
    assert b"biggest customer" not in content


def test_a_text_that_was_not_kept_does_not_come_with_a_later_import(store: OutcomeStore) -> None:
    store.add([told("s")], keep_text=False)
    store.add([told("s", trial="2")])
    assert texts(store) == {"s/t": ("", text_hash(SECRET))}


def test_a_text_that_is_kept_stays_when_a_later_import_keeps_none(store: OutcomeStore) -> None:
    store.add([told("s")])
    store.add([told("s", trial="2")], keep_text=False)
    assert texts(store) == {"s/t": (SECRET, "")}


def test_a_hash_goes_from_store_to_store(store: OutcomeStore) -> None:
    store.add([told("s")], keep_text=False)
    with OutcomeStore("sqlite://") as copy:
        copy.add(store.outcomes())
        assert texts(copy) == texts(store)


def test_old_texts_are_dropped_and_their_hashes_stay(store: OutcomeStore, engine: Engine) -> None:
    store.add([told("old"), told("other")])
    age(engine, 10)
    store.add([told("old", "young")])
    assert store.drop_texts(11) == 0
    assert store.drop_texts(9, suite="old") == 1
    gone, there = ("", text_hash(SECRET)), (SECRET, "")
    assert texts(store) == {"old/t": gone, "old/young": there, "other/t": there}
    assert store.drop_texts(9) == 1
    assert store.drop_texts(9) == 0
    assert store.drop_texts(30, now=datetime.now(UTC) + timedelta(days=31)) == 1
    assert store.summary().texts == 0


def test_a_dropped_text_is_overwritten_on_the_disk(sqlite_url: str, tmp_path: Path) -> None:
    def on_disk() -> bytes:
        return b"".join(file.read_bytes() for file in tmp_path.iterdir())

    with OutcomeStore(sqlite_url) as store:
        store.add([told("s", text=SECRET * 500), told("s", "short")])
    assert b"biggest customer" in on_disk()
    with OutcomeStore(sqlite_url) as store:
        assert store.drop_texts(0) == 2
    assert b"biggest customer" not in on_disk()


def test_the_age_of_a_text_counts_from_when_it_came(store: OutcomeStore, engine: Engine) -> None:
    store.add([told("s", text="")])
    age(engine, 10)
    store.add([told("s", trial="2")])
    assert store.drop_texts(5) == 0
    assert store.drop_texts(0) == 1


@pytest.mark.parametrize("days", [-1.0, float("nan")])
def test_days_that_are_none_are_refused(store: OutcomeStore, days: float) -> None:
    store.add([told("s")])
    with pytest.raises(UsageError, match="is not a number of days; give at least 0"):
        store.drop_texts(days)
    for setting in ("half_life_days", "text_days"):
        with pytest.raises(UsageError, match=f"{setting} .* is not a number of days; .* or None to switch it off"):
            store.set_suite("s", **{setting: days})
    assert store.suite_settings() == {}


@pytest.mark.parametrize("days", [1e6 + 1, 1e300, float("inf")])
def test_days_beyond_the_calendar_drop_nothing(store: OutcomeStore, days: float) -> None:
    store.add([told("s")])
    assert store.drop_texts(days) == 0


def test_a_suite_s_limit_is_applied_at_the_end_of_each_add(store: OutcomeStore, engine: Engine) -> None:
    store.add([told("short"), told("long"), told("free")])
    store.set_suite("short", text_days=5)
    store.set_suite("long", text_days=50)
    age(engine, 10)
    assert len([text for text, _ in texts(store).values() if text]) == 3
    store.add([told("free", trial="2"), told("short", "young")])
    there = (SECRET, "")
    assert texts(store) == {
        "short/t": ("", text_hash(SECRET)), "short/young": there, "long/t": there, "free/t": there,
    }  # fmt: skip


def test_a_limit_of_no_days_keeps_no_text(store: OutcomeStore) -> None:
    store.add([told("s", "first")])
    store.set_suite("s", text_days=0)
    store.add([told("s", "second")])
    assert {text for text, _ in texts(store).values()} == {""}


def test_an_import_waits_for_nobody_to_drop_a_text(postgres_url: str) -> None:
    """Waiting with so much in its hands could close a circle of imports that wait for each other."""
    server = create_engine(postgres_url)
    with OutcomeStore(postgres_url, timeout=0.2) as store:
        store.add([told("s", "busy")])
        store.set_suite("s", text_days=0)
        with server.begin() as conn:
            conn.exec_driver_sql("SELECT * FROM tasks FOR UPDATE")
            store.add([told("s", "mine")])
        assert texts(store) == {"s/busy": (SECRET, ""), "s/mine": ("", text_hash(SECRET))}
        store.add([told("s", "next")])
        assert {text for text, _ in texts(store).values()} == {""}
    server.dispose()


def test_settings_are_changed_one_at_a_time(store: OutcomeStore) -> None:
    store.add([told("a"), told("b")])
    assert store.suite_settings() == {}
    store.set_suite("b", half_life_days=90)
    store.set_suite("a", text_days=30, half_life_days=7.5)
    store.set_suite("a", text_days=None)
    store.set_suite("b")
    assert store.suite_settings() == {"a": SuiteSettings(7.5, None), "b": SuiteSettings(90.0, None)}
    store.set_suite("b", half_life_days=None)
    assert store.suite_settings().keys() == {"a"}


def test_evidence_that_halves_in_no_time_is_refused(store: OutcomeStore) -> None:
    store.add([told("s")])
    with pytest.raises(UsageError, match="half_life_days 0 is not a number of days; give more than 0"):
        store.set_suite("s", half_life_days=0)


def test_an_unknown_suite_is_refused(store: OutcomeStore) -> None:
    store.add([told("swe-bench")])
    for change in (lambda: store.set_suite("swebench", text_days=1), lambda: store.drop_texts(1, suite="swebench")):
        with pytest.raises(UnknownName, match="did you mean 'swe-bench'"):
            change()


def test_settings_outlive_the_outcomes_of_their_suite(store: OutcomeStore) -> None:
    store.add([told("s")])
    store.set_suite("s", text_days=1)
    store.forget("")
    assert store.suite_settings() == {"s": SuiteSettings(None, 1.0)}
    store.set_suite("s", text_days=None)
    assert store.suite_settings() == {}
