"""Attempts after a failure are on tasks known to be hard: `safe` does not take them for fresh ones."""

from __future__ import annotations

import numpy as np
import pytest

from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.ledger import Ledger
from hmrouter.router import Router
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

ROUTES = [Route("cheap", "h1"), Route("middle", "h2"), Route("strong", "h3")]
LEVELS = np.array([0.2, 0.7, 1.2])
SPREAD = 2.0
"""Tasks differ more than routes do, as in public suites."""


def success(difficulty: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-(LEVELS[None, :] + difficulty[:, None]))))


TRUTH = success(np.random.default_rng(99).normal(0.0, SPREAD, 200_000)).mean(axis=0)
"""How the routes do on a fresh task."""


def escalated(seed: int, n: int, explore: float) -> list[tuple[int, int, float, int]]:
    """Outcomes of plans that try the cheap route first, but for a share that is in random order."""
    rng = np.random.default_rng(seed)
    p = success(rng.normal(0.0, SPREAD, n))
    out = []
    for task in range(n):
        order = rng.permutation(3) if rng.random() < explore else np.arange(3)
        for attempt, route in enumerate(order.tolist(), start=1):
            score = float(rng.random() < p[task, route])
            out.append((task, route, score, attempt))
            if score:
                break
    return out


def predicted(rows: list[tuple[int, int, float, int]], marked: bool, same_task: bool = True) -> Floats:
    outcomes = [
        Outcome(
            Task(f"t{task}" if same_task else f"t{task}-{attempt}", text=f"task {task * 7919 % 1000003:x}" * same_task),
            ROUTES[route], score, attempt=attempt if marked else 1,
        )
        for task, route, score, attempt in rows
    ]  # fmt: skip
    decision = Router().fit(Dataset(outcomes, routes=ROUTES)).route("another thing entirely")
    by_route = {c.route: c.success for c in decision.ranked}
    return np.array([by_route[route] for route in ROUTES])


@pytest.mark.parametrize("explore", [0.0, 0.2])
def test_success_on_fresh_tasks_is_learned_from_escalated_attempts(explore: float) -> None:
    worlds = [escalated(seed, 600, explore) for seed in range(4)]
    marked = np.mean([predicted(rows, marked=True) for rows in worlds], axis=0)
    unmarked = np.mean([predicted(rows, marked=False) for rows in worlds], axis=0)
    fresh = np.mean([predicted(rows, marked=False, same_task=False) for rows in worlds], axis=0)
    assert marked.argmax() == 2
    assert fresh.argmax() != 2  # as fresh tasks, the strong route looks worst: it is only asked when it is hard
    off = {name: float(np.abs(p - TRUTH).mean()) for name, p in
           {"marked": marked, "unmarked": unmarked, "fresh": fresh}.items()}  # fmt: skip
    assert off["marked"] < 0.8 * off["unmarked"] < 0.8 * off["fresh"], off


def test_an_outcome_that_is_observed_keeps_its_mark_through_a_file_and_a_refit() -> None:
    rows = escalated(0, 40, 0.2)
    outcomes = [Outcome(Task(f"t{t}"), ROUTES[r], s, attempt=a) for t, r, s, a in rows]
    data = Dataset(outcomes)
    ledger = Ledger.of(Dataset(outcomes[:20], tasks=data.tasks, routes=ROUTES), np.zeros((40, 2)))
    for outcome in outcomes[20:]:
        ledger.add(outcome, np.zeros(2))
    again = Ledger.from_state(ledger.state())
    for known in (ledger, again):
        task, route, _, _ = known.cells()
        keys = [(int(known.keys[t]), known.routes[r]) for t, r in zip(task.tolist(), route.tolist(), strict=True)]
        marked = {key for key, mark in zip(keys, known.escalated().tolist(), strict=True) if mark}
        whole = Ledger.of(data, np.zeros((40, 2)))
        assert len(marked) == int(whole.escalated().sum()) == sum(a > 1 for *_, a in rows)


def test_a_first_attempt_makes_a_cell_one_of_a_fresh_task() -> None:
    later, first = (Outcome(Task("t"), ROUTES[0], 0.0, attempt=a, trial=str(a)) for a in (2, 1))
    assert Dataset([later]).cells.escalated.tolist() == [True]
    assert Dataset([later, first]).cells.escalated.tolist() == [False]
    ledger = Ledger.of(Dataset([later]), np.zeros((1, 2)))
    ledger.add(first, np.zeros(2))
    assert ledger.escalated().tolist() == [False]
