"""The decision log: what is reported is learned from once, and a correction replaces without hiding what was said."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hmrouter.errors import UnknownName, UsageError
from hmrouter.store import AttemptState, LedgerEntry, OutcomeStore
from hmrouter.types import DecisionKind, DecisionRecord, Report, Revision, Route, Status, Task
from hmrouter.types.reports import Billing, ReportSource

CODEX, CLAUDE = Route("gpt-5", "codex"), Route("claude-opus-4-5", "claude-code")
TASK = Task("t", "team", "Fix the parser", {"family": "parsers"})
WHEN = datetime(2026, 11, 1, tzinfo=UTC)


def decided(*routes: Route, task: Task = TASK, namespace: str = "default") -> DecisionRecord:
    kind = DecisionKind.PLAN if len(routes) > 1 else DecisionKind.ROUTE
    candidates = [
        {"route": str(r), "success": 0.5, "cost": None, "propensity": float(i == 0)} for i, r in enumerate(routes)
    ]
    return DecisionRecord(
        kind, task, routes, WHEN, {"candidates": candidates}, namespace, CLAUDE, "s1", tags={"a": "b"}
    )


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as store:
        yield store


def test_a_decision_comes_back_as_it_was_recorded(store: OutcomeStore) -> None:
    made = decided(CODEX)
    store.record(made)
    assert store.decision(made.id).record == made
    assert store.decision(made.id).record.task.family == "parsers"
    assert store.count() == 0  # a decision is no outcome
    with pytest.raises(UsageError):
        store.record(made)


def test_a_report_is_an_outcome_and_the_same_again_counts_once(store: OutcomeStore) -> None:
    made = decided(CODEX)
    store.record(made)
    told = Report(made.id, 1.0, cost=0.42, cost_basis=Billing.LIST, seconds=3.0, source=ReportSource.CI)
    assert [store.report(told).counted for _ in range(3)] == [True, False, False]
    (outcome,) = store.outcomes()
    assert (outcome.task, outcome.route, outcome.score, outcome.cost) == (TASK, CODEX, 1.0, 0.42)
    assert (outcome.source, outcome.run, outcome.trial, outcome.attempt) == ("hmrouter", made.id, "", 1)
    (revision,) = store.decision(made.id).revisions
    assert replace(revision.report, when=None) == told


def test_a_correction_replaces_and_stays_visible(store: OutcomeStore) -> None:
    made = decided(CODEX)
    store.record(made)
    store.report(Report(made.id, 1.0))
    reverted = store.report(Report(made.id, 0.0, source=ReportSource.HUMAN, note="reverted", route=CLAUDE))
    assert (reverted.counted, reverted.revision) == (True, 2)
    (outcome,) = store.outcomes()
    assert (outcome.score, outcome.route) == (0.0, CLAUDE)  # what was executed, not what was decided
    assert [r.report.score for r in store.decision(made.id).revisions] == [1.0, 0.0]
    assert store.report(Report(made.id, 1.0)).revision == 3  # green again: not the first report


def test_a_named_report_counts_once_whatever_came_between(store: OutcomeStore) -> None:
    made = decided(CODEX)
    store.record(made)
    first = Report(made.id, 1.0, id="ci-1")
    store.report(first)
    store.report(Report(made.id, 0.0))
    assert not store.report(first).counted
    assert [o.score for o in store.outcomes()] == [0.0]
    with pytest.raises(UsageError, match="something else"):
        store.report(Report(made.id, 0.5, id="ci-1"))


def test_attempts_after_failures_are_marked_and_a_correction_moves_the_marks(store: OutcomeStore) -> None:
    made = decided(CODEX, CLAUDE, CODEX)
    store.record(made)
    for number, score in enumerate((0.0, 0.0, 1.0), start=1):
        store.report(Report(made.id, score, number))
    assert [(o.trial, o.attempt) for o in sorted(store.outcomes(), key=lambda o: o.trial)] == [
        ("1", 1),
        ("2", 2),
        ("3", 3),
    ]
    store.report(Report(made.id, None, 1, Status.INFRA_ERROR))  # it had not failed: the service was down
    assert [o.attempt for o in sorted(store.outcomes(), key=lambda o: o.trial)] == [1, 1, 2]


def test_open_decisions_are_counted(store: OutcomeStore) -> None:
    made = [decided(CODEX, task=Task(f"t{i}"), namespace="a" if i < 3 else "b") for i in range(4)]
    for record in made:
        store.record(record)
    store.report(Report(made[0].id, 1.0))
    counts = store.decision_counts()
    assert (counts.decisions, counts.open, counts.open_share) == (4, 3, 0.75)
    assert store.decision_counts("b").open_share == 1.0
    assert [d.record.id for d in store.decisions(is_open=True)] == [m.id for m in reversed(made[1:])]
    assert [d.record.id for d in store.decisions(is_open=False)] == [made[0].id]
    assert len(store.decisions(namespace="a", limit=2)) == 2


def test_what_is_not_there_is_said(store: OutcomeStore) -> None:
    made = decided(CODEX)
    store.record(made)
    with pytest.raises(UnknownName):
        store.report(Report("nothing", 1.0))
    with pytest.raises(UsageError):
        store.report(Report(made.id, 1.0, attempt=2))
    assert store.count() == 0


def test_many_reports_at_once_are_one(store: OutcomeStore) -> None:
    made = decided(CODEX)
    store.record(made)
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: store.report(Report(made.id, 1.0)).counted, range(16)))
    assert sum(told) == 1
    assert store.count() == 1


def test_forgetting_the_run_forgets_the_decision(store: OutcomeStore) -> None:
    made, other = decided(CODEX), decided(CLAUDE, task=Task("u"))
    for record in (made, other):
        store.record(record)
        store.report(Report(record.id, 1.0))
    store.forget(made.id)
    assert [d.record.id for d in store.decisions()] == [other.id]
    assert store.count() == 1


def test_texts_of_decisions_go_with_the_others(store: OutcomeStore) -> None:
    made = decided(CODEX)
    store.record(made)
    assert store.decision(made.id).record.task.text
    store.drop_texts(0)
    found = store.decision(made.id).record.task
    assert (found.text, len(found.text_hash)) == ("", 64)
    other = decided(CODEX)
    store.record(other, keep_text=False)
    store.report(Report(other.id, 1.0))
    assert [o.task.text for o in store.outcomes()] == [""]


def test_the_ledger_knows_how_far_an_execution_is(store: OutcomeStore) -> None:
    made = decided(CODEX, CLAUDE)
    store.start_attempt(LedgerEntry(made.id, 1, CODEX, "/folder", "abc", "batch", started=WHEN), record=made)
    store.advance_attempt(made.id, 1, AttemptState.RAN, {"seconds": 2.0})
    (entry,) = store.unfinished_attempts()
    assert (entry.state, entry.detail, entry.route, entry.started) == (AttemptState.RAN, {"seconds": 2.0}, CODEX, WHEN)
    store.finish_attempt(Report(made.id, 0.0, 1, route=CODEX))
    store.start_attempt(LedgerEntry(made.id, 2, CLAUDE, "/folder", "abc", "batch"))
    assert [e.state for e in store.attempts("batch")] == [AttemptState.ENDED, AttemptState.STARTED]
    assert [e.attempt for e in store.unfinished_attempts()] == [2]
    assert store.attempts("another") == []
    assert isinstance(store.decision(made.id).revisions[0], Revision)
