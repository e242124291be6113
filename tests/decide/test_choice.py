"""From scores to decisions: the incumbent, caution, and how sure a choice is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pytest

from hmrouter.decide.policy import Policy
from hmrouter.decide.uncertainty import best_and_regret, probability_above
from hmrouter.errors import UnknownName
from hmrouter.evidence.dataset import Dataset
from hmrouter.router import Router
from hmrouter.scorers.base import Prediction, Scorer, Training
from hmrouter.state import Floats, State
from hmrouter.types import Decision, Outcome, Route, Task

ROUTES = [Route(f"m{i}", "h") for i in range(3)]


class Said(Scorer):
    """Says what it was told: means and standard deviations of independent success rates."""

    name = "said"

    def __init__(self, mean: Sequence[float], sd: Sequence[float] | None) -> None:
        self.mean, self.sd = np.array(mean), sd

    def fit(self, training: Training) -> Self:
        return self

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        p = self.mean[[ROUTES.index(r) for r in routes]]
        return np.tile(np.log(p / (1 - p)), (len(x), 1))

    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        said = super().predict(x, routes)
        if self.sd is None:
            return said
        sd = np.array(self.sd)[[ROUTES.index(r) for r in routes]]
        return replace(said, joint=lambda task, which: np.diag(sd[list(which)] ** 2))

    def state(self) -> State:
        return State()

    @classmethod
    def from_state(cls, state: State) -> Self:
        raise NotImplementedError


def decide(mean: Sequence[float], sd: Sequence[float] | None, **options: Any) -> Decision:
    data = Dataset([Outcome(Task("t", text="x"), r, 1.0, cost=1.0 + i) for i, r in enumerate(ROUTES)])
    return Router(Said(mean, sd)).fit(data).route("x", **options)


def test_the_incumbent_is_left_only_for_a_reason() -> None:
    home = ROUTES[2]
    assert decide([0.8, 0.5, 0.7], None, incumbent=home).route == ROUTES[0]
    assert decide([0.8, 0.5, 0.7], None, incumbent=home, margin=0.2).route == home
    assert decide([0.8, 0.5, 0.7], [0.3, 0.3, 0.3], incumbent=home).route == home  # better, but who knows
    assert decide([0.8, 0.5, 0.7], [0.02, 0.3, 0.02], incumbent=home).route == ROUTES[0]
    assert decide([0.8, 0.5, 0.7], [0.3, 0.3, 0.3], incumbent=home).ranked[1].route == ROUTES[0]


def test_a_sure_second_is_reason_enough_to_leave_the_incumbent() -> None:
    made = decide([0.8, 0.78, 0.7], [0.3, 0.02, 0.02], incumbent=ROUTES[2])
    assert made.route == ROUTES[1]
    assert made.n_candidates == 3


def test_an_incumbent_that_is_best_or_too_dear_changes_nothing() -> None:
    assert decide([0.8, 0.5, 0.7], [0.1] * 3, incumbent=ROUTES[0]).route == ROUTES[0]
    assert decide([0.8, 0.5, 0.9], [0.1] * 3, incumbent=ROUTES[2], max_cost=2.5).route == ROUTES[0]
    with pytest.raises(UnknownName, match="incumbent 'h:m9' is not in the pool"):
        decide([0.8, 0.5, 0.9], None, incumbent=Route("m9", "h"))


def test_sure_or_not_is_in_terms_of_value() -> None:
    plain = decide([0.8, 0.75, 0.7], [0.05] * 3)
    weighed = decide([0.8, 0.75, 0.7], [0.05] * 3, cost_weight=0.1)  # costs 1, 2, 3: the gaps grow by 0.1 each
    assert plain.ranked[0].p_best is not None
    assert weighed.ranked[0].p_best is not None
    assert weighed.ranked[0].p_best > plain.ranked[0].p_best
    assert sum(c.p_best or 0.0 for c in plain.ranked) == pytest.approx(1.0)
    assert plain.expected_regret is not None
    assert 0.0 < plain.expected_regret < 0.05
    assert decide([0.8, 0.75, 0.7], None).expected_regret is None


def test_costs_come_with_intervals_and_seconds() -> None:
    made = [
        Outcome(Task(f"t{i}"), r, 1.0, cost=1.0 + j, seconds=30.0 * (1 + j) if j else None)
        for i in range(9)
        for j, r in enumerate(ROUTES)
    ]
    shown = {c.route: c for c in Router("fixed").fit(Dataset(made)).route("x").ranked}
    for route, candidate in shown.items():
        assert candidate.cost is not None
        assert candidate.cost_interval is not None
        assert candidate.cost_interval[0] < candidate.cost < candidate.cost_interval[1]
        expected = 30.0 * (1 + ROUTES.index(route))
        if route == ROUTES[0]:  # never timed: an estimate from its harness
            expected = (60.0 * 90.0) ** 0.5
        assert candidate.seconds == pytest.approx(expected, rel=0.1)
        assert candidate.seconds_interval is not None


def test_policy_with_an_incumbent_survives_save_and_load(tmp_path: Any) -> None:
    data = Dataset([Outcome(Task(f"t{i}"), r, float(i % 2), cost=1.0) for i in range(6) for r in ROUTES])
    router = Router("fixed", policy=Policy(incumbent=ROUTES[1], margin=0.1)).fit(data)
    router.save(tmp_path / "r.hmr")
    assert Router.load(tmp_path / "r.hmr").policy == router.policy
    assert router.route("x").route == ROUTES[1]


def test_best_and_regret_against_brute_force() -> None:
    rng = np.random.default_rng(1)
    root = rng.standard_normal((4, 4)) * 0.1
    mean, cov = rng.random(4), root @ root.T
    draws = rng.multivariate_normal(mean, cov, size=200_000)
    p, regret = best_and_regret(mean, cov, chosen=2)
    np.testing.assert_allclose(p, np.bincount(draws.argmax(axis=1), minlength=4) / len(draws), atol=0.03)
    assert regret == pytest.approx((draws.max(axis=1) - draws[:, 2]).mean(), abs=0.01)
    assert probability_above(mean, cov, 0, 1) == pytest.approx((draws[:, 0] > draws[:, 1]).mean(), abs=0.01)


def test_suites_learned_together_have_a_level_each() -> None:
    """A route that ran on an easy suite only must not look better than one that beats it on the same tasks."""
    weak, strong = Route("weak", "h"), Route("strong", "h")
    easy = [Outcome(Task(f"e{i}", "easy"), weak, float(i % 10 > 0)) for i in range(60)]
    hard = [
        Outcome(Task(f"h{i}", "hard"), r, float(i % 10 < n)) for i in range(60) for r, n in ((weak, 2), (strong, 4))
    ]
    decision = Router("safe").fit(Dataset([*easy, *hard])).route(Task("new", "hard"))
    assert decision.route == strong


def test_an_unusual_text_does_not_promise_certainty() -> None:
    """The README's five outcomes, four of them successes: no text makes any route nearly certain."""
    rows = [("T-101", "Fix the failing unit test in the parser", "claude-opus-4-5", "claude-code", 1),
            ("T-101", "Fix the failing unit test in the parser", "gpt-5", "codex", 0),
            ("T-102", "Plot monthly sales from sales.csv", "claude-opus-4-5", "claude-code", 1),
            ("T-102", "Plot monthly sales from sales.csv", "gpt-5", "codex", 1),
            ("T-103", "Rename the module and fix all imports", "gpt-5", "codex", 1)]  # fmt: skip
    data = Dataset([Outcome(Task(t, text=text), Route(m, h), float(s)) for t, text, m, h, s in rows])
    router = Router().fit(data)
    for text in ("Fix the failing CI job", "x", "", "整理会议资料", "word " * 5000):
        assert all(0.3 < c.success < 0.97 for c in router.route(text).ranked), text
