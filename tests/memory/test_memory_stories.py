"""What a person would expect of a router that was there when a task ran before. Each test is a story."""

from __future__ import annotations

import numpy as np
import pytest

from hmrouter.decide.explanation import in_words
from hmrouter.types import Outcome, Task

from .stories import A, B, C, ordinary_work, router, runs, successes

NIGHTLY = Task("nightly", text="Nightly: rebuild the search index and publish the report")
USUAL = {A: 0.55, B: 0.7}


def test_ten_successes_against_ten_failures_on_this_very_task() -> None:
    """B is better overall, but on this task A always worked and B never did."""
    fitted = router(ordinary_work(USUAL), runs(NIGHTLY, A, 10), runs(NIGHTLY, B, 0, 10))
    decision = fitted.route(NIGHTLY.text)
    assert decision.route == A
    assert decision.best.p_best is not None
    assert decision.best.p_best > 0.99
    on_a, on_b = successes(fitted, NIGHTLY.text)
    assert on_a > 0.85
    assert on_b < 0.15
    assert "Ran on this task before: claude-code:claude-opus-4-5 10 times, all solved; codex:gpt-5 10 times, none " in (
        "\n".join(in_words(decision))
    )
    # Another task hears nothing of it.
    assert fitted.route("Draw the quarterly sales chart").route == B
    assert not fitted.route("Draw the quarterly sales chart").earlier


def test_one_success_against_one_failure_tells_less_than_ten() -> None:
    few = router(ordinary_work(USUAL), runs(NIGHTLY, A, 1), runs(NIGHTLY, B, 0, 1))
    many = router(ordinary_work(USUAL), runs(NIGHTLY, A, 10), runs(NIGHTLY, B, 0, 10))
    none = router(ordinary_work(USUAL))
    before, one, ten = (successes(fitted, NIGHTLY.text) for fitted in (none, few, many))
    assert few.route(NIGHTLY.text).route == A  # it worked once, where the other failed
    assert before[0] < one[0] < ten[0]
    assert before[1] > one[1] > ten[1]
    unsure, sure = few.route(NIGHTLY.text).best, many.route(NIGHTLY.text).best
    assert unsure.p_best is not None
    assert sure.p_best is not None
    assert 0.5 < unsure.p_best < sure.p_best
    assert unsure.interval is not None
    assert sure.interval is not None
    assert sure.interval[1] - sure.interval[0] < unsure.interval[1] - unsure.interval[0]


def test_a_failure_of_the_best_pair_sends_the_next_run_elsewhere() -> None:
    """Nothing else is known of the task; the two were nearly as good before it."""
    fitted = router(ordinary_work({A: 0.6, B: 0.7}, tasks=200), runs(NIGHTLY, B, 0, 2))
    assert fitted.route("Draw the quarterly sales chart").route == B
    assert fitted.route(NIGHTLY.text).route == A
    # The task may just be hard: A is expected to do worse here than elsewhere, too.
    assert successes(fitted, NIGHTLY.text)[0] < successes(fitted, "Draw the quarterly sales chart")[0]


def test_a_failure_tells_more_of_a_pair_that_shares_the_model() -> None:
    same = {A: 0.6, B: 0.6, C: 0.6}
    fitted = router(ordinary_work(same), runs(NIGHTLY, B, 0, 4))
    on_a, on_b, on_c = successes(fitted, NIGHTLY.text, (A, B, C))
    before_a, _, before_c = successes(fitted, "Draw the quarterly sales chart", (A, B, C))
    assert on_b < on_c
    assert before_c - on_c > before_a - on_a  # C shares gpt-5 with B, A shares nothing


def test_ten_successes_long_ago_and_three_recent_failures() -> None:
    """With a half-life of a month, what happened a year ago hardly counts."""
    long_ago, lately = runs(NIGHTLY, B, 10, days_ago=365), runs(NIGHTLY, B, 0, 3, run="lately")
    fading = router(ordinary_work(USUAL), long_ago, lately, half_life=30.0)
    keeping = router(ordinary_work(USUAL), long_ago, lately)
    assert fading.route(NIGHTLY.text).route == A
    assert keeping.route(NIGHTLY.text).route == B  # 10 of 13, if nothing fades
    assert successes(fading, NIGHTLY.text)[1] < 0.4


def test_the_same_text_in_two_suites() -> None:
    """Two repositories have a nightly job with the same words. What happened in one says nothing about the other."""
    here, there = (Task("nightly", suite, NIGHTLY.text) for suite in ("shop", "docs"))
    fitted = router(
        ordinary_work(USUAL, suite="shop"), ordinary_work(USUAL, suite="docs"),
        runs(here, A, 10), runs(here, B, 0, 10), runs(there, A, 0, 10), runs(there, B, 10),
    )  # fmt: skip
    assert fitted.route(Task.of_text(NIGHTLY.text, "shop")).route == A
    assert fitted.route(Task.of_text(NIGHTLY.text, "docs")).route == B
    # A suite in which it never ran is told nothing.
    assert not fitted.route(Task.of_text(NIGHTLY.text, "wiki")).earlier
    # Without a suite it is not known which one is meant: both count, as runs on tasks like it.
    unnamed = fitted.route(NIGHTLY.text)
    assert {e.like for e in unnamed.earlier} == {True}
    on_a, on_b = successes(fitted, NIGHTLY.text)
    assert abs(on_a - on_b) < 0.25


def test_a_template_with_other_numbers() -> None:
    """Last weeks' exports went well with A and badly with B; this week's is the same task with another date."""
    text = "Export the invoices of week {} to the folder /exports/2026-{:02d} and send the totals to finance"
    weeks = [Task(f"export-{w}", text=text.format(w, w)) for w in range(10, 16)]
    before = [o for task in weeks for o in runs(task, A, 1) + runs(task, B, 0, 1)]
    fitted = router(ordinary_work(USUAL), before)
    decision = fitted.route(text.format(17, 17))
    assert decision.route == A
    assert {e.like for e in decision.earlier} == {True}
    assert "Ran on tasks like it: claude-code:claude-opus-4-5 6 times, all solved" in "\n".join(in_words(decision))
    assert fitted.route("Export the film rights of the studio to a new owner").route == B


def test_a_family_in_which_the_other_pair_always_wins() -> None:
    """B is better overall; in the family "payroll" A wins every time. The texts have nothing in common."""
    texts = (
        "Reconcile Q1",
        "Who was paid twice?",
        "Close the books for March",
        "Tax letters to the staff",
        "Fix pensions",
    )
    family = [Task(f"pay-{i}", text=text, meta={"family": "payroll"}) for i, text in enumerate(texts)]
    before = [o for task in family for o in runs(task, A, 2) + runs(task, B, 0, 2)]
    fitted = router(ordinary_work({A: 0.5, B: 0.7}), before)
    asked = Task("pay-9", text="Correct the bonus of the night shift", meta={"family": "payroll"})
    assert fitted.route(asked).route == A
    assert fitted.route(asked.text).route == B  # that it is payroll, only the family says


def test_a_first_repetition_moves_the_answer_sensibly() -> None:
    """No task ever ran twice; the prior says that one run is worth something, but not everything."""
    fitted = router(ordinary_work({A: 0.5, B: 0.6}))
    task = Task("work-1", text=ordinary_work({A: 0.5})[1].task.text)
    before = successes(fitted, "Draw the quarterly sales chart")
    fitted.observe(Outcome(Task("new", text="Rotate the logs"), B, 0.0))
    after = successes(fitted, "Rotate the logs")
    assert 0.1 < before[1] - after[1] < 0.45
    assert fitted.route(task).earlier  # each task of the training set is remembered, too


def test_an_observed_outcome_counts_at_once() -> None:
    fitted = router(ordinary_work(USUAL))
    decision = fitted.route(NIGHTLY.text)
    assert decision.route == B
    old = fitted.snapshot
    for _ in range(4):
        fitted.observe(decision.outcome(score=0.0, cost=0.3))
    assert fitted.route(NIGHTLY.text).route == A
    assert [e.runs for e in fitted.route(NIGHTLY.text).earlier] == [4.0]
    # A snapshot that was taken before answers as before.
    still = old.scorer.predict_tasks(old.embedder.embed([NIGHTLY.text]), [A, B], [Task.of_text(NIGHTLY.text)])
    assert not still.earlier
    assert still.success[0, 1] > still.success[0, 0]


def test_a_task_is_known_by_its_id_where_the_text_changed() -> None:
    fitted = router(ordinary_work(USUAL), runs(NIGHTLY, A, 10), runs(NIGHTLY, B, 0, 10))
    assert fitted.route(Task("nightly", text="Something quite different now")).route == A
    assert fitted.route(Task("nightly")).route == A


@pytest.mark.parametrize("text", ["", "   "])
def test_no_text_reminds_of_nothing(text: str) -> None:
    empty = [o for i in range(3) for o in runs(Task(f"e{i}", text=""), A, 5)]
    fitted = router(ordinary_work(USUAL), empty)
    assert not fitted.route(text).earlier
    assert np.isfinite(successes(fitted, text)).all()
