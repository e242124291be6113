"""The stop rule: who leads, what is left to lose, and whether more runs pay."""

from __future__ import annotations

import numpy as np
import pytest

from hmrouter.errors import UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.probe import ProbeGoal, Prober
from hmrouter.probe.standing import Rate, Standing, Worth, advice, best_of, gain_of
from hmrouter.types import Outcome, Route, Task

A, B, C = (Route(m, "h") for m in ("a", "b", "c"))
TASKS = [Task(f"t{i:02d}") for i in range(40)]


def prober(cost: float | None = 0.1, **good: int) -> Prober:
    """Routes a, b and c with so many successes in twenty runs."""
    outcomes = [
        Outcome(TASKS[i], Route(name, "h"), float(i < n), cost=cost) for name, n in good.items() for i in range(20)
    ]
    return Prober(Dataset(outcomes, tasks=TASKS))


def test_a_clear_lead_is_seen() -> None:
    clear, close = prober(a=20, b=2).standing(), prober(a=11, b=10).standing()
    assert (clear.leader.route, close.leader.route) == (A, A)
    assert clear.challenger is not None
    assert clear.challenger.route == B
    assert clear.p_best > 0.99 > 0.7 > close.p_best > 0.4
    assert clear.regret < 0.001 < close.regret
    assert (clear.routes, clear.runs) == (2, 40)
    assert "h:a at" in clear.words()[0]
    assert "probability of 100%" in clear.words()[1]


def test_one_route_leaves_nothing_to_choose() -> None:
    standing = prober(a=11).standing()
    assert (standing.challenger, standing.p_best, standing.regret) == (None, 1.0, 0.0)
    assert "the only pair" in " ".join(standing.words())
    assert advice([standing], [], 0.9) == ("stop", "there is nothing to choose from")


def test_a_rate_stays_between_none_and_all() -> None:
    rate = Rate.of(A, 1.02, 0.1)
    assert (rate.success, rate.high) == (1.0, 1.0)
    assert rate.low == pytest.approx(1.02 - 0.1645, abs=1e-3)


def test_more_runs_are_worth_more_and_never_less_than_nothing() -> None:
    outlook = prober(a=11, b=10, c=9).outlook()
    points = [worth.points for worth in outlook]
    assert [worth.runs for worth in outlook] == [10, 20, 40, 60]  # sixty cells are left
    assert points == sorted(points)
    assert 0.0 <= points[0] < points[-1] < 0.2
    assert outlook[-1].cost == pytest.approx(6.0)
    assert outlook[-1].dollars == pytest.approx(1000 * points[-1])


def test_knowing_everything_is_worth_the_regret_that_is_left() -> None:
    p = prober(a=11, b=10, c=9)
    known = p.posterior.copy()
    known.cov = np.zeros_like(known.cov)
    gained = gain_of(p.posterior, known, p.among)
    assert gained == pytest.approx(p.standing().regret, rel=0.02)


def test_advice_weighs_value_against_cost() -> None:
    p = prober(a=11, b=10, c=9)
    assert advice([p.standing()], p.outlook(value=1e-4), 0.9)[0] == "stop"
    assert advice([p.standing()], p.outlook(value=1e-4), 0.9, out=35) == (
        "wait",
        "35 suggested runs are still out, and with these, more cost more than they are worth; import what comes back",
    )
    verdict, why = advice([p.standing()], p.outlook(value=100.0), 0.9)
    assert verdict == "go on"
    assert "worth more than they cost" in why
    assert advice([p.standing()], p.outlook(value=100.0), 0.1)[0] == "stop"
    unpriced = prober(cost=None, a=11, b=10)
    assert advice([unpriced.standing()], unpriced.outlook(), 0.9)[0] == "go on"
    assert advice([p.standing()], [], 0.9) == ("stop", "nothing is left to run")
    assert advice([p.standing()], [], 0.9, out=3) == (
        "wait",
        "nothing else is left to run, and 3 suggested runs are still out; import what comes back",
    )
    sure = prober(a=20, b=2).standing()
    assert advice([sure, p.standing()], p.outlook(value=100.0), 0.9)[0] == "go on"  # one pair of the frontier is open
    assert advice([sure, sure], p.outlook(value=100.0), 0.9)[1].startswith("each of these is, at its price, the best")
    with pytest.raises(UsageError, match="is not a probability"):
        advice([p.standing()], [], 90.0)


def test_the_best_batch_is_the_one_that_leaves_most() -> None:
    worths = [
        Worth(n, points, cost, 1.0, 1000) for n, points, cost in ((10, 0.001, 2.0), (40, 0.02, 8.0), (80, 0.021, 16.0))
    ]
    assert best_of(worths).runs == 40
    assert "40 runs, for about $8.00" in best_of(worths).words()
    assert "not known" in Worth(1, 0.0, None, 1.0, 1).words()


def test_what_is_out_already_makes_the_next_batch_worth_less() -> None:
    p = prober(a=11, b=10, c=9)
    first = p.suggest(runs=20)
    out = [(*s.task.key, s.route) for s in first.suggestions]
    second = p.suggest(runs=20, out=out)
    assert not {(*s.task.key, s.route) for s in second.suggestions} & set(out)
    assert first.worth is not None
    assert second.worth is not None
    assert second.worth.points < p.suggest(runs=40).worth.points  # type: ignore[union-attr]


def test_standing_is_that_of_the_pool() -> None:
    p = prober(a=20, b=2, c=11)
    pooled = Prober(p.data, pool=[B, C])
    assert pooled.standing().leader.route == C
    assert isinstance(pooled.standing(), Standing)
    assert {s.route for s in pooled.suggest(runs=5, goal=ProbeGoal.BEST).suggestions} <= {B, C}
