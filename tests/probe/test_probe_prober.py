"""The whole of it: goals, limits, constraints, and what is said where there is nothing to suggest."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hmrouter.costs import RouteCosts
from hmrouter.errors import HMRouterError, InputError, NoRoute, UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.history.public import believe, shipped
from hmrouter.probe import ProbeGoal, Prober
from hmrouter.types import Outcome, Route, Task

A, B, C = Route("big", "loop"), Route("small", "loop"), Route("small", "pilot")
NEW = Route("next", "loop")
TASKS = [Task(f"t{i:02d}") for i in range(30)]
DOLLARS = {A: 1.0, B: 0.2, C: 0.25}


def data(
    routes: Sequence[Route] = (A, B, C), tasks: int = 12, cost: bool = True, more: Sequence[Outcome] = ()
) -> Dataset:
    """Every route on the first tasks; the others were not run."""
    cells = [
        Outcome(TASKS[i], r, float((3 * i + 2 * j) % 5 < 3 - j), cost=DOLLARS[r] if cost else None)
        for i in range(tasks)
        for j, r in enumerate(routes)
    ]
    return Dataset([*cells, *more], tasks=TASKS)


def test_a_batch_keeps_its_limits_and_says_what_it_costs() -> None:
    batch = Prober(data()).suggest(budget=3.0)
    assert batch.suggestions
    assert batch.cost == pytest.approx(sum(DOLLARS[s.route] for s in batch.suggestions), rel=0.05)
    assert batch.cost is not None
    assert batch.cost <= 3.0
    assert {s.cost_basis for s in batch.suggestions} == {"route"}
    assert all(s.task.key not in {t.key for t in TASKS[:12]} for s in batch.suggestions)  # those were run
    assert len(Prober(data()).suggest(budget=3.0, runs=2).suggestions) == 2
    assert len(Prober(data()).suggest(runs=4).suggestions) == 4


def test_the_same_question_has_the_same_answer() -> None:
    assert Prober(data()).suggest(runs=9) == Prober(data()).suggest(runs=9)


def test_routes_over_the_cap_are_neither_run_nor_asked_about() -> None:
    prober = Prober(data(), max_cost=0.5)
    assert {s.route for s in prober.suggest(runs=8).suggestions} <= {B, C}
    assert prober.standing().leader.route in (B, C)
    assert prober.excluded == {"over max_cost": 1}
    with pytest.raises(NoRoute, match=r"no pair of 3 costs at most \$0.01 per run; the cheapest is loop:small"):
        Prober(data(), max_cost=0.01)
    with pytest.raises(NoRoute, match="no cost of any of 3 pairs is known"):
        Prober(data(cost=False), max_cost=1.0)


def test_a_pool_may_hold_pairs_that_were_never_run() -> None:
    prober = Prober(data(), pool=[A, NEW])
    assert {s.route for s in prober.suggest(runs=6).suggestions} <= {A, NEW}
    assert NEW in {s.route for s in prober.suggest(runs=6).suggestions}


def test_a_new_pair_is_run_on_tasks_that_tell() -> None:
    # Everybody solves the first twenty tasks; the rest tell the good route from the others.
    cells = [Outcome(TASKS[i], r, float(i < 20 or r == A), cost=DOLLARS[r]) for i in range(30) for r in (A, B, C)]
    batch = Prober(Dataset(cells), pool=[A, B, C, NEW]).suggest(runs=5, goal=ProbeGoal.PAIR, pairs=[NEW])
    assert [s.route for s in batch.suggestions] == [NEW] * 5
    assert {s.task.id for s in batch.suggestions} <= {t.id for t in TASKS[20:]}
    assert batch.worth is None
    (before,), (after,) = batch.rates, batch.rates_after
    assert before.route == NEW
    assert after.width < before.width
    assert "what loop:next costs is a guess from other pairs" in batch.notes[-1]


def test_what_is_known_of_a_pair_follows_its_runs() -> None:
    def rate(score: float) -> float:
        runs = [Outcome(TASKS[i], NEW, score) for i in range(6)]
        cells = [Outcome(TASKS[i], r, float(i % 2)) for i in range(12) for r in (A, B, C)]
        prober = Prober(Dataset([*cells, *runs], tasks=TASKS))
        return prober.suggest(runs=1, goal=ProbeGoal.PAIR, pairs=[NEW]).rates[0].success

    assert rate(0.0) < 0.4 < 0.6 < rate(1.0)


def test_other_suites_have_a_say() -> None:
    strong, weak = Route("claude-opus-4-5", "openhands"), Route("gpt-4o", "openhands")
    belief = believe(shipped())
    told = Prober(Dataset([], tasks=TASKS), pool=[strong, weak], belief=belief).standing()
    assert told.leader.route == strong
    assert told.p_best > 0.8
    assert Prober(Dataset([], tasks=TASKS), pool=[strong, weak]).standing().p_best == pytest.approx(0.5, abs=0.05)


def test_costs_come_from_elsewhere_where_there_are_none_here() -> None:
    elsewhere = RouteCosts()
    elsewhere.add(NEW, 0.5)
    prober = Prober(data(cost=False), pool=[A, NEW], elsewhere=elsewhere)
    new = prober.costs[prober.routes.index(NEW)]
    assert new.dollars == pytest.approx(0.5)
    assert new.basis == "history"


def test_the_frontier_holds_what_nothing_cheaper_beats() -> None:
    cells = [
        Outcome(TASKS[i], r, float(i < n), cost=DOLLARS[r]) for r, n in ((A, 19), (B, 9), (C, 3)) for i in range(20)
    ]
    frontier = Prober(Dataset(cells)).frontier()
    assert [(s.leader.route, round(cost, 1)) for s, cost in frontier] == [(B, 0.2), (A, 1.0)]
    assert frontier[0][0].leader.success < frontier[1][0].leader.success
    assert (frontier[0][0].challenger, frontier[0][0].p_best) == (None, 1.0)  # nothing else is as cheap
    whole = Prober(Dataset(cells)).standing()
    assert frontier[1][0] == whole


def test_the_frontier_is_worth_more_runs_where_its_cheap_end_is_open() -> None:
    cheap = {B: 0.2, C: 0.2}
    cells = [Outcome(TASKS[i], A, 1.0, cost=5.0) for i in range(25)]
    cells += [Outcome(TASKS[i], r, float(i % 2), cost=cost) for r, cost in cheap.items() for i in range(6)]
    prober = Prober(Dataset(cells, tasks=TASKS))
    assert prober.standing().p_best > 0.95
    best, frontier = (prober.outlook(goal=goal)[-1].points for goal in (ProbeGoal.BEST, ProbeGoal.FRONTIER))
    assert best < 0.001 < frontier


def test_pairs_over_the_cap_cannot_be_asked_about() -> None:
    capped = Prober(data(), max_cost=0.5)
    with pytest.raises(NoRoute, match="of loop:big, none is known to keep the cap"):
        capped.suggest(runs=3, goal=ProbeGoal.PAIR, pairs=[A])
    assert {s.route for s in capped.suggest(runs=3, goal=ProbeGoal.PAIR, pairs=[A, B]).suggestions} == {B}


# -- where there is nothing to suggest ------------------------------------------------------------------------------


def test_one_route_can_be_run_but_not_chosen() -> None:
    batch = Prober(data([A])).suggest(runs=3)
    assert [s.route for s in batch.suggestions] == [A] * 3
    assert batch.worth is not None
    assert batch.worth.points == 0.0


def test_all_cells_run_leaves_nothing() -> None:
    batch = Prober(data(tasks=30)).suggest(budget=5.0)
    assert batch.suggestions == ()
    assert "nothing left to suggest" in batch.notes[0]
    assert Prober(data(tasks=30)).outlook() == []


def test_a_pair_whose_cost_nobody_knows_counts_as_dear() -> None:
    prober = Prober(data(), pool=[A, Route("other", "somewhere")])
    batch = prober.suggest(budget=3.0)
    assert "1 pair has no known cost and counts as dear as" in " ".join(batch.notes)
    assert len(batch.suggestions) == 3
    assert batch.cost is None


@pytest.mark.parametrize(
    ("error", "message", "what"),
    [
        (UsageError, "it is not said how many runs to suggest; give a budget", {}),
        (UsageError, "budget -1.0 is not", {"budget": -1.0}),
        (UsageError, "budget nan is not", {"budget": float("nan")}),
        (UsageError, "runs 0 is not a number of at least 1", {"runs": 0}),
        (NoRoute, r"\$0.1 buys no run: the cheapest that is left, of loop:small, costs about \$0.20", {"budget": 0.1}),
        (UsageError, "asks about certain pairs; name one", {"runs": 1, "goal": ProbeGoal.PAIR}),
        (UsageError, "value -1.0 is not", {"runs": 1, "value": -1.0}),
        (UsageError, "horizon 0 is not", {"runs": 1, "horizon": 0}),
    ],
)
def test_a_wrong_limit_is_refused_in_one_line(
    error: type[HMRouterError], message: str, what: dict[str, float | int | ProbeGoal]
) -> None:
    with pytest.raises(error, match=message) as raised:
        Prober(data()).suggest(**what)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_what_is_out_does_not_count_as_known() -> None:
    prober = Prober(data(), pool=[A, B, C, NEW])
    first = prober.suggest(runs=10, goal=ProbeGoal.PAIR, pairs=[NEW])
    out = [(*s.task.key, s.route) for s in first.suggestions]
    second = prober.suggest(runs=10, goal=ProbeGoal.PAIR, pairs=[NEW], out=out)
    assert second.rates == first.rates
    assert second.rates_after[0].width < first.rates_after[0].width


def test_runs_with_one_harness_tell_of_the_model_with_others() -> None:
    other = Route("next", "pilot")
    seen = [Outcome(TASKS[i], NEW, 1.0) for i in range(20)]
    before, after = (
        Prober(known, pool=[A, B, C, NEW, other]).suggest(runs=1, goal=ProbeGoal.PAIR, pairs=[NEW, other]).rates[1]
        for known in (data(), data(more=seen))
    )
    assert after.route == other
    assert after.success > before.success + 0.05


def test_what_costs_nothing_can_be_had_for_nothing() -> None:
    free = Dataset([Outcome(TASKS[i], r, float(i % 2), cost=0.0) for i in range(5) for r in (A, B)], tasks=TASKS)
    assert len(Prober(free).suggest(budget=1e-9, runs=4).suggestions) == 4


def test_dollars_cannot_be_spent_where_no_cost_is_known() -> None:
    unknown = Route("other", "somewhere")
    with pytest.raises(InputError, match="no cost of this pair is known"):
        Prober(data(), pool=[A, unknown]).suggest(budget=5.0, goal=ProbeGoal.PAIR, pairs=[unknown])
    with pytest.raises(InputError, match="say how many with runs"):
        Prober(data(cost=False)).suggest(budget=5.0)
    with pytest.raises(InputError, match="no frontier"):
        Prober(data(cost=False)).suggest(runs=5, goal=ProbeGoal.FRONTIER)
    assert Prober(data(cost=False)).suggest(runs=5).cost is None


def test_no_task_and_no_route_are_refused() -> None:
    with pytest.raises(InputError, match="no task to run"):
        Prober(Dataset([], routes=[A]))
    with pytest.raises(NoRoute, match="the pool is empty"):
        Prober(Dataset([], tasks=TASKS))
    with pytest.raises(UsageError, match="max_cost -1"):
        Prober(data(), max_cost=-1)
