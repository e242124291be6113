"""What suits single tasks: switched on where it gains, off in worlds without it, exact, and honest where it is on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.checks import LAWS, Law
from hmrouter.evidence.dataset import Dataset
from hmrouter.router import Router
from hmrouter.scorers.base import Prediction, Training
from hmrouter.scorers.safe import Safe, cross_fit, gain
from hmrouter.scorers.safe.cross_fit import FitCells
from hmrouter.scorers.safe.gain import Gain, gains_by_task
from hmrouter.scorers.safe.kinds import Kinds
from hmrouter.scorers.safe.per_task import SHARE, PerTask
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

POOL = [Route(f"m{m}", f"h{h}") for m in range(4) for h in range(3)]
NEVER = [Route("m0", "new"), Route("new", "h0"), Route("new", "new")]
KINDS, DIMS = 4, 8


def interval_of(prediction: Prediction) -> tuple[Floats, Floats]:
    """The interval, of a scorer that gives one."""
    assert prediction.interval is not None
    return prediction.interval


class World:
    """Tasks of four kinds, known by their texts' vectors; what a kind adds to models and harnesses is `interaction`."""

    def __init__(self, seed: int, n: int, interaction: float = 0.0, hard: float = 0.0, suites: bool = False) -> None:
        """`hard`: how much the text tells of difficulty, in logits; `suites`: each kind is a suite."""
        self.rng, self.suites = np.random.default_rng(seed), suites
        rng = self.rng
        self.centres, self.slope = rng.standard_normal((KINDS, DIMS)), rng.standard_normal(DIMS)
        self.hard = hard
        self.route = np.repeat(rng.normal(0, 0.5, 4), 3) + np.tile(rng.normal(0, 0.4, 3), 4) + rng.normal(0, 0.3, 12)
        models, harnesses = rng.normal(0, interaction, (KINDS, 4)), rng.normal(0, interaction, (KINDS, 3))
        self.suits = np.repeat(models, 3, axis=1) + np.tile(harnesses, 4)
        self.x, self.kind, self.success = self.draw(n)
        self.score = (rng.random(self.success.shape) < self.success).astype(float)

    def draw(self, n: int) -> tuple[Floats, Any, Floats]:
        """Vectors, kinds and true success of new tasks."""
        kind = self.rng.integers(KINDS, size=n)
        x = self.centres[kind] + 0.6 * self.rng.standard_normal((n, DIMS))
        difficulty = 0.8 * self.rng.standard_normal(n) + self.hard * (x @ self.slope) / np.linalg.norm(self.slope)
        return x, kind, 1.0 / (1.0 + np.exp(difficulty[:, None] - self.route - self.suits[kind]))

    def training(self, order: int = 1) -> Training:
        tasks = [Task(f"t{i:04}", f"kind{k}" if self.suites else "s") for i, k in enumerate(self.kind)]
        outcomes = [Outcome(t, r, float(self.score[i, j])) for i, t in enumerate(tasks) for j, r in enumerate(POOL)]
        data, at = Dataset(outcomes[::order]), {t.key: i for i, t in enumerate(tasks)}
        return Training(data, self.x[[at[t.key] for t in data.tasks]], {})

    def fit(self) -> Safe:
        return Safe().fit(self.training())


@pytest.fixture(scope="module")
def strong() -> tuple[World, Safe]:
    world = World(1, 300, interaction=1.0)
    safe = world.fit()
    assert safe.per_task_ is not None
    return world, safe


def without(safe: Safe) -> Safe:
    """The same scorer without the term."""
    plain = Safe.from_state(safe.state())
    plain.per_task_ = None
    return plain


# -- on and off -----------------------------------------------------------------------------------------------------


def test_with_interaction_it_is_on_and_gains() -> None:
    on, gained = 0, []
    for seed in range(10):
        world = World(seed, 200, interaction=1.0)
        safe = world.fit()
        x, _, success = world.draw(300)
        rows, plain = np.arange(300), without(safe)
        choices = [success[rows, s.predict(x, POOL).merit.argmax(axis=1)].mean() for s in (safe, plain)]
        gained.append(choices[0] - choices[1])
        on += safe.per_task_ is not None
    assert on >= 8
    assert np.mean(gained) > 0.05
    assert min(gained) > -0.01


def test_without_interaction_it_is_off_in_95_of_100_worlds() -> None:
    """Half of the worlds add on the scale of logits and have texts that tell of difficulty: there, routes do differ in
    what an easy task gains them, but not in their order."""
    on = [World(seed, 60, hard=1.2 * (seed % 2)).fit().per_task_ is not None for seed in range(100)]
    assert sum(on) <= 5


def test_kinds_that_are_suites_are_told_by_their_texts(strong: tuple[World, Safe]) -> None:
    world = World(5, 240, interaction=1.0, suites=True)
    safe = world.fit()
    assert safe.per_task_ is not None
    x, kind, _ = world.draw(400)
    share = safe.per_task_.kinds(safe.features_.text(safe.features_(x)))[:, :KINDS]
    assert (share.argmax(axis=1) == kind).mean() > 0.9
    assert strong[1].per_task_ is not None
    assert strong[1].per_task_.kinds.bias.shape == (0,)  # one suite: nothing to tell apart


def test_without_texts_or_with_few_tasks_it_is_not_tried() -> None:
    few = World(0, gain.ENOUGH - 1, interaction=2.0).fit()
    blind = World(0, 100, interaction=2.0)
    blind.x = np.zeros_like(blind.x)
    for safe in (few, blind.fit()):
        assert safe.per_task_ is None
        assert safe.gain_ == Gain()
        assert safe.reliability()["per_task"] == 0.0


def test_it_says_whether_it_is_on_and_what_it_gained(strong: tuple[World, Safe]) -> None:
    on, off = strong[1].reliability(), World(1, 100).fit().reliability()
    assert (on["per_task"], off["per_task"]) == (1.0, 0.0)
    assert on["per_task_log_loss"] > 0.01
    assert on["per_task_regret"] > 0.01
    assert off["per_task_log_loss"] != 0.0
    texts = ("mend the parser", "plan a journey")
    tasks = [Task(f"{i}", text=f"{texts[i % 2]} {i}") for i in range(80)]
    data = Dataset([Outcome(t, r, float(j % 2 == i % 2)) for i, t in enumerate(tasks) for j, r in enumerate(POOL)])
    decision = Router().fit(data).route("plan a journey home")
    assert decision.calibration["per_task"] == 1.0
    assert POOL.index(decision.route) % 2 == 1


# -- right ----------------------------------------------------------------------------------------------------------


def test_slopes_are_the_solution_of_one_large_ridge_regression() -> None:
    world = World(3, 40, interaction=1.0)
    cells = cells_of(world, np.random.default_rng(0).random((40, 12)) < 0.6)
    everything = np.ones(len(cells.score), dtype=bool)
    pooled = cells.pooled(everything)
    found = cells.per_task(pooled, everything)
    z, prior = found.kinds(world.x), pooled.prior
    left = cells.score - pooled.predict_cells(world.x, POOL, cells.task, cells.route)
    tau, s2 = prior.shares.task * prior.variance, prior.shares.noise * prior.variance
    n = np.bincount(cells.task, minlength=40)
    left = left - (np.bincount(cells.task, weights=left, minlength=40) * tau / (s2 + n * tau))[cells.task]
    design = []
    for t, r in zip(cells.task, cells.route, strict=True):
        owners = np.zeros(4 + 3 + 12)
        owners[[r // 3, 4 + r % 3, 7 + r]] = 1.0
        design.append(np.kron(owners, z[t]))
    a = np.array(design)
    slopes = np.linalg.solve(a.T @ a / s2 + np.eye(a.shape[1]) / (SHARE * prior.variance), a.T @ left / s2)
    term = found.of_cells(world.x, POOL, cells.task, cells.route)
    assert np.abs(term).max() > 0.01
    assert np.allclose(term, a @ slopes, rtol=0, atol=1e-7)
    assert np.allclose(term, found.term(world.x, POOL)[cells.task, cells.route])


def test_a_faded_cell_is_an_observation_with_more_noise() -> None:
    """Half of every cell twice is the cell once: as weights, not as more cells."""
    cells = cells_of(World(3, 40, interaction=1.0), np.ones((40, 12), dtype=bool))
    everything = np.ones(len(cells.score), dtype=bool)
    pooled = cells.pooled(everything)
    whole = cells.per_task(pooled, everything)
    faded = replace(cells, fade=np.full(len(cells.score), 1e-6)).per_task(pooled, everything)
    assert np.abs(faded.term(cells.x, POOL)).max() < 1e-3 * np.abs(whole.term(cells.x, POOL)).max()
    assert np.allclose(faded.spread(cells.x, POOL), faded.spread(cells.x, NEVER)[:, :1], rtol=1e-3)


def test_intervals_widen_and_cover(strong: tuple[World, Safe]) -> None:
    """The success rate on tasks of a kind, over what the text does not tell, in worlds where the term is on."""
    hits, wider = [], []
    for seed in range(12):
        world = World(100 + seed, 250, interaction=0.7)
        safe = world.fit()
        if safe.per_task_ is None:
            continue
        x, kind, success = world.draw(4000)
        low, high = interval_of(safe.predict(x, POOL))
        plain_low, plain_high = interval_of(without(safe).predict(x, POOL))
        wider.append((high - low).mean() / (plain_high - plain_low).mean())
        for k in range(KINDS):
            mean, own = success[kind == k].mean(axis=0), kind == k
            hits.append((low[own].mean(axis=0) <= mean) & (mean <= high[own].mean(axis=0)))
    assert len(wider) >= 6
    assert min(wider) > 1.0
    assert np.mean(hits) > 0.85
    world, safe = strong
    joint = safe.predict(world.x[:1], [*POOL, *NEVER]).joint
    assert joint is not None
    cov = joint(0, range(len(POOL) + len(NEVER)))
    low, high = safe.mean_interval(world.x[:50], POOL)
    assert np.linalg.eigvalsh(cov).min() > 0
    assert ((low <= world.score[:50].mean(axis=0)) & (world.score[:50].mean(axis=0) <= high)).mean() > 0.8


def test_a_missing_text_is_an_average_task(strong: tuple[World, Safe]) -> None:
    world, safe = strong
    nothing = np.zeros((1, DIMS))
    assert safe.per_task_ is not None
    assert not safe.per_task_.term(safe.features_(nothing), POOL).any()
    assert np.array_equal(
        safe.predict(nothing, POOL).merit.argsort(), without(safe).predict(nothing, POOL).merit.argsort()
    )
    assert not np.array_equal(safe.predict(world.x, POOL).merit, without(safe).predict(world.x, POOL).merit)


def test_never_run_routes_take_the_slopes_of_their_model_and_harness(strong: tuple[World, Safe]) -> None:
    world, safe = strong
    assert safe.per_task_ is not None
    features = safe.features_(world.x)
    term = safe.per_task_.term(features, NEVER)
    assert np.abs(term[:, :2]).max() > 0.01
    assert not term[:, 2].any()
    never, run = safe.per_task_.spread(features, NEVER), safe.per_task_.spread(features, POOL)
    assert never.mean() > 2.0 * run.mean()


# -- the life of a scorer -------------------------------------------------------------------------------------------


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The term is on whatever it gains."""
    monkeypatch.setattr(gain, "CLEAR", -np.inf)
    monkeypatch.setattr(gain, "ENOUGH", 0)
    monkeypatch.setattr(cross_fit, "ENOUGH", 0)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_every_law_holds_where_it_is_on(law: Law) -> None:
    law.check(Safe)


@pytest.mark.usefixtures("always")
def test_observing_leaves_it_as_it_is_until_everything_is_learned_anew() -> None:
    world = World(0, 60, interaction=1.0)
    safe = world.fit()
    before = safe.per_task_
    assert before is not None
    x, _, _ = world.draw(40)
    for i in range(29):
        safe.observe(Outcome(Task(f"n{i}"), POOL[i % 12], 1.0), x[i])
    assert safe.per_task_ is before
    for i in range(40):
        for route in POOL:
            safe.observe(Outcome(Task(f"n{i}"), route, 1.0), x[i])
    assert safe.per_task_ is before
    assert safe.refit_due
    anew = safe.refitted().per_task_
    assert anew is not None
    assert anew is not before


def test_the_order_of_outcomes_changes_nothing(strong: tuple[World, Safe]) -> None:
    world, safe = strong
    other = Safe().fit(world.training(order=-1))
    assert other.gain_ == safe.gain_
    assert np.array_equal(other.success(world.x, POOL), safe.success(world.x, POOL))


# -- what is compared -----------------------------------------------------------------------------------------------

predictions = st.lists(st.floats(0, 1), min_size=12, max_size=12).map(np.array)
TASK, ROUTE = np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3)


@given(old=predictions, new=predictions, score=predictions)
def test_what_one_gains_the_other_loses(old: Floats, new: Floats, score: Floats) -> None:
    there, back = gains_by_task(old, new, score, TASK, ROUTE), gains_by_task(new, old, score, TASK, ROUTE)
    for one, other in zip(there, back, strict=True):
        assert np.allclose(one, -other, atol=1e-9)


@given(old=predictions, score=predictions, by=st.floats(0.1, 1.0))
def test_what_changes_no_order_changes_no_choice(old: Floats, score: Floats, by: float) -> None:
    old = old.round(3)
    _, regret = gains_by_task(old, by * old, score, TASK, ROUTE)
    assert np.allclose(regret, 0.0)


def test_knowing_the_outcomes_gains_most() -> None:
    score = np.array([1.0, 0.0, 0.0, 0.0] * 3)
    log_loss, regret = gains_by_task(np.tile([0.1, 0.2, 0.3, 0.4], 3), score, score, TASK, ROUTE)
    assert (log_loss > 0.3).all()
    assert (regret > 0.4).all()  # in more than half of the pools the first route is there to be chosen
    assert (regret < 0.9).all()


def test_both_gains_must_be_clear() -> None:
    noise, rise = np.tile([-1.0, 1.0], 50), np.tile([0.4, 0.6], 50)
    assert Gain.of([(rise, rise)]).clear
    for one, other in ((noise, rise), (rise, noise), (np.zeros(100), rise)):
        assert not Gain.of([(one, other)]).clear
        assert Gain.of([(one, other)]).hopeless
    assert not Gain.of([(rise[: gain.ENOUGH - 1], rise[: gain.ENOUGH - 1])]).clear


def test_the_sample_is_of_whole_tasks_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = cells_of(World(0, 50), np.random.default_rng(1).random((50, 12)) < 0.5)
    assert cells.sample.all()
    monkeypatch.setattr(cross_fit, "SAMPLE", 100)
    inside = cells.sample
    assert 85 < inside.sum() <= 100
    assert not set(cells.group[inside].tolist()) & set(cells.group[~inside].tolist())


def test_suites_are_told_apart_and_a_single_one_is_not() -> None:
    rng = np.random.default_rng(0)
    text = np.concatenate([rng.normal(-1, 0.3, (20, 3)), rng.normal(1, 0.3, (20, 3)), np.zeros((1, 3))])
    marks = np.zeros((41, 2))
    marks[:20, 0] = marks[20:40, 1] = 1.0
    z = Kinds.of(text, marks)(text)
    assert z.shape == (41, 5)
    assert (z[:20, 0] > z[20:40, 0].max()).all()
    assert not z[40].any()
    assert np.linalg.norm(z[:40, 2:], axis=1).mean() == pytest.approx(1.0)
    alone: Callable[[Floats], Floats] = Kinds.of(text, marks[:, :0])
    assert alone(text).shape == (41, 3)


def cells_of(world: World, which: Any) -> FitCells:
    """The world's cells as a scorer holds them."""
    task, route = np.nonzero(which)
    return FitCells(world.x, 0, POOL, task, route, world.score[task, route], None, task, None)


def test_state_is_exact(strong: tuple[World, Safe]) -> None:
    world, safe = strong
    assert safe.per_task_ is not None
    loaded = PerTask.from_state(safe.per_task_.state())
    features = safe.features_(world.x)
    assert np.array_equal(loaded.term(features, [*POOL, *NEVER]), safe.per_task_.term(features, [*POOL, *NEVER]))
    assert np.array_equal(loaded.spread(features, [*POOL, *NEVER]), safe.per_task_.spread(features, [*POOL, *NEVER]))
