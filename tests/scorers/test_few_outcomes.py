"""A handful of outcomes: certainty of nothing, no ties at a ceiling, and one by one the same as all at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrouter.evidence.dataset import Dataset
from hmrouter.history.belief import SuiteBelief
from hmrouter.history.public import believe, shipped
from hmrouter.router import Router
from hmrouter.scorers.base import Training
from hmrouter.scorers.safe import Safe, SafeAlone
from hmrouter.scorers.safe.calibration import FEW_CELLS, FEW_TASKS, FOLDS, expected_rate, too_few
from hmrouter.scorers.safe.prior import EVEN, Prior
from hmrouter.types import Outcome, Route, Task

OPUS, GPT = Route("claude-opus-4-5", "claude-code"), Route("gpt-5", "codex")
PARSER, SALES, MODULE = (
    Task("T-101", text="Fix the failing unit test in the parser"),
    Task("T-102", text="Plot monthly sales from sales.csv"),
    Task("T-103", text="Rename the module and fix all imports"),
)
README = [
    Outcome(PARSER, OPUS, 1.0, cost=0.84), Outcome(PARSER, GPT, 0.0, cost=0.31), Outcome(SALES, OPUS, 1.0, cost=0.52),
    Outcome(SALES, GPT, 1.0, cost=0.22), Outcome(MODULE, GPT, 1.0, cost=0.35),
]  # fmt: skip
"""The five outcomes of the README."""
BLIND = np.zeros((1, 2))


@pytest.fixture(scope="module")
def belief() -> SuiteBelief:
    learned = believe(shipped())
    assert learned is not None
    return learned


def fit(outcomes: Sequence[Outcome], belief: SuiteBelief | None = None) -> Safe:
    """Without texts."""
    data = Dataset(outcomes)
    return Safe().fit(Training(data, np.zeros((len(data.tasks), 2)), {}, belief))


def successes(tasks: int, *routes: Route) -> list[Outcome]:
    return [Outcome(Task(f"t{i}"), r, 1.0) for i in range(tasks) for r in routes]


# -- what is claimed ------------------------------------------------------------------------------------------------


def test_five_outcomes_and_public_results_make_nothing_certain() -> None:
    router = Router().fit(Dataset(README), history=shipped())
    decision = router.route("Fix the failing CI job", pool=router.known_routes, top=None)
    ranked = {c.route: c for c in decision.ranked}
    assert len(ranked) > 200
    assert max(c.success for c in ranked.values()) < 0.9
    assert 0.6 < ranked[OPUS].success < 0.8  # two of two
    assert ranked[OPUS].success > ranked[GPT].success  # two of three
    for c in ranked.values():
        assert c.interval is not None
        assert 0.0 <= c.interval[0] < c.success < c.interval[1] <= 1.0
        assert c.merit <= c.success
    never = [c for c in ranked.values() if not c.observed]
    assert all(c.merit < ranked[OPUS].merit for c in never if c.success <= ranked[OPUS].success)
    # No ceiling at which they tie.
    best = sorted((c.success for c in never), reverse=True)[:10]
    assert len({round(p, 4) for p in best}) == 10
    # What is predicted moves with what was seen, but no further than what was seen.
    blank = Router.from_history(shipped())
    before = blank.route("Fix the failing CI job", pool=blank.known_routes, top=None)
    for c in before.ranked:
        assert c.success < ranked[c.route].success < c.success + 0.35


def test_five_outcomes_do_not_make_plans_certain() -> None:
    router = Router().fit(Dataset(README), history=shipped())
    plan = router.plan("Fix the failing CI job", pool=router.known_routes)
    assert 0.8 < plan.success < 0.97
    alone = np.prod([1.0 - a.success for a in plan.attempts])
    assert 1.0 - plan.success > 2.0 * alone  # failures of attempts at one task come together
    assert plan.attempts[-1].reached > 0.05


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10, 15])
@pytest.mark.parametrize("informed", [False, True])
def test_successes_alone_claim_no_more_than_counting_would(n: int, informed: bool, belief: SuiteBelief) -> None:
    safe = fit(successes(n, OPUS, GPT), belief if informed else None)
    success = safe.success(BLIND, [OPUS, GPT])[0]
    assert (success < (2 * n + 1) / (2 * n + 2)).all()
    assert (success > 0.5).all()
    never = safe.predict(BLIND, [Route("gpt-5", "claude-code"), Route("new", "new")]).merit[0]
    assert (never < success.max()).all()


def test_more_successes_promise_more(belief: SuiteBelief) -> None:
    for known in (None, belief):
        promised = [float(fit(successes(n, OPUS), known).success(BLIND, [OPUS])[0, 0]) for n in range(25)]
        assert (np.diff(promised) > 0).all()
        assert promised[0] == pytest.approx(0.5 if known is None else 0.4, abs=0.1)


def test_caution_acts_before_the_ceiling(belief: SuiteBelief) -> None:
    """However good everything looks, of routes that look alike the one that was run comes first."""
    outcomes = successes(4, *(Route("gpt-5", f"h{i}") for i in range(8)))
    never = [Route("gpt-5", f"g{i}") for i in range(8)]
    for known in (None, belief):
        safe = fit(outcomes, known)
        assert (safe.predict(BLIND, never).merit < safe.success(BLIND, never) - 0.01).all()
        assert safe.predict(BLIND, never).merit.max() < safe.predict(BLIND, [outcomes[0].route]).merit[0, 0]


# -- when it acts ---------------------------------------------------------------------------------------------------


def test_too_few_is_never_thirty_tasks() -> None:
    assert not any(too_few(tasks, cells) for tasks in range(FEW_TASKS, 60) for cells in range(tasks, 200))
    assert not any(too_few(tasks, FEW_CELLS) for tasks in range(FOLDS, 60))
    assert all(too_few(tasks, 1000) for tasks in range(FOLDS))
    assert FEW_TASKS <= 30  # figures of larger suites were made with learned scales


def test_with_enough_tasks_scales_and_calibration_are_learned() -> None:
    for n, few in ((FEW_TASKS - 1, True), (FEW_TASKS, False)):
        safe = fit([Outcome(Task(f"t{i}"), OPUS, float(i % 3 > 0)) for i in range(n)])
        assert safe.few_ is few
        assert (safe.calibration_.cells == 0) is few
        assert (safe.reliability() == {}) is few
        assert (safe.pooled_.prior.shares.mu < 1.0) is few


def test_a_saved_scorer_knows_how_few_they_were(belief: SuiteBelief) -> None:
    safe, routes = fit(README, belief), [OPUS, GPT, Route("new", "codex")]
    assert np.array_equal(Safe.from_state(safe.state()).predict(BLIND, routes).merit, safe.predict(BLIND, routes).merit)


# -- one by one -----------------------------------------------------------------------------------------------------


CELLS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5), st.floats(0, 1)), min_size=1, max_size=20)


@settings(max_examples=60)
@given(CELLS, st.integers(0, 20), st.booleans())
def test_few_outcomes_one_by_one_are_the_same_at_once(
    belief: SuiteBelief, cells: list[tuple[int, int, float]], first: int, informed: bool
) -> None:
    """From the first outcome on, since nothing but the posterior is learned from them."""
    routes = [
        OPUS,
        GPT,
        Route("gpt-5", "openhands"),
        Route("new", "codex"),
        Route("gpt-4o", "new"),
        Route("new", "new"),
    ]
    outcomes = [Outcome(Task(f"t{t}"), routes[r], score) for t, r, score in cells]
    known = belief if informed else None
    safe, want = fit(outcomes[:first], known), fit(outcomes, known)
    for o in outcomes[first:]:
        safe.observe(o, BLIND[0])
    one, two = safe.predict(BLIND, routes), want.predict(BLIND, routes)
    for part in ("success", "merit", "interval"):
        assert np.allclose(getattr(one, part), getattr(two, part), rtol=0, atol=1e-8)


# -- the parts ------------------------------------------------------------------------------------------------------

MEAN, SD = st.floats(-3, 4), st.floats(0.01, 2)


@given(MEAN, SD)
def test_the_expected_rate_is_the_mean_of_what_is_clipped(mean: float, sd: float) -> None:
    places = np.linspace(-9, 9, 200_001)
    density = np.exp(-(places**2) / 2.0)
    want = (np.clip(mean + sd * places, 0, 1) * density).sum() / density.sum()
    assert expected_rate(np.array(mean), np.array(sd**2)) == pytest.approx(want, abs=1e-6)


@given(MEAN, st.floats(0.001, 1), SD)
def test_a_larger_mean_is_a_larger_rate_and_failures_mirror_successes(mean: float, more: float, sd: float) -> None:
    here, there, mirrored = expected_rate(np.array([mean, mean + more, 1.0 - mean]), np.full(3, sd**2)).tolist()
    assert 0.0 <= here <= there + 1e-12 <= 1.0 + 1e-12
    assert mirrored == pytest.approx(1.0 - here, abs=1e-12)


def test_a_rate_that_is_known_is_itself_and_what_is_unknown_is_in_the_middle() -> None:
    assert expected_rate(np.array([-0.5, 0.3, 1.5]), np.zeros(3)) == pytest.approx([0.0, 0.3, 1.0], abs=1e-8)
    assert expected_rate(np.array([0.9, 1.5]), np.full(2, 1e6)) == pytest.approx(0.5, abs=0.001)


def test_before_any_outcome(belief: SuiteBelief) -> None:
    nothing = np.zeros(0)
    assert Prior.before(belief) == Prior.of(nothing, belief)
    alone = Prior.before()
    assert alone.rate == EVEN
    assert alone.shares.mu * alone.variance == pytest.approx(np.linspace(0, 1, 100_001).var(), abs=1e-4)
    safe = SafeAlone().fit(Training(Dataset([]), np.zeros((0, 2)), {}, belief))
    assert safe.pooled_.prior == alone
