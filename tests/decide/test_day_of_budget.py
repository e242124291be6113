"""A budget per day: a simulated day of 5,000 tasks, and the books behind it."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrouter.decide.budgets import Admission, DayBudget
from hmrouter.errors import UsageError
from hmrouter.types import Candidate, Decision, Evidence, Route, Task

MORNING = datetime(2026, 3, 2, tzinfo=UTC)
ROUTES = [Route(f"m{i}", "codex") for i in range(6)]


class Clock:
    def __init__(self) -> None:
        self.now = MORNING

    def __call__(self) -> datetime:
        return self.now


def decision(success: Any, dollars: Any, weight: float = 0.0) -> Decision:
    """Candidates ranked by success - weight * dollars."""
    made = [
        Candidate(r, float(p), 0.0, float(p), float(p - weight * (c or 0.0)), None if c is None else float(c), "route",
                  True, Evidence(1, 1, 1))
        for r, p, c in zip(ROUTES, success, dollars, strict=False)
    ]  # fmt: skip
    return Decision(Task("t"), tuple(sorted(made, key=lambda c: -c.value)), cost_weight=weight)


def day(budget: DayBudget, clock: Clock, *, office: bool = False, change: float = 2.0, seed: int = 0) -> dict[str, Any]:
    """5,000 tasks, prices that drift to `change` times while estimates follow late, runs of 15 minutes on average."""
    rng = np.random.default_rng(seed)
    base, quality = np.geomspace(0.05, 3.0, 6), np.linspace(0.35, 0.75, 6)
    estimate = base.copy()
    running: list[tuple[float, int, Admission, float, int]] = []
    seen: Counter[str] = Counter()
    most = 0.0

    def finish(until: float) -> None:
        while running and running[0][0] <= until:
            _, _, admission, paid, route = heapq.heappop(running)
            budget.finish(admission, paid)
            estimate[route] += 0.02 * (paid - estimate[route])

    start = clock.now
    times = np.sort(rng.beta(4, 4, 5000) if office else rng.random(5000)) * 86_000
    for i, at in enumerate(times.tolist()):
        clock.now = start + timedelta(seconds=at)
        finish(at)
        success = np.clip(quality + rng.normal(0, 0.08, 6), 0.02, 0.98)
        admission = budget.start(decision(success, estimate, budget.cost_weight))
        seen["deferred" if admission.deferred else "instead" if admission.note else "first"] += 1
        if admission.route is not None:
            route = ROUTES.index(admission.route)
            price = base[route] * change ** (at / 86_400)
            paid = min(float(price * rng.lognormal(-0.35, 0.83)), admission.cap)  # the runner stops at the cap
            heapq.heappush(running, (at + rng.exponential(900), i, admission, paid, route))
        report = budget.report()
        most = max(most, report["spent"] + report["reserved"])
    finish(86_399.0)
    clock.now = start + timedelta(seconds=86_399)
    return {"spent": budget.report()["spent"], "most": most, **seen}


@pytest.mark.parametrize(
    ("dollars", "change", "office", "tasks"),
    [(1500.0, 2.0, False, None), (3000.0, 0.4, False, None), (600.0, 2.0, True, 5000), (200.0, 2.0, False, None)],
    ids=["prices double", "prices fall", "office hours", "not even the cheapest for all"],
)
def test_a_day_ends_within_five_percent_below_the_budget(
    dollars: float, change: float, office: bool, tasks: int | None
) -> None:
    clock = Clock()
    budget = DayBudget(dollars, tasks_per_day=tasks, clock=clock)
    came = day(budget, clock, office=office, change=change)
    assert came["most"] <= dollars + 1e-9  # spent and reserved, at every moment
    assert 0.95 * dollars <= came["spent"] <= dollars
    assert budget.report()["overshoots"] == 0
    assert came["deferred"] == budget.report()["deferred"]
    if dollars >= 600:  # enough for the cheapest: nearly every task runs
        assert came["deferred"] <= 150


def test_the_second_day_knows_how_many_tasks_to_expect() -> None:
    clock = Clock()
    budget = DayBudget(1500.0, clock=clock)
    day(budget, clock, office=True)
    clock.now = MORNING + timedelta(days=1)
    came = day(budget, clock, office=True, seed=1)
    assert 0.95 * 1500 <= came["spent"] <= came["most"] <= 1500 + 1e-9


def test_a_budget_that_does_not_bind_weighs_nothing() -> None:
    clock = Clock()
    budget = DayBudget(1e6, tasks_per_day=1000, clock=clock)
    for _ in range(300):
        budget.finish(budget.start(decision([0.5, 0.9], [0.1, 2.0], budget.cost_weight)), 2.0)
    assert budget.cost_weight == 0.0


# -- the books --------------------------------------------------------------------------------------------------------


def test_a_run_reserves_its_cap_and_pays_its_cost() -> None:
    budget = DayBudget(10.0, clock=Clock())
    run = budget.start(decision([0.9], [1.0]))
    assert (run.route, run.cap, run.note, run.deferred) == (ROUTES[0], 4.0, "", False)
    assert budget.left() == 6.0
    budget.finish(run, 0.5)
    assert budget.left() == 9.5
    with pytest.raises(
        UsageError, match="is not open here; it was deferred, is finished already, or has another budget"
    ):
        budget.finish(run, 0.5)
    unknown = budget.start(decision([0.9], [1.0]))
    budget.finish(unknown, None)
    assert budget.left() == 5.5  # a cost that nobody knows is taken to be the whole cap
    with pytest.raises(UsageError, match="cost nan is not a finite number"):
        budget.finish(unknown, float("nan"))


def test_a_cheaper_route_or_tomorrow() -> None:
    clock = Clock()
    budget = DayBudget(5.0, clock=clock)
    first = budget.start(decision([0.9, 0.5], [1.0, 0.2]))
    second = budget.start(decision([0.9, 0.5], [1.0, 0.2]))
    assert (first.route, second.route) == (ROUTES[0], ROUTES[1])
    assert second.note == "instead of codex:m0: it reserves $4.00 and $1.00 of the day's budget are left"
    third = budget.start(decision([0.9, 0.5], [1.0, 0.2]))
    assert third.deferred
    assert third.note == (
        "deferred: $0.20 of the day's $5.00 are left and the cheapest candidate, codex:m1, reserves $0.80; "
        "the next budget starts at 2026-03-03T00:00+00:00"
    )
    clock.now += timedelta(days=1)
    assert not budget.start(decision([0.9, 0.5], [1.0, 0.2])).deferred


def test_a_given_cap_and_unknown_costs() -> None:
    budget = DayBudget(5.0, max_run_cost=2.0, clock=Clock())
    made = budget.start(decision([0.9, 0.8, 0.5], [3.0, None, 1.5]))
    assert (made.route, made.cap) == (ROUTES[2], 2.0)
    assert made.note == "instead of codex:m0: it is expected to cost $3.00, above the cap of a run"
    none = budget.start(decision([0.9], [None]))
    assert none.deferred
    assert none.note == "deferred: no candidate can be given a cap; of codex:m0, its cost is not known"


def test_a_run_that_was_not_stopped_is_booked_and_counted() -> None:
    budget = DayBudget(5.0, clock=Clock())
    budget.finish(budget.start(decision([0.9], [1.0])), 7.0)
    report = budget.report()
    assert (report["spent"], report["overshoots"], report["overshot"]) == (7.0, 1, 3.0)
    assert budget.left() == -2.0
    assert budget.start(decision([0.9], [0.01])).note.startswith("deferred: $0 of the day's $5.00 are left")


def test_a_run_over_midnight_counts_for_the_day_it_started_on() -> None:
    clock = Clock()
    budget = DayBudget(5.0, clock=clock)
    run = budget.start(decision([0.9], [1.0]))
    clock.now += timedelta(days=1)
    assert budget.left() == 5.0
    assert budget.unfinished() == [run]
    budget.finish(run, 3.0)
    assert (budget.left(), budget.unfinished(), budget.report()["spent"]) == (5.0, [], 0.0)
    clock.now -= timedelta(hours=1)  # a clock that is set back does not open yesterday again
    assert budget.report()["day"] == "2026-03-03"


def test_state_is_whole() -> None:
    clock = Clock()
    clock.now += timedelta(hours=9)
    budget = DayBudget(50.0, tasks_per_day=40, max_run_cost=3.0, clock=clock)
    for paid in (1.0, 2.0):
        budget.finish(budget.start(decision([0.9, 0.5], [1.0, 0.2])), paid)
    run = budget.start(decision([0.9, 0.5], [1.0, 0.2]))
    loaded = DayBudget.from_state(json.loads(json.dumps(budget.state())), clock=clock)
    assert loaded.report() == budget.report()
    assert loaded.cost_weight == budget.cost_weight
    assert loaded.unfinished() == [run]
    loaded.finish(loaded.unfinished()[0], 1.5)
    assert loaded.left() == 50.0 - 1.0 - 2.0 - 1.5
    assert DayBudget.from_state(DayBudget(1.0, clock=clock).state(), clock=clock).left() == 1.0


@pytest.mark.parametrize(
    "wrong", [{"budget_per_day": 0.0}, {"tasks_per_day": -1.0}, {"max_run_cost": float("nan")}, {"headroom": 0.5}]
)
def test_settings_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(wrong))} .* is not a finite number"):
        DayBudget(**({"budget_per_day": 5.0} | wrong))  # type: ignore[arg-type]


@settings(max_examples=60)
@given(
    st.floats(0.5, 20.0),
    st.lists(
        st.tuples(
            st.lists(st.floats(0.0, 3.0), min_size=1, max_size=4), st.floats(0.0, 1.0), st.booleans(), st.integers(0, 7)
        ),
        max_size=40,
    ),
)
def test_whatever_comes_the_budget_holds(dollars: float, tasks: list[tuple[list[float], float, bool, int]]) -> None:
    """Runs that start and end in any order over several days, each stopped at its cap."""
    clock = Clock()
    budget = DayBudget(dollars, clock=clock)
    open_runs: list[tuple[Admission, float]] = []
    for costs, share, end_one, hours in tasks:
        clock.now += timedelta(hours=hours)
        admission = budget.start(decision(np.linspace(0.9, 0.1, len(costs)), costs, budget.cost_weight))
        if admission.deferred:
            assert min(costs) * 4.0 > budget.left()
        else:
            assert admission.expected <= admission.cap
            open_runs.append((admission, share * admission.cap))
        if end_one and open_runs:
            budget.finish(*open_runs.pop(0))
        report = budget.report()
        assert report["spent"] + report["reserved"] <= dollars * (1 + 1e-12)


def test_threads_share_one_budget() -> None:
    budget = DayBudget(20.0, clock=Clock())

    def work(_: int) -> float:
        admission = budget.start(decision([0.9, 0.5], [0.1, 0.01], budget.cost_weight))
        if admission.deferred:
            return 0.0
        assert budget.left() >= -1e-9
        budget.finish(admission, admission.cap)
        return admission.cap

    with ThreadPoolExecutor(8) as pool:
        paid = sum(pool.map(work, range(400)))
    assert budget.report()["spent"] == pytest.approx(paid)
    assert paid <= 20.0 + 1e-9
    assert (budget.report()["reserved"], budget.unfinished()) == (0, [])
