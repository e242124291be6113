"""HM learns what it should from small worlds, and treats the new and the hidden as the paper says."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hmrouter.errors import EmbedderMismatch, NotFitted
from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Scorer, Training
from hmrouter.scorers.fixed import Fixed
from hmrouter.scorers.hm import HM, ComponentOnly
from hmrouter.scorers.hm.summaries import Summaries
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route, Status, Task

DIMS = 6
MODELS, HARNESSES = ("m0", "m1", "m2"), ("h0", "h1", "h2")
ROUTES = tuple(Route(m, h) for m in MODELS for h in HARNESSES)
NEW = Route("m-new", "h0")


def vector(name: str, dims: int = DIMS) -> Floats:
    """A fixed unit vector per name, as an embedder would give."""
    x = np.random.default_rng(list(name.encode())).standard_normal(dims)
    return x / np.linalg.norm(x)


def outcomes(n_tasks: int = 24, seed: int = 0, density: float = 0.7) -> list[Outcome]:
    rng = np.random.default_rng(seed)
    return [
        Outcome(Task(f"t{t:02d}"), route, float(rng.integers(2)))
        for t in range(n_tasks) for route in ROUTES if rng.random() < density
    ]  # fmt: skip


def training(data: Dataset, dims: int = DIMS) -> Training:
    x = np.array([vector(t.id, dims) for t in data.tasks]).reshape(-1, dims)
    return Training(data, x, {h: vector(h, dims) for h in HARNESSES})


def fitted(data: Dataset | None = None, **settings: Any) -> HM:
    return HM(**{"epochs": 4, **settings}).fit(training(Dataset(outcomes()) if data is None else data))


TEST_X = np.array([vector(f"new task {i}") for i in range(5)])


def by_hand(hm: HM, x: Floats, route: Route) -> float:
    """Eq. component_encoders and Eq. scorer; a component that was not in the fit has a zero identity."""
    p, summaries = hm.parameters_, hm.summaries_
    zero = np.zeros(hm.side)
    e_m = p["e_m"][hm.models_.index(route.model)] if route.model in hm.models_ else zero
    e_h = p["e_h"][hm.harnesses_.index(route.harness)] if route.harness in hm.harnesses_ else zero
    t_h = hm.harness_vectors_.get(route.harness, np.zeros(len(x)))
    q = p["W_q"] @ x + p["W_q.b"]
    u_m = p["W_m"] @ np.concatenate([e_m, p["P_m"] @ summaries.model(route.model) + p["P_m.b"]]) + p["W_m.b"]
    side = p["P_h"] @ summaries.harness(route.harness) + p["P_h.b"]
    u_h = p["W_h"] @ np.concatenate([e_h, side, p["T_h"] @ t_h + p["T_h.b"]]) + p["W_h.b"]
    s = float(p["b"][0])
    for term, product in (("M", u_m * q), ("H", u_h * q), ("MH", u_m * u_h * q)):
        if f"w_{term}" in p.shapes:
            normal = (product - product.mean()) / np.sqrt(product.var() + 1e-5)
            s += float(p[f"w_{term}"] @ (p[f"LN_{term}.gain"] * normal + p[f"LN_{term}.bias"]))
    return s


def same(one: HM, other: HM, routes: Sequence[Route] = ROUTES) -> bool:
    """Bit by bit."""
    return bool((one.score(TEST_X, routes) == other.score(TEST_X, routes)).all())


# -- planted worlds ---------------------------------------------------------------------------------------------


class PlantedWorld:
    """True logit = 2 g(q) a(m) a(h) + main effects: one CP component and main effects that speak against a pair.

    Each component has a kind a = +1 or -1 (three of each), a task g = +1 or -1. For tasks with g = +1 a pair works
    if its kinds agree. `pool` has one such pair, (m0, h0), among pairs that disagree; m0 and h0 are worse than
    the others on average, and that pair's own outcomes may be withheld.
    """

    kinds = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    best = Route("m0", "h0")

    def __init__(self, seed: int, *, withheld: bool, n_train: int = 150, n_test: int = 100) -> None:
        rng = np.random.default_rng(seed)
        n = n_train + n_test
        g = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
        x = np.column_stack([g, 0.35 * rng.standard_normal((n, 7))])
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        main = np.array([-0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
        logit = 2.0 * g[:, None, None] * self.kinds[:, None] * self.kinds + main[:, None] + main
        success = rng.random(logit.shape) < 1.0 / (1.0 + np.exp(-logit))
        runs = [
            Outcome(Task(f"{t:03d}"), Route(f"m{i}", f"h{j}"), float(success[t, i, j]))
            for t in range(n_train) for i in range(6) for j in range(6)
        ]  # fmt: skip
        data = Dataset(runs)
        if withheld:
            data = data.withhold(routes=[self.best])
        self.training = Training(data, x[:n_train], {f"h{j}": vector(f"h{j}", 8) for j in range(6)})
        disagree = [
            Route(f"m{i}", f"h{j}") for i in range(6) for j in range(6) if self.kinds[i] != self.kinds[j]
        ]  # fmt: skip
        self.pool = [self.best, *disagree]
        self.for_best, self.against_best = x[n_train:][g[n_train:] > 0], x[n_train:][g[n_train:] < 0]
        self.test_x, self.test_y = x[n_train:], success[n_train:].reshape(n_test, -1)

    def found(self, scorer: Scorer, x: Floats) -> float:
        """Share of tasks for which the scorer chooses the planted pair."""
        return float((scorer.score(x, self.pool).argmax(axis=1) == 0).mean())

    def log_loss(self, scorer: Scorer) -> float:
        """Mean over all held-out cells, the planted pair's included."""
        chance = scorer.success(self.test_x, self.training.data.routes)
        return float(-np.log(np.where(self.test_y, chance, 1.0 - chance)).mean())


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("withheld", [True, False], ids=["never run", "run"])
def test_finds_the_hidden_best_pair(seed: int, withheld: bool) -> None:
    world = PlantedWorld(seed, withheld=withheld)
    hm = HM(epochs=50, seed=seed).fit(world.training)
    component_only = ComponentOnly(epochs=50, seed=seed).fit(world.training)
    assert world.found(hm, world.for_best) > 0.8
    assert world.found(hm, world.against_best) < 0.1
    assert world.found(component_only, world.for_best) < 0.2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_predicts_held_out_tasks_better_than_route_means(seed: int) -> None:
    world = PlantedWorld(seed, withheld=True)
    hm = HM(epochs=50, seed=seed).fit(world.training)
    assert world.log_loss(hm) < world.log_loss(Fixed().fit(world.training)) - 0.2
    assert hm.loss_[-1] < hm.loss_[0] - 0.2


def test_soft_scores_are_targets() -> None:
    """Where every execution is a quarter success, so is the prediction."""
    data = Dataset([Outcome(Task(f"t{t:02d}"), route, 0.25) for t in range(24) for route in ROUTES])
    np.testing.assert_allclose(fitted(data, epochs=150).success(TEST_X, ROUTES), 0.25, atol=0.1)


# -- the equations ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interaction", [True, False])
def test_scores_are_the_papers(interaction: bool) -> None:
    """Known and cold components, with and without a description."""
    hm = fitted(interaction=interaction, dtype="float64")
    hm.describe("h-described", vector("another harness"))
    routes = [*ROUTES, NEW, Route("m0", "h-new"), Route("m-new", "h-described")]
    expected = [[by_hand(hm, x, route) for route in routes] for x in TEST_X]
    np.testing.assert_allclose(hm.score(TEST_X, routes), expected, rtol=0, atol=1e-9)


def test_without_interaction_the_harnesses_rank_the_same_for_every_model() -> None:
    def harness_gaps(scorer: HM) -> Floats:
        s = scorer.score(TEST_X, ROUTES).reshape(len(TEST_X), len(MODELS), len(HARNESSES))
        return s[:, :, 1:] - s[:, :, :1]

    additive = harness_gaps(fitted(interaction=False))
    np.testing.assert_allclose(additive, additive[:, :1].repeat(len(MODELS), axis=1), atol=1e-5)
    assert np.ptp(harness_gaps(fitted()), axis=1).max() > 0.1
    assert same(fitted(interaction=False), ComponentOnly(epochs=4).fit(training(Dataset(outcomes()))))


def test_never_allocates_tasks_x_routes_x_d() -> None:
    hm, x = fitted(), np.zeros((256, DIMS), dtype=np.float32)
    pool = tuple(Route(f"m{i}", f"h{j}") for i in range(200) for j in range(100))
    hm.score(x[:1], pool)
    tracemalloc.start()
    try:
        hm.score(x, pool)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    answer = len(x) * len(pool) * 4
    assert answer < peak < 1.5 * answer


# -- the new: cold start and probe ------------------------------------------------------------------------------


def test_cold_components_differ_by_their_descriptions_only() -> None:
    hm = fitted()
    for harness, text in (("h-a", "one"), ("h-b", "another"), ("h-c", "one")):
        hm.describe(harness, vector(text))
    a, b, c, undescribed = hm.score(TEST_X, [Route("m0", h) for h in ("h-a", "h-b", "h-c", "h-d")]).T
    assert (a == c).all()
    assert (a != b).all()
    assert (a != undescribed).all()
    one, other = hm.score(TEST_X, [Route("m-new", "h0"), Route("m-other", "h0")]).T
    assert (one == other).all()


def test_withheld_component_is_cold() -> None:
    """Its routes stay in the pool, but nothing of it was seen."""
    data = Dataset(outcomes()).withhold(model="m2")
    hm = fitted(data)
    assert "m2" not in hm.models_
    hidden, never_heard_of = hm.score(TEST_X, [Route("m2", "h1"), Route("m-new", "h1")]).T
    assert (hidden == never_heard_of).all()


def test_probe_updates_the_summary_while_the_identity_stays_zero() -> None:
    seen = outcomes()
    hm = fitted(Dataset(seen), dtype="float64")
    before = hm.score(TEST_X, [NEW, *ROUTES])
    # Known and new tasks, repeated and soft trials, a new harness, and one that says nothing.
    probes = [
        Outcome(Task("t03"), NEW, 1.0),
        Outcome(Task("t03"), NEW, 0.0),
        Outcome(Task("t05"), NEW, 0.5, n_trials=4),
        Outcome(Task("probe"), NEW, 1.0),
        Outcome(Task("t05"), Route("m-new", "h-new"), 0.0),
        Outcome(Task("t07"), NEW, None, status=Status.INFRA_ERROR),
    ]
    for probe in probes:
        hm.observe(probe, vector(probe.task.id))
    assert (hm.score(TEST_X, [NEW])[:, 0] != before[:, 0]).all()
    assert hm.models_ == list(MODELS)

    refit = training(Dataset([*seen, *probes]))
    expected = Summaries.of(refit.data, refit.x)
    for model in (*MODELS, "m-new"):
        np.testing.assert_allclose(hm.summaries_.model(model), expected.model(model), rtol=0, atol=1e-12)
    for harness in (*HARNESSES, "h-new"):
        np.testing.assert_allclose(hm.summaries_.harness(harness), expected.harness(harness), rtol=0, atol=1e-12)
    by_equation = [[by_hand(hm, x, NEW)] for x in TEST_X]  # zero identity, summary with the probes
    np.testing.assert_allclose(hm.score(TEST_X, [NEW]), by_equation, rtol=0, atol=1e-9)


def test_an_execution_without_verdict_changes_nothing() -> None:
    hm = fitted()
    hm.observe(Outcome(Task("t00"), NEW, None, status=Status.INFRA_ERROR), vector("t00"))
    assert same(hm, fitted(), [NEW, *ROUTES])


# -- what must not matter, and what must ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hide", [{"routes": [ROUTES[4]]}, {"model": "m1"}, {"harness": "h2"}, {"fraction": 0.4}], ids=str
)
def test_withheld_outcomes_change_nothing(hide: dict[str, Any]) -> None:
    seen = outcomes()
    hidden = Dataset(seen).withhold(**hide)
    kept = {(hidden.tasks[t].id, hidden.routes[r]) for t, r in zip(hidden.cells.task, hidden.cells.route, strict=True)}
    changed = [
        o if (o.task.id, o.route) in kept else Outcome(o.task, o.route, 1.0 - (o.score or 0.0), cost=9.0) for o in seen
    ]
    assert changed != seen
    one, other = fitted(hidden), fitted(Dataset(changed).withhold(**hide))
    assert (one.parameters_.flat == other.parameters_.flat).all()
    assert same(one, other)


def test_the_order_of_outcomes_does_not_matter() -> None:
    seen = outcomes()
    shuffled = [seen[i] for i in np.random.default_rng(5).permutation(len(seen))]
    one, other = fitted(Dataset(seen)), fitted(Dataset(shuffled))
    assert (one.parameters_.flat == other.parameters_.flat).all()
    assert same(one, other)


def test_the_seed_decides() -> None:
    assert same(fitted(seed=3), fitted(seed=3))
    assert not same(fitted(seed=3), fitted(seed=4))


def test_fitting_again_starts_anew() -> None:
    data = training(Dataset(outcomes()))
    hm = fitted(Dataset(outcomes(seed=1)))
    hm.score(TEST_X, ROUTES)
    assert same(hm.fit(data), fitted())


def test_pools_do_not_mix() -> None:
    """The factors of a pool are kept; another pool, outcome or description makes them anew."""
    hm = fitted()
    pool, reverse = ROUTES, ROUTES[::-1]
    first = hm.score(TEST_X, pool)
    np.testing.assert_allclose(hm.score(TEST_X, reverse), first[:, ::-1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(hm.score(TEST_X, list(pool[:2])), first[:, :2], rtol=0, atol=1e-6)
    as_list = list(pool)
    assert (hm.score(TEST_X, as_list) == first).all()
    as_list.reverse()
    np.testing.assert_allclose(hm.score(TEST_X, as_list), first[:, ::-1], rtol=0, atol=1e-6)
    hm.score(TEST_X, pool)
    hm.describe("h0", vector("a new description"))
    described = hm.score(TEST_X, pool)
    assert (described[:, 0] != first[:, 0]).all()
    hm.observe(Outcome(Task("another"), pool[0], 1.0), vector("another"))
    assert (hm.score(TEST_X, pool)[:, 0] != described[:, 0]).all()


# -- keeping ----------------------------------------------------------------------------------------------------


def through_a_file(scorer: HM) -> HM:
    """What a router file does to a scorer's state: arrays stay, the rest goes through JSON."""
    state = scorer.state()
    arrays = {name: np.array(a) for name, a in state.arrays.items()}
    return type(scorer).from_state(State(arrays, json.loads(json.dumps(state.meta))))


@pytest.mark.parametrize(
    "scorer",
    [HM(epochs=3), HM(epochs=3, interaction=False, d=8, side=4, dtype="float64"), ComponentOnly(epochs=3, seed=7)],
    ids=["hm", "hm without interaction", "component_only"],
)
def test_saved_and_loaded_scores_the_same(scorer: HM) -> None:
    scorer.fit(training(Dataset(outcomes())))
    scorer.observe(Outcome(Task("t01"), NEW, 1.0), vector("t01"))
    scorer.describe("h-new", vector("h-new"))
    loaded = through_a_file(scorer)
    routes = [*ROUTES, NEW, Route("m0", "h-new")]
    assert same(scorer, loaded, routes)
    assert loaded.interaction == scorer.interaction
    for one in (scorer, loaded):  # observing goes on where it was
        one.observe(Outcome(Task("t02"), NEW, 0.0), vector("t02"))
    assert same(scorer, loaded, routes)


def test_saved_and_loaded_without_descriptions() -> None:
    data = Dataset(outcomes())
    hm = HM(epochs=1).fit(Training(data, training(data).x, {}))
    assert same(hm, through_a_file(hm))


# -- the edges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interaction", [True, False])
def test_few_or_no_outcomes(interaction: bool) -> None:
    alone = Dataset([Outcome(Task("t"), ROUTES[0], 1.0)], routes=ROUTES)
    hm = fitted(alone, interaction=interaction, epochs=30)
    assert np.isfinite(hm.score(TEST_X, ROUTES)).all()
    assert hm.success(vector("t")[None], ROUTES[:1]).item() > 0.5
    nothing = fitted(Dataset([], routes=ROUTES), interaction=interaction)
    assert np.isfinite(nothing.score(TEST_X, ROUTES)).all()
    assert same(nothing, through_a_file(nothing))


def test_empty_texts() -> None:
    """All vectors zero (no text), or of no dims at all, and no descriptions: routes are told apart by outcomes."""
    seen = [Outcome(Task(f"t{t}"), r, float(r.model == "m0")) for t in range(20) for r in ROUTES]
    data = Dataset(seen)
    for dims in (DIMS, 0):
        hm = HM(epochs=60).fit(Training(data, np.zeros((20, dims)), {}))
        chance = hm.success(np.zeros((1, dims)), ROUTES)[0].reshape(len(MODELS), -1)
        assert chance[0].min() > chance[1:].max()


@pytest.mark.parametrize(("n_tasks", "n_routes"), [(0, 3), (2, 0), (1, 1)])
def test_nothing_or_little_to_score(n_tasks: int, n_routes: int) -> None:
    for hm in (fitted(), fitted(interaction=False)):
        assert hm.score(TEST_X[:n_tasks], ROUTES[:n_routes]).shape == (n_tasks, n_routes)


def test_vectors_of_another_embedder_are_refused() -> None:
    with pytest.raises(EmbedderMismatch, match=r"7 dims.*fitted on 6"):
        fitted().score(np.zeros((1, 7)), ROUTES)


def test_asked_before_it_was_fitted() -> None:
    for ask in (
        lambda: HM().score(TEST_X, ROUTES),
        lambda: HM().state(),
        lambda: HM().observe(outcomes()[0], TEST_X[0]),
        lambda: HM().describe("h", TEST_X[0]),
    ):
        with pytest.raises(NotFitted, match="'hm' is not fitted"):
            ask()


def test_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    hm = HM(epochs=3)
    hm.progress = lambda done, total: told.append((done, total))
    hm.fit(training(Dataset(outcomes())))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert len(hm.loss_) == 3
