"""Avengers and Avengers-Pro: their equations written a second time in loops, planted clusters, caps and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrouter.bench.baselines.avengers import Avengers
from hmrouter.bench.baselines.avengers_pro import AvengersPro
from hmrouter.bench.baselines.clusters import cluster, nearness
from hmrouter.checks import LAWS, Law
from hmrouter.errors import UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Training
from hmrouter.types import Outcome, Route, Task

ROUTES = [Route(f"m-{j:02}", "h") for j in range(8)]
Grid = np.ndarray[Any, np.dtype[Any]]


def clustered(n: int, seed: int = 0, kinds: int = 4, dims: int = 6) -> tuple[Grid, Grid, Grid]:
    """Tasks of four kinds, each kind with its own best routes: vectors, kinds, true success."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(kinds, size=n)
    x = np.eye(dims)[kind] + 0.1 * rng.standard_normal((n, dims))
    success = np.where(kind[:, None] == np.arange(len(ROUTES)) % kinds, 0.9, 0.2)
    return x.astype(np.float32), kind, success


def training(
    x: Grid, success: Grid, *, share: float = 1.0, cost: Sequence[float | None] = (None,) * 8, seed: int = 1
) -> Training:
    rng = np.random.default_rng(seed)
    outcomes = [
        Outcome(Task(f"t{i:04}"), ROUTES[j], float(rng.random() < success[i, j]), cost=cost[j])
        for i, j in np.ndindex(success.shape)
        if rng.random() < share
    ]
    data = Dataset(outcomes, tasks=[Task(f"t{i:04}") for i in range(len(x))])
    return Training(data, x, {})


def by_hand(
    fitted: Training, x: Grid, *, k: int, nearest: int, sharpness: float, offset: float, alpha: float | None
) -> Grid:
    """The table's equations, cell by cell: dictionaries of lists instead of arrays."""
    from sklearn.cluster import KMeans

    data = fitted.data
    units = np.array([v / np.linalg.norm(v) for v in fitted.x.astype(np.float64)])
    found = KMeans(n_clusters=k, n_init=10, random_state=0).fit(np.round(units, 6))
    overall = data.route_means()
    rank: list[dict[int, int]] = []
    for c in range(k):
        scores: dict[int, list[float]] = {}
        costs: dict[int, list[float]] = {}
        for task, route, score, cost in zip(
            data.cells.task, data.cells.route, data.cells.score, data.cells.cost, strict=True
        ):
            if found.labels_[task] == c:
                scores.setdefault(int(route), []).append(float(score))
                costs.setdefault(int(route), []).append(float(cost))
        value = {r: sum(s) / len(s) for r, s in scores.items()}
        if alpha is not None:
            low, high = min(value.values()), max(value.values())
            dollars = {r: sum(v) / len(v) for r, v in costs.items()}
            value = {
                r: alpha * (v - low) / (high - low) + (1 - alpha) * (1 - dollars[r] / max(dollars.values()))
                for r, v in value.items()
            }
        best_first = sorted(value, key=lambda r: (-value[r], -overall[r], r))
        rank.append({r: place for place, r in enumerate(best_first)})
    out = np.zeros((len(x), len(data.routes)))
    for i, v in enumerate(x.astype(np.float64)):
        d = [1 - float(v @ m / np.linalg.norm(v) / np.linalg.norm(m)) for m in found.cluster_centers_]
        near = sorted(range(k), key=lambda c: d[c])[:nearest]
        mass = sum(np.exp(-sharpness * d[c]) for c in near)
        for c in near:
            for r, place in rank[c].items():
                out[i, r] += np.exp(-sharpness * d[c]) / mass / (place + offset)
    return out


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_avengers_matches_a_second_implementation(share: float) -> None:
    x, _, success = clustered(60)
    fitted = training(x, success, share=share)
    new = clustered(20, seed=5)[0]
    expected = by_hand(fitted, new, k=20, nearest=11, sharpness=3.0, offset=0.1, alpha=None)
    np.testing.assert_allclose(Avengers().fit(fitted).score(new, ROUTES), expected, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_avengers_pro_matches_a_second_implementation(alpha: float) -> None:
    x, _, success = clustered(90)
    fitted = training(x, success, cost=[0.1, 0.2, 0.4, 0.8, 1.6, 0.3, 0.7, 0.5])
    new = clustered(20, seed=5)[0]
    expected = by_hand(fitted, new, k=25, nearest=3, sharpness=9.0, offset=1.0, alpha=alpha)
    np.testing.assert_allclose(AvengersPro(alpha=alpha).fit(fitted).score(new, ROUTES), expected, atol=1e-5)


@pytest.mark.parametrize("make", [Avengers, lambda: AvengersPro(alpha=1.0)], ids=["avengers", "avengers_pro"])
def test_finds_what_wins_in_each_cluster(make: Any) -> None:
    x, _, success = clustered(240)
    new, _, truth = clustered(100, seed=9)
    chosen = make().fit(training(x, success, share=0.6)).score(new, ROUTES).argmax(axis=1)
    assert truth[np.arange(len(new)), chosen].mean() > 0.85  # Random expects 0.375, the oracle 0.9
    assert truth.mean() < 0.4


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("make", [Avengers, AvengersPro])
def test_obeys_the_laws(make: Any, law: Law) -> None:
    law.check(make)


def test_authors_settings() -> None:
    a, pro = Avengers(), AvengersPro()
    assert (a.clusters, a.nearest, a.sharpness, a.offset) == (64, 11, 3.0, 0.1)
    assert (pro.clusters, pro.nearest, pro.sharpness, pro.offset) == (25, 3, 9.0, 1.0)


@settings(max_examples=25)
@given(n=st.integers(0, 30), k=st.integers(1, 12), seed=st.integers(0, 3))
def test_small_sets_have_a_third_as_many_clusters_as_tasks(n: int, k: int, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((n, 4))
    centres, label = cluster(x, k, seed=0)
    assert len(centres) == min(k, max(1, n // 3), n)
    assert sorted(set(label.tolist())) == list(range(len(centres)))


def test_equal_tasks_are_one_cluster() -> None:
    x = np.ones((9, 3))
    x[4] += 1e-12
    assert cluster(x, 5, seed=0)[0].shape == (1, 3)
    assert cluster(np.zeros((9, 3)), 5, seed=0)[0].tolist() == [[0.0, 0.0, 0.0]]


@settings(max_examples=50)
@given(nearest=st.integers(1, 9), sharpness=st.floats(0.0, 50.0), seed=st.integers(0, 99))
def test_nearness_is_a_distribution_over_the_nearest(nearest: int, sharpness: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    centres = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    x = rng.standard_normal((4, 6))
    p = nearness(x, centres, nearest, sharpness)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert ((p > 0).sum(axis=1) == min(nearest, 6)).all()
    best = (x @ centres.T).argmax(axis=1)
    assert (p[np.arange(4), best] == p.max(axis=1)).all()


def test_a_task_without_a_text_hears_all_clusters_alike() -> None:
    p = nearness(np.zeros((1, 3)), np.eye(3), nearest=1, sharpness=3.0)
    np.testing.assert_allclose(p, 1 / 3)


def test_ties_go_to_the_better_route_then_to_the_name() -> None:
    x = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3, dtype=np.float32)
    a, b, c = ROUTES[:3]
    # All three succeed in the first cluster; in the second only b does.
    outcomes = [Outcome(Task(f"t{i}"), r, float(i < 3 or r == b)) for i in range(6) for r in (a, b, c)]
    scores = Avengers(nearest=1).fit(Training(Dataset(outcomes), x, {})).score(x[:1], [a, b, c])[0]
    np.testing.assert_allclose(scores, [1 / 1.1, 1 / 0.1, 1 / 2.1])


def test_a_route_not_run_in_a_cluster_gets_nothing_from_it() -> None:
    x = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3, dtype=np.float32)
    here, both, never = ROUTES[:3]
    outcomes = [Outcome(Task(f"t{i}"), both, 0.0) for i in range(6)]
    outcomes += [Outcome(Task(f"t{i}"), here, 1.0) for i in range(3)]
    fitted = Avengers(nearest=1).fit(Training(Dataset(outcomes), x, {}))
    scores = fitted.score(x[[0, 3]], [here, both, never])
    np.testing.assert_allclose(scores, [[10.0, 1 / 1.1, 1 / 1.1 - 1e-3], [0.0, 10.0, -1e-3]])
    # Forecasts: the cluster's mean; where the route was not run, its mean; never run, just below the worst.
    np.testing.assert_allclose(fitted.success(x[[0, 3]], [here, both, never]), [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


def test_forecasts_are_means_of_the_nearest_clusters_whatever_alpha() -> None:
    x, kind, success = clustered(200)
    fitted = training(x, success, cost=[0.1, 0.2, 0.4, 0.8, 1.6, 0.3, 0.7, 0.5])
    cheap, good = (AvengersPro(alpha=a, clusters=4, nearest=1).fit(fitted) for a in (0.0, 1.0))
    observed = fitted.data.matrix()
    expected = np.array([observed[kind == k].mean(axis=0) for k in kind])
    np.testing.assert_allclose(good.success(x, ROUTES), expected, atol=1e-12)
    np.testing.assert_array_equal(good.success(x, ROUTES), cheap.success(x, ROUTES))


def test_alpha_sweeps_from_the_cheapest_to_the_best() -> None:
    x, _, success = clustered(240)
    dollars = [1.0, 1.0, 1.0, 1.0, 0.01, 0.02, 0.03, 0.04]
    fitted = training(x, success, cost=dollars)
    spent = []
    for alpha in (0.0, 0.3, 1.0):
        chosen = AvengersPro(alpha=alpha).fit(fitted).score(x, ROUTES).argmax(axis=1)
        spent.append(np.take(dollars, chosen).mean())
        if alpha:
            assert success[np.arange(len(x)), chosen].mean() > 0.85
        else:
            assert set(chosen.tolist()) == {4}
    assert spent[0] <= spent[1] < spent[2]


def test_unknown_costs_are_the_routes_mean_then_the_overall_mean() -> None:
    x = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3, dtype=np.float32)
    a, b, c = ROUTES[:3]
    # In the second cluster no cost is known: a costs its 0.8 of the first, b 0.1, and c, never priced, 0.45.
    cost = {a: 0.8, b: 0.1, c: None}
    outcomes = [Outcome(Task(f"t{i}"), r, 1.0, cost=cost[r] if i < 3 else None) for i in range(6) for r in (a, b, c)]
    scores = AvengersPro(alpha=0.0, nearest=1).fit(Training(Dataset(outcomes), x, {})).score(x[[0, 3]], [a, b, c])
    np.testing.assert_allclose(scores, [[1 / 3, 1.0, 1 / 2]] * 2)


def test_the_largest_cost_is_of_the_routes_run_in_the_cluster() -> None:
    x = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3, dtype=np.float32)
    good, cheap, elsewhere = ROUTES[:3]
    outcomes = [Outcome(Task(f"t{i}"), good, 1.0, cost=1.0) for i in range(3)]
    outcomes += [Outcome(Task(f"t{i}"), cheap, 0.0, cost=0.1) for i in range(3)]
    outcomes += [Outcome(Task(f"t{i}"), elsewhere, 1.0, cost=100.0) for i in range(3, 6)]
    fitted = AvengersPro(alpha=0.4, nearest=1).fit(Training(Dataset(outcomes), x, {}))
    # 0.6 * (1 - 0.1 / 1) beats 0.4; against a cost of 100 both would be cheap, and the good one first.
    np.testing.assert_allclose(fitted.score(x[:1], [good, cheap, elsewhere]), [[1 / 2, 1.0, 0.0]])


def test_alpha_outside_its_range_is_refused() -> None:
    with pytest.raises(UsageError, match=r"alpha 1\.5 is not between 0"):
        AvengersPro(alpha=1.5)
