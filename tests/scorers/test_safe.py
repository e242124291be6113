"""The default scorer at the edges of evidence, on planted worlds, and how honest its intervals are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from hmrouter.errors import EmbedderMismatch, NotFitted
from hmrouter.evidence.dataset import Dataset
from hmrouter.router import Router
from hmrouter.scorers.base import Prediction, Training, sigmoid
from hmrouter.scorers.safe.features import FEATURES, directions
from hmrouter.scorers.safe.pooled import Pooled
from hmrouter.scorers.safe.prior import Prior, Shares
from hmrouter.scorers.safe.scorer import Safe
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

POOL = [Route(f"m{m}", f"h{h}") for m in range(4) for h in range(3)]
NEVER = [Route("m0", "new"), Route("new", "h0"), Route("new", "new")]
BLIND = np.zeros((1, 2))


def interval_of(prediction: Prediction) -> tuple[Floats, Floats]:
    """The interval, of a scorer that gives one."""
    assert prediction.interval is not None
    return prediction.interval


def fit(outcomes: Sequence[Outcome], caution: float = 0.5) -> Safe:
    """Without texts."""
    data = Dataset(outcomes)
    return Safe(caution).fit(Training(data, np.zeros((len(data.tasks), 2)), {}))


def outcomes_of(routes: Sequence[Route], n: int, score: Callable[[int, Route], float]) -> list[Outcome]:
    return [Outcome(Task(f"t{i:03}"), r, score(i, r)) for i in range(n) for r in routes]


def coin(i: int, route: Route) -> float:
    return float(np.random.default_rng([i, POOL.index(route)]).random() < 0.5)


# -- little evidence ------------------------------------------------------------------------------------------------

EDGES = {
    "one route": outcomes_of(POOL[:1], 20, coin),
    "one model": outcomes_of(POOL[:3], 20, coin),
    "one harness": outcomes_of(POOL[::3], 20, coin),
    "one task": outcomes_of(POOL, 1, coin),
    "all successes": outcomes_of(POOL, 20, lambda i, r: 1.0),
    "all failures": outcomes_of(POOL, 20, lambda i, r: 0.0),
    "all halves": outcomes_of(POOL, 20, lambda i, r: 0.5),
    "one success": outcomes_of(POOL[:1], 1, lambda i, r: 1.0),
    "one failure": outcomes_of(POOL[:1], 1, lambda i, r: 0.0),
    "contradicting trials": [Outcome(Task(f"t{i % 5}"), POOL[i % 3], float(i // 15)) for i in range(30)],
    "nothing counted": [Outcome(Task(f"t{i}"), POOL[0], 0.0, n_trials=0) for i in range(3)],
    "no outcome": [],
}


@pytest.mark.parametrize("edge", EDGES)
def test_at_every_edge_all_answers_are_finite_and_agree(edge: str) -> None:
    safe, routes = fit(EDGES[edge]), [*POOL, *NEVER]
    success, merit = safe.success(BLIND, routes)[0], safe.predict(BLIND, routes).merit[0]
    low, high = (v[0] for v in interval_of(safe.predict(BLIND, routes)))
    mean_low, mean_high = safe.mean_interval(np.zeros((9, 2)), routes)
    joint = safe.predict(BLIND, routes).joint
    assert joint is not None
    cov = joint(0, range(len(routes)))
    run = np.array([r in {o.route for o in EDGES[edge]} for r in routes])
    assert np.isfinite(np.concatenate([success, merit, low, high, mean_low, mean_high])).all()
    assert ((low >= 0) & (low < success) & (success < high) & (high <= 1)).all()
    assert ((mean_low >= 0) & (mean_low < mean_high) & (mean_high <= 1)).all()
    assert (high - low > 0.02).all()
    assert np.array_equal(merit[run], success[run])
    assert (merit[~run] < success[~run]).all() or not run.any()
    assert np.linalg.eigvalsh(cov).min() > -1e-12
    assert np.allclose(sigmoid(safe.score(BLIND, routes)[0]), success, rtol=0, atol=1e-12)


def test_successes_only() -> None:
    safe = fit(EDGES["all successes"])
    observed, never = safe.predict(BLIND, POOL).merit[0], safe.predict(BLIND, NEVER).merit[0]
    assert (observed > 0.95).all()
    assert (observed < 1.0).all()
    assert (never < observed.min()).all()
    assert (safe.success(BLIND, NEVER) > 0.9).all()


def test_failures_only() -> None:
    success = fit(EDGES["all failures"]).success(BLIND, POOL)
    assert (success < 0.05).all()
    assert (success > 0.0).all()


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_one_outcome_says_little(score: float) -> None:
    safe = fit(outcomes_of(POOL[:1], 1, lambda i, r: score))
    success = safe.success(BLIND, POOL)[0]
    low, high = (v[0, 0] for v in interval_of(safe.predict(BLIND, POOL[:1])))
    assert (abs(success - score) > 0.3).all()  # as two in three would: a success and a failure were thinkable before
    assert (abs(success - score) < 0.4).all()
    assert high - low > 0.5
    assert safe.reliability() == {}


def test_more_evidence_narrows_the_interval() -> None:
    widths = []
    for n in (1, 10, 100, 1000):
        low, high = interval_of(fit(outcomes_of(POOL[:1], n, coin)).predict(BLIND, POOL[:1]))
        widths.append(float((high - low)[0, 0]))
    assert widths == sorted(widths, reverse=True)
    # 1,000 coins: an interval of about 2 x 1.64 x sqrt(.25 / 1000)
    assert widths[-1] == pytest.approx(0.052, abs=0.01)


def test_contradicting_trials_are_their_mean() -> None:
    apart = [Outcome(Task(f"t{i}"), r, s) for i in range(8) for r in POOL for s in (0.0, 1.0)]
    assert np.allclose(fit(apart).success(BLIND, POOL), 0.5)


def test_routes_with_equal_outcomes_are_equal_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    merit = (
        fit(outcomes_of(POOL, 33, lambda i, r: [0.3, 1.0, 0.0, 0.7, 0.1][i % 5]))
        .predict(rng.random((4, 2)), POOL)
        .merit
    )
    assert (merit == merit[:, :1]).all()


def test_costs_may_be_missing() -> None:
    outcomes = [Outcome(Task(f"t{i}", text=f"fix the {i}"), r, coin(i, r)) for i in range(8) for r in POOL]
    decision = Router(scorer="safe").fit(Dataset(outcomes)).route("fix it")
    assert decision.cost is None
    assert decision.interval is not None
    assert 0.0 < decision.interval[0] < decision.success < decision.interval[1] < 1.0


def test_texts_of_which_one_is_missing_or_all_are_equal() -> None:
    data = Dataset(outcomes_of(POOL, 20, coin))
    x = np.random.default_rng(0).standard_normal((20, 5)).astype(np.float32)
    x[3] = 0.0
    safe = Safe().fit(Training(data, x, {}))
    centre = safe.success(safe.features_.centre[None, :], POOL)
    assert np.allclose(safe.success(np.zeros((1, 5)), POOL), centre)  # a missing text is an average task
    equal = Safe().fit(Training(data, np.ones((20, 5)), {}))
    without = Safe().fit(Training(data, np.zeros((20, 0)), {}))
    assert np.allclose(equal.success(np.ones((1, 5)), POOL), without.success(np.zeros((1, 0)), POOL))


# -- never run ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_a_never_run_route_is_below_any_observed_one_that_is_as_good(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rate = dict(zip(POOL, rng.random(12), strict=True))
    run = [POOL[i] for i in rng.permutation(12)[:8]]
    safe = fit(outcomes_of(run, 15, lambda i, r: float(rng.random() < rate[r])))
    never = [r for r in POOL if r not in run] + NEVER
    (mine,), (theirs,) = safe.success(BLIND, never), safe.success(BLIND, run)
    (my_merit,), (their_merit,) = safe.predict(BLIND, never).merit, safe.predict(BLIND, run).merit
    no_better = mine[:, None] <= theirs[None, :]
    assert no_better.any()
    assert (my_merit[:, None] < their_merit[None, :])[no_better].all()


def test_a_never_run_pair_that_was_observed_is_ranked_by_its_mean() -> None:
    safe = fit(outcomes_of(POOL[1:], 20, coin))
    assert safe.predict(BLIND, POOL[:1]).merit < safe.success(BLIND, POOL[:1])
    safe.observe(Outcome(Task("t000"), POOL[0], 1.0), BLIND[0])
    assert safe.predict(BLIND, POOL[:1]).merit == safe.success(BLIND, POOL[:1])


def planted(hidden: Route, seed: int) -> bool:
    """8 x 8 pairs; model m0 and harness h0 each add 40 points to 15%. Whether the hidden pair is chosen."""
    rng, pairs = np.random.default_rng(seed), [Route(f"m{m}", f"h{h}") for m in range(8) for h in range(8)]

    def score(i: int, r: Route) -> float:
        return float(rng.random() < 0.15 + 0.4 * ((r.model == "m0") + (r.harness == "h0")))

    safe = fit(outcomes_of([r for r in pairs if r != hidden], 30, score))
    return pairs[int(safe.score(BLIND, pairs)[0].argmax())] == hidden


def test_a_never_run_pair_of_two_excellent_components_is_chosen() -> None:
    assert sum(planted(Route("m0", "h0"), seed) for seed in range(20)) >= 16


@pytest.mark.parametrize("hidden", [Route("m1", "h1"), Route("m0", "h1"), Route("m1", "h0")], ids=str)
def test_a_never_run_pair_of_mediocre_components_never_is(hidden: Route) -> None:
    assert not any(planted(hidden, seed) for seed in range(20))


def test_caution_moves_never_run_routes_only() -> None:
    outcomes = outcomes_of(POOL[:6], 20, coin)
    bold, careful = fit(outcomes, caution=0.0), fit(outcomes, caution=2.0)
    assert np.array_equal(bold.predict(BLIND, POOL[:6]).merit, careful.predict(BLIND, POOL[:6]).merit)
    assert (bold.predict(BLIND, POOL[6:]).merit > careful.predict(BLIND, POOL[6:]).merit).all()
    assert np.array_equal(bold.predict(BLIND, POOL).merit, bold.success(BLIND, POOL))


# -- one more outcome -----------------------------------------------------------------------------------------------


def test_observing_is_refitting_with_the_same_scales() -> None:
    outcomes = outcomes_of(POOL, 30, coin)
    safe = fit(outcomes[:300])
    variance, calibration = safe.pooled_.prior.variance, safe.calibration_
    for o in outcomes[300:]:
        safe.observe(o, BLIND[0])
    assert safe.calibration_ is calibration
    task, route, score, _ = safe.ledger_.cells()
    want = Pooled.fit(np.zeros((30, 0)), safe.ledger_.routes, task, route, score, Prior(variance))
    assert len(score) == 360
    nothing = np.zeros((1, 0))
    assert np.allclose(safe.pooled_.predict(nothing, POOL), want.predict(nothing, POOL), rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_when_the_evidence_has_grown_by_half_everything_is_learned_anew_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    outcomes = outcomes_of(POOL, 40, lambda i, r: float(rng.random() < (0.1 if i % 2 else 0.9)))
    shuffled = [outcomes[i] for i in rng.permutation(len(outcomes))]
    safe, want = fit(shuffled[:319]), fit(shuffled[:479])
    for o in shuffled[319:479]:
        assert not safe.refit_due
        safe.observe(o, BLIND[0])
    assert safe.refit_due
    assert safe.cells_at_fit_ == 319
    safe = safe.refitted()
    assert safe.cells_at_fit_ == 479
    assert safe.calibration_.kind == want.calibration_.kind
    assert safe.reliability() == pytest.approx(want.reliability(), abs=1e-8)
    one, two = safe.predict(BLIND, POOL), want.predict(BLIND, POOL)
    for part in ("success", "merit", "interval"):
        assert np.allclose(getattr(one, part), getattr(two, part), rtol=0, atol=1e-8)


def test_from_one_outcome_on() -> None:
    safe = fit([])
    for o in outcomes_of(POOL, 10, lambda i, r: float(r == POOL[4])):
        safe.observe(o, BLIND[0])
    assert POOL[int(safe.score(BLIND, POOL)[0].argmax())] == POOL[4]
    assert safe.cells_now_ == 120


def test_a_scorer_must_be_fitted_and_vectors_must_fit() -> None:
    outcome = Outcome(Task("t"), POOL[0], 1.0)
    uses: list[Callable[[Safe], object]] = [
        lambda s: s.predict(BLIND, POOL), lambda s: s.mean_interval(BLIND, POOL),
        lambda s: s.observe(outcome, BLIND[0]), lambda s: s.reliability(),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(NotFitted, match="'safe' is not fitted"):
            use(Safe())
    safe = fit([outcome])
    with pytest.raises(EmbedderMismatch, match=re.escape("task vectors have 3 dims, but this scorer was fitted on 2")):
        safe.observe(outcome, np.zeros(3))
    assert safe.cells_now_ == 1


# -- features -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "dims", "want"), [(100, 5, 5), (100, 60, FEATURES), (10, 60, 9), (1, 5, 0), (0, 5, 0)])
def test_features_are_leading_directions_of_unit_length(n: int, dims: int, want: int) -> None:
    x = np.random.default_rng(0).standard_normal((n, dims)) + 3.0
    centre, projection = directions(np.concatenate([x, np.zeros((4, dims))]))  # four texts are missing
    assert projection.shape == (dims, want)
    if want:
        features = (x - centre) @ projection
        assert np.allclose(features.mean(axis=0), 0.0)
        assert np.linalg.norm(features, axis=1).mean() == pytest.approx(1.0)
        spread = features.std(axis=0)
        assert (np.diff(spread) <= 1e-12).all()
        mirrored = directions(-x)[1]
        assert np.allclose(mirrored, projection)


# -- honest ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "density"), [(15, 0.3), (30, 1.0), (80, 0.3)])
def test_intervals_cover_what_they_say(n: int, density: float) -> None:
    """150 worlds of successes and failures with the model's shares of variance.

    The rate on tasks like a new one, and the mean of the outcomes on 25 new tasks.
    """
    rng, shares, rate_hits, mean_hits = np.random.default_rng(n), Shares(), [], []
    model, harness, pair, of_x, hard = (
        0.5 * np.sqrt(v) for v in (shares.model, shares.harness, shares.pair, shares.x, shares.task)
    )
    for _ in range(150):
        of_route = rng.uniform(0.4, 0.6) + np.repeat(rng.normal(0, model, 4), 3) + np.tile(rng.normal(0, harness, 3), 4)
        of_route, w = of_route + rng.normal(0, pair, 12), rng.normal(0, of_x, 3)
        x, new = unit(rng, n), unit(rng, 25)

        def rate(x: Floats, hardness: Floats, of_route: Floats = of_route, w: Floats = w) -> Floats:
            return np.clip((x @ w)[:, None] + of_route + hardness, 0.0, 1.0)

        def run(x: Floats, rate: Callable[[Floats, Floats], Floats] = rate) -> Floats:
            hardness = hard * rng.choice([-1.0, 1.0], (len(x), 1))
            return (rng.random((len(x), 12)) < rate(x, hardness)).astype(np.float64)

        y, cells = run(x), np.argwhere(rng.random((n, 12)) < density).tolist()
        tasks = [Task(f"{i:03}") for i in range(n)]
        data = Dataset([Outcome(tasks[i], POOL[j], float(y[i, j])) for i, j in cells], tasks=tasks, routes=POOL)
        safe = Safe().fit(Training(data, x, {}))
        truth = (rate(new, np.array(hard)) + rate(new, np.array(-hard))) / 2.0
        low, high = interval_of(safe.predict(new, POOL))
        rate_hits.append((low <= truth) & (truth <= high))
        low, high = safe.mean_interval(new, POOL)
        mean = run(new).mean(axis=0)
        mean_hits.append((low <= mean) & (mean <= high))
    assert 0.85 < np.mean(rate_hits) < 0.95
    assert 0.85 < np.mean(mean_hits) < 0.95


def unit(rng: np.random.Generator, n: int) -> Floats:
    x = rng.standard_normal((n, 3))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def test_reliability_is_measured_on_tasks_that_were_left_out() -> None:
    rng = np.random.default_rng(0)
    hard = rng.random(200) < 0.5
    data = Dataset(outcomes_of(POOL, 200, lambda i, r: float(rng.random() < (0.2 if hard[i] else 0.8))))
    safe = Safe().fit(Training(data, np.where(hard, 1.0, -1.0)[:, None] * [[1.0, 0.5]], {}))
    report = safe.reliability()
    assert report["cells"] == 2400
    assert report["kind"] == safe.calibration_.kind
    assert 0.0 < report["ece"] < 0.05
    assert safe.success(np.array([[-1.0, -0.5]]), POOL).mean() == pytest.approx(0.8, abs=0.05)
