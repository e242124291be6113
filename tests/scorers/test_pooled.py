"""The pooled model against textbook Gaussian conditioning, and one by one against all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.ledger import Ledger
from hmrouter.scorers.safe import pooled as module
from hmrouter.scorers.safe.pooled import Pooled
from hmrouter.scorers.safe.prior import EVEN, Prior, Shares, scale_of
from hmrouter.state import Floats, Ints, State
from hmrouter.types import Outcome, Route, Task

POOL = [Route(f"m{m}", f"h{h}") for m in range(4) for h in range(3)]
STRANGERS = [Route("new", "h0"), Route("m0", "new"), Route("new", "new"), Route("new", "other")]
Z90 = 1.6448536269514722


@dataclass(frozen=True)
class World:
    """Cells on some routes of the pool."""

    x: Floats
    routes: list[Route]
    task: Ints
    route: Ints
    score: Floats
    fade: Floats | None = None

    def fit(self, variance: float | None = None, shares: Shares | None = None) -> Pooled:
        prior = Prior(scale_of(self.score) if variance is None else variance, shares or Shares())
        return Pooled.fit(self.x, self.routes, self.task, self.route, self.score, prior, self.fade)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    routes = draw(st.lists(st.sampled_from(POOL), min_size=1, unique=True))
    n_tasks, dims = draw(st.integers(1, 8)), draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    task, route = np.nonzero(rng.random((n_tasks, len(routes))) < draw(st.sampled_from([0.1, 0.5, 1.0])))
    score = rng.random(len(task)) if draw(st.booleans()) else rng.integers(0, 2, len(task)).astype(np.float64)
    fade = np.exp2(-rng.exponential(3.0, len(task))) if draw(st.booleans()) else None
    return World(rng.standard_normal((n_tasks, dims)), routes, task, route, score, fade)


class Oracle:
    """Every effect of every route that is asked for is a column, seen or not; the posterior by inverting Cov(y)."""

    def __init__(self, world: World, variance: float, shares: Shares, asked: list[Route]) -> None:
        routes = [*world.routes, *asked]
        names = [("model", r.model) for r in routes] + [("harness", r.harness) for r in routes]
        names += [("pair", str(r)) for r in routes]
        self.dims, self.names = int(world.x.shape[1]), list(dict.fromkeys(names))
        self.size = 1 + self.dims + len(self.names)
        prior = variance * np.array(
            [shares.mu, *[shares.x] * self.dims, *(getattr(shares, kind) for kind, _ in self.names)]
        )
        middle = np.zeros(self.size)
        middle[0] = 0.5
        cells = list(zip(world.task.tolist(), world.route.tolist(), strict=True))
        z = np.array([self.row(world.x[t], world.routes[r]) for t, r in cells]).reshape(-1, self.size)
        same_task = world.task[:, None] == world.task[None, :]
        noise = shares.noise * np.ones(len(z)) / (1.0 if world.fade is None else world.fade)
        of_y = z * prior @ z.T + variance * (shares.task * same_task + np.diag(noise))
        gain = np.linalg.solve(of_y, z * prior).T
        self.mean = middle + gain @ (world.score - z @ middle)
        self.cov = np.diag(prior) - gain @ (z * prior)

    def row(self, x: Floats, route: Route) -> Floats:
        row = np.zeros(self.size)
        row[0] = 1.0
        row[1 : 1 + self.dims] = x
        for name in (("model", route.model), ("harness", route.harness), ("pair", str(route))):
            row[1 + self.dims + self.names.index(name)] = 1.0
        return row

    def columns(self, routes: Sequence[Route]) -> Floats:
        """The columns of the pooled model, in terms of the effects: the weights of x, then sums for routes."""
        weights = np.eye(self.size)[1 : 1 + self.dims]
        nothing = np.zeros(self.dims)
        return np.vstack([weights, *(self.row(nothing, r) for r in routes)])


def close(a: Floats, b: Floats) -> bool:
    return np.allclose(a, b, rtol=0, atol=1e-8)


def same(a: Pooled, b: Pooled) -> bool:
    """Equal posteriors, whatever the order of the columns."""
    order = columns_of(a, b)
    return set(a.routes) == set(b.routes) and close(a.mean, b.mean[order]) and close(a.cov, b.cov[np.ix_(order, order)])


def columns_of(a: Pooled, b: Pooled) -> list[int]:
    """Where the columns of one stand in the other."""
    return [*range(a.dims), *(b.dims + b.routes.index(r) for r in a.routes)]


# -- right ----------------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(worlds(), st.sampled_from([0.001, 0.05, 0.25]))
def test_the_posterior_is_the_textbook_one(world: World, variance: float) -> None:
    shares = Shares(model=0.1, task=0.4)
    pooled, oracle = world.fit(variance, shares), Oracle(world, variance, shares, [])
    columns = oracle.columns(pooled.routes)
    assert close(pooled.mean, columns @ oracle.mean)
    assert close(pooled.cov, columns @ oracle.cov @ columns.T)


@settings(max_examples=300)
@given(worlds(), st.integers(0, 2**32))
def test_predictions_are_the_textbook_ones_also_for_what_was_never_seen(world: World, seed: int) -> None:
    asked = [*POOL, *STRANGERS]
    pooled = world.fit()
    oracle = Oracle(world, scale_of(world.score), Shares(), asked)
    x = np.random.default_rng(seed).standard_normal((3, world.x.shape[1]))
    mean, var = pooled.predict(x, asked)
    for i in range(len(x)):
        design = np.array([oracle.row(x[i], r) for r in asked])
        want, want_cov = design @ oracle.mean, design @ oracle.cov @ design.T
        joint, cov = pooled.joint(x[i], asked)
        assert close(mean[i], want)
        assert close(joint, want)
        assert close(cov, want_cov)
        assert close(var[i], np.diag(want_cov))
        assert np.linalg.eigvalsh(cov).min() > -1e-12
    middle = np.array([oracle.row(x.mean(axis=0), r) for r in asked])
    over, over_var = pooled.mean_over(x, asked)
    noise = 0.85 * scale_of(world.score) / len(x)
    assert close(over, middle @ oracle.mean)
    assert close(over_var, np.diag(middle @ oracle.cov @ middle.T) + noise)
    task, route = np.array([0, 2, 1, 0]), np.array([0, 15, 3, 13])
    assert close(pooled.predict_cells(x, asked, task, route), mean[task, route])


@settings(max_examples=100)
@given(worlds())
def test_failures_are_mirrored_successes(world: World) -> None:
    mirrored = replace(world, score=1.0 - world.score)
    (mean, var), (other, other_var) = world.fit().predict(world.x, POOL), mirrored.fit().predict(world.x, POOL)
    assert close(mean, 1.0 - other)
    assert close(var, other_var)


@settings(max_examples=50)
@given(worlds())
def test_dense_blocks_and_sparse_products_are_the_same(world: World) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", 3)
        patch.setattr(module, "FULL", 0.0)
        dense = world.fit()
        patch.setattr(module, "FULL", 2.0)
        assert same(dense, world.fit())


@settings(max_examples=50)
@given(worlds())
def test_what_is_all_fresh_is_not_weighted_to_the_last_bit(world: World) -> None:
    fresh = replace(world, fade=None).fit()
    weighted = replace(world, fade=np.ones(len(world.task))).fit()
    assert np.array_equal(fresh.mean, weighted.mean)
    assert np.array_equal(fresh.cov, weighted.cov)


def test_a_cell_that_has_all_but_faded_says_nothing() -> None:
    task, route, score = np.array([0, 0, 1]), np.array([0, 5, 5]), np.array([1.0, 0.0, 1.0])
    world = World(np.ones((2, 1)), POOL, task, route, score, np.array([1.0, 2.0**-60, 1.0]))
    without = World(np.ones((2, 1)), POOL, task[[0, 2]], route[[0, 2]], score[[0, 2]])
    assert same(world.fit(0.25), without.fit(0.25))


def test_before_any_outcome_there_is_the_prior() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    pooled = Pooled.fit(np.zeros((0, 2)), POOL, nothing, nothing, np.zeros(0))
    mean, var = pooled.predict(np.zeros((1, 2)), POOL)
    assert (mean == EVEN).all()
    assert np.allclose(var, 0.25 * (5 + 0.03 + 0.02 + 0.04))


def test_the_mean_over_no_tasks_is_that_over_one_average_task() -> None:
    world = World(np.zeros((2, 1)), POOL, np.array([0, 1]), np.array([0, 0]), np.array([1.0, 0.0]))
    none, one = (world.fit().mean_over(np.zeros((n, 1)), POOL) for n in (0, 1))
    assert np.array_equal(none, one)


def test_a_saved_posterior_is_exact_and_apart() -> None:
    world = World(np.ones((2, 1)), POOL, np.array([0, 1, 1]), np.array([0, 0, 5]), np.array([1.0, 0.0, 0.5]))
    pooled, ledger = world.fit(), Ledger.of(Dataset([]), np.zeros((0, 1)))
    state = pooled.state()
    kept = State({name: a.copy() for name, a in state.arrays.items()}, state.meta)
    loaded = Pooled.from_state(state)
    added = ledger.add(Outcome(Task("t"), POOL[5], 1.0), np.ones(1))
    assert added is not None
    one, two = (each.after(added, np.ones(1), ledger.routes) for each in (pooled, loaded))
    assert one.routes == two.routes
    assert all(np.array_equal(getattr(one, f), getattr(two, f)) for f in ("mean", "cov"))
    assert not np.array_equal(one.cov, pooled.cov)
    assert all(np.array_equal(kept.arrays[name], state.arrays[name]) for name in kept.arrays)


# -- one by one -----------------------------------------------------------------------------------------------------


NOW = datetime(2026, 1, 1, tzinfo=UTC)


def stream(rng: np.random.Generator, n: int, n_tasks: int, soft: bool, old: int = 0) -> list[Outcome]:
    """Outcomes of few tasks on few routes, so that cells come again, with zero to three trials each.

    The first `old` of them are one to ten days old, the others of now.
    """
    scores = rng.random(n) if soft else rng.integers(0, 2, n).astype(np.float64)
    return [
        Outcome(
            Task(f"t{rng.integers(n_tasks)}"), POOL[rng.integers(len(POOL))], float(s), int(rng.integers(4)),
            when=NOW - timedelta(days=float(rng.uniform(1, 10) * (i < old))),
        )
        for i, s in enumerate(scores)
    ]  # fmt: skip


def all_at_once(outcomes: list[Outcome], vectors: Mapping[str, Floats], variance: float) -> tuple[Pooled, Ledger]:
    """With a half-life of two days."""
    data = Dataset(outcomes, half_life=2.0, now=NOW)
    x = np.array([vectors[t.id] for t in data.tasks]).reshape(len(data.tasks), -1 if outcomes else len(vectors["t0"]))
    ledger = Ledger.of(data, x)
    task, route, score, _ = ledger.cells()
    return Pooled.fit(ledger.vectors(), ledger.routes, task, route, score, Prior(variance), ledger.fade()), ledger


def one_by_one(outcomes: list[Outcome], first: int, vectors: Mapping[str, Floats], variance: float) -> Pooled:
    pooled, ledger = all_at_once(outcomes[:first], vectors, variance)
    for o in outcomes[first:]:
        added = ledger.add(o, vectors[o.task.id])
        assert added is not None
        pooled = pooled.after(added, ledger.vector(added.task), ledger.routes)
    return pooled


@settings(max_examples=200)
@given(
    st.integers(0, 2**32), st.integers(1, 14), st.integers(1, 6), st.integers(0, 3), st.booleans(),
    st.sampled_from([0.01, 0.25]),
)  # fmt: skip
def test_one_by_one_is_all_at_once_in_any_order(
    seed: int, n: int, n_tasks: int, dims: int, soft: bool, variance: float
) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(5):  # 1,000 streams in all
        vectors = {f"t{i}": rng.standard_normal(dims) for i in range(n_tasks)}
        outcomes = stream(rng, n, n_tasks, soft)
        want, _ = all_at_once(outcomes, vectors, variance)
        assert same(want, one_by_one(outcomes, int(rng.integers(n)), vectors, variance))
        shuffled = [outcomes[i] for i in rng.permutation(n)]
        assert same(want, one_by_one(shuffled, 0, vectors, variance))


@settings(max_examples=300)
@given(st.integers(0, 2**32), st.integers(2, 14), st.integers(1, 4), st.integers(0, 3), st.booleans())
def test_fresh_outcomes_join_faded_ones_one_by_one(seed: int, n: int, n_tasks: int, dims: int, soft: bool) -> None:
    rng = np.random.default_rng(seed)
    vectors = {f"t{i}": rng.standard_normal(dims) for i in range(n_tasks)}
    old = int(rng.integers(1, n))
    outcomes = stream(rng, n, n_tasks, soft, old)
    want, ledger = all_at_once(outcomes, vectors, 0.25)
    assert same(want, one_by_one(outcomes, old, vectors, 0.25))
    shuffled = [*outcomes[:old], *(outcomes[i] for i in old + rng.permutation(n - old))]
    assert same(want, one_by_one(shuffled, old, vectors, 0.25))
    if ledger.fade() is not None:
        assert not same(want, all_at_once([replace(o, when=NOW) for o in outcomes], vectors, 0.25)[0])


def test_five_thousand_updates_leave_a_sound_posterior() -> None:
    rng = np.random.default_rng(0)
    vectors = {f"t{i}": rng.standard_normal(5) for i in range(700)}
    outcomes = stream(rng, 5000, 700, soft=False)
    pooled = one_by_one(outcomes, 0, vectors, 0.25)
    want, _ = all_at_once(outcomes, vectors, 0.25)
    order = columns_of(pooled, want)
    assert np.array_equal(pooled.cov, pooled.cov.T)
    assert np.linalg.eigvalsh(pooled.cov).min() > 0.0
    assert np.abs(pooled.mean - want.mean[order]).max() < 1e-6
    assert np.abs(pooled.cov - want.cov[np.ix_(order, order)]).max() < 1e-6


# -- honest ---------------------------------------------------------------------------------------------------------


def test_intervals_cover_what_they_say_in_worlds_of_the_model() -> None:
    """400 worlds: 30 tasks, half of the cells run; the rate on a new task, and the mean score over 25 new tasks."""
    variance, rng, rate_hits, mean_hits = 0.04, np.random.default_rng(0), [], []
    sd = {f.name: float(np.sqrt(variance * getattr(Shares(), f.name))) for f in fields(Shares)}
    for _ in range(400):
        model, harness, pair = (
            rng.normal(0, sd["model"], 4),
            rng.normal(0, sd["harness"], 3),
            rng.normal(0, sd["pair"], 12),
        )
        of_route, w = 0.5 + np.repeat(model, 3) + np.tile(harness, 4) + pair, rng.normal(0, sd["x"], 4)
        x, new = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in rng.standard_normal((2, 30, 4)))

        def run(x: Floats, of_route: Floats = of_route, w: Floats = w) -> Floats:
            noise = rng.normal(0, sd["task"], (len(x), 1)) + rng.normal(0, sd["noise"], (len(x), 12))
            return np.asarray((x @ w)[:, None] + of_route + noise)

        task, route = np.nonzero(rng.random((30, 12)) < 0.5)
        pooled = Pooled.fit(x, POOL, task, route, run(x)[task, route])
        mean, var = pooled.predict(new[:5], POOL)
        rate_hits.append(np.abs((new[:5] @ w)[:, None] + of_route - mean) < Z90 * np.sqrt(var))
        mean, var = pooled.mean_over(new[:25], POOL)
        mean_hits.append(np.abs(run(new[:25]).mean(axis=0) - mean) < Z90 * np.sqrt(var))
    assert 0.87 < np.mean(rate_hits) < 0.93
    assert 0.87 < np.mean(mean_hits) < 0.93
