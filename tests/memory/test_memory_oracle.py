"""The equations of memory against the plain way: condition one dense Gaussian over every cell that there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.evidence.dataset import Dataset
from hmrouter.evidence.ledger import Ledger
from hmrouter.scorers.base import Training
from hmrouter.scorers.safe.memory.index import TaskIndex, families_within
from hmrouter.scorers.safe.memory.recall import EarlierCells, change, joint
from hmrouter.scorers.safe.memory.routes import RouteLikeness
from hmrouter.scorers.safe.memory.variances import RunVariances
from hmrouter.scorers.safe.pooled import Pooled
from hmrouter.scorers.safe.prior import Prior
from hmrouter.scorers.safe.scorer import SafeAlone
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

ROUTES = tuple(Route(m, h) for m in ("a", "b", "c") for h in ("x", "y"))
VARIANCES = RunVariances(0.05, 0.02, 0.03, 0.01, 0.1, likeness=0.6)

cells = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(ROUTES[:5]), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 9)),
    min_size=1, max_size=8, unique_by=lambda c: c[:2],
)  # fmt: skip


def pooled() -> Pooled:
    """A posterior over all routes but the last, which was never run."""
    rng = np.random.default_rng(0)
    task, route = np.repeat(np.arange(10), 5), np.tile(np.arange(5), 10)
    score = (rng.random(50) < 0.6).astype(float)
    return Pooled.fit(rng.standard_normal((10, 2)) * 0.3, ROUTES[:5], task, route, score, Prior.of(score))


def by_name(r: Route, s: Route) -> float:
    v = VARIANCES
    return v.task + v.model * (r.model == s.model) + v.harness * (r.harness == s.harness) + v.pair * (r == s)


@given(cells, st.sampled_from([0.0, 0.25]))
def test_means_and_covariances_are_those_of_one_dense_gaussian(
    seen: list[tuple[int, Route, float, int]], share: float
) -> None:
    """Rows are the asked task on every route, then the cells: pooled part and what is left, plus the noise of cells."""
    model, rng = pooled(), np.random.default_rng(1)
    vectors = rng.standard_normal((3, 2)) * 0.3
    rows = [(0, r) for r in ROUTES] + [(t, r) for t, r, _, _ in seen]
    n = len(ROUTES)
    of = model.effects([r for _, r in rows])
    x = vectors[[t for t, _ in rows]]
    every = model.effects(ROUTES)
    base = np.zeros((len(rows), len(rows)))
    for i, (t, r) in enumerate(rows):
        for j, (u, s) in enumerate(rows):
            a, b = ROUTES.index(r), ROUTES.index(s)
            with_x = every.with_all[a, :2] @ vectors[u] + every.with_all[b, :2] @ vectors[t]
            base[i, j] = every.cov[a, b] + with_x + vectors[t] @ model.cov[:2, :2] @ vectors[u]
    alike = np.array([[1.0 if t == u else 0.6 * (1.0 - share) for u, _ in rows] for t, _ in rows])
    own = alike * np.array([[by_name(r, s) for _, s in rows] for _, r in rows])
    noise = np.diag([VARIANCES.noise / runs for *_, runs in seen])
    known = EarlierCells(
        tuple(r for _, r, _, _ in seen), np.array([y for _, _, y, _ in seen]),
        np.array([float(k) for *_, k in seen]), vectors[[t for t, *_ in seen]],
        np.array([t for t, *_ in seen]), share,
    )  # fmt: skip
    likeness = RouteLikeness(VARIANCES)
    found = change(known, likeness, model, lambda m: m, vectors[0], ROUTES, every)
    # What is left is learned from the cells, with weights that know only of it; the pooled part stays as it is.
    weights = np.linalg.solve(own[n:, n:] + noise, own[n:, :n]).T
    expected = x[n:] @ model.mean[:2] + of.mean[n:]
    assert found.shift == pytest.approx(weights @ (known.score - expected), abs=1e-9)
    left = own[:n, :n] - weights @ own[n:, :n]
    whole = np.hstack([np.eye(n), -weights])
    covariance = left + whole @ base @ whole.T
    assert found.var == pytest.approx(np.diag(covariance), abs=1e-9)
    which = [0, 3, 5]
    assert joint(found, likeness, model, vectors[0], ROUTES, which) == pytest.approx(
        covariance[np.ix_(which, which)], abs=1e-9
    )


def outcomes(n: int, seed: int = 0) -> list[Outcome]:
    rng = np.random.default_rng(seed)
    texts = ("Send the bill of {} to the tenants", "Water the {} plants of the upper floor", "Sweep the yard, part {}")
    tasks = [Task(f"t{i}", text=texts[i % 3].format(i)) for i in range(n)]
    return [Outcome(t, r, float(rng.random() < 0.6)) for t in tasks for r in ROUTES[:4]]


def fitted(of: list[Outcome]) -> SafeAlone:
    data = Dataset(of)
    return SafeAlone().fit(Training(data, np.zeros((len(data.tasks), 2)), {}))


def test_observed_one_by_one_or_learned_at_once_a_task_has_the_same_cells() -> None:
    """Variances are learned by a fit only; what is remembered is the same."""
    every = outcomes(12)
    grown = fitted(every[:24])
    for outcome in every[24:]:
        grown = grown.after(outcome, np.zeros(2))
    whole = fitted(every)
    for task in [o.task for o in every[::4]] + [Task.of_text("Send the bill of 99 to the tenants")]:
        mine, theirs = (s.predict_tasks(np.zeros((1, 2)), ROUTES, [task]).earlier[0] for s in (grown, whole))
        assert {(e.route, e.runs, e.like): e.score for e in mine} == pytest.approx(
            {(e.route, e.runs, e.like): e.score for e in theirs}
        )


def test_saved_and_loaded_it_remembers_the_same() -> None:
    grown = fitted(outcomes(9))
    for outcome in outcomes(14)[36:]:
        grown = grown.after(outcome, np.zeros(2))
    loaded = SafeAlone.from_state(grown.state())
    for text in ("Send the bill of 3 to the tenants", "Water the 77 plants of the upper floor", "Sweep the yard"):
        here, there = (s.predict_tasks(np.zeros((1, 2)), ROUTES, [Task.of_text(text)]) for s in (grown, loaded))
        assert np.array_equal(here.success, there.success)
        assert here.earlier == there.earlier


def test_asking_for_tasks_without_memory_is_asking_for_their_vectors() -> None:
    forgetful = SafeAlone(memory=False).fit(Training(Dataset(outcomes(30)), np.zeros((30, 2)), {}))
    x, tasks = np.zeros((2, 2)), [Task("t1"), Task("never")]
    plain, named = forgetful.predict(x, ROUTES), forgetful.predict_tasks(x, ROUTES, tasks)
    assert np.array_equal(plain.success, named.success)
    assert not named.earlier


def test_an_index_never_changes_and_grows_to_what_it_would_have_been() -> None:
    tasks = [o.task for o in outcomes(12)[::4]]
    data = Dataset(outcomes(12))
    ledger = Ledger.of(data, np.zeros((12, 2)))
    whole, half = TaskIndex.of(data.tasks), TaskIndex.of(data.tasks[:6])
    grown = half
    for i, task in enumerate(data.tasks[6:], start=6):
        grown = grown.after(task, i)
        assert grown.after(task, i) is grown
    for task in tasks:
        assert set(grown.find(task, ledger).family) == set(whole.find(task, ledger).family)
        assert grown.find(task, ledger).same == whole.find(task, ledger).same
        assert grown.find(task, ledger).share == whole.find(task, ledger).share
    assert not half.find(Task.of_text(data.tasks[11].text, "default"), Ledger.of(Dataset([]), np.zeros((0, 2)))).same


def test_a_family_that_is_the_whole_suite_is_none() -> None:
    """Sixteen libraries to implement: the texts differ in the name alone, which is all that matters."""
    same = [Task(f"t{i}", text=f"Implement the library lib{i}.py so that its tests pass") for i in range(16)]
    assert families_within(same) is None
    others = [Task(f"o{i}", text=word) for i, word in enumerate(["Sing", "Dance", "Read it", "Draw a cat", "Cook."])]
    numbers = families_within([*same[:3], *others])
    assert numbers is not None
    assert len(set(numbers[:3].tolist())) == 1
    assert len(set(numbers.tolist())) == 1 + len(others)


def test_likeness_of_routes_learns_what_names_do_not_say() -> None:
    """Routes without a common name that succeed on the same tasks, and one that succeeds on the others."""
    rng = np.random.default_rng(0)
    routes = [Route(f"m{i}", f"h{i}") for i in range(3)]
    kind = rng.random(400) < 0.5
    rate = np.where(kind[:, None], [0.8, 0.8, 0.2], [0.2, 0.2, 0.8])
    score: Floats = (rng.random(rate.shape) < rate).astype(np.float64)
    task, route = np.repeat(np.arange(400), 3), np.tile(np.arange(3), 400)
    rest = (score - score.mean(axis=0)).ravel()
    variances = RunVariances(0.01, 0.01, 0.01, 0.06, 0.16)
    learned = RouteLikeness.learn(variances, rest, np.ones(len(rest)), task, route, routes)
    cov = learned.cov(routes, routes)
    assert cov[0, 1] == pytest.approx(0.08, abs=0.02)  # 0.09, a little shrunk to the names
    assert cov[0, 2] == pytest.approx(-0.08, abs=0.02)
    assert np.linalg.eigvalsh(cov).min() > -1e-12
    # A route outside of the block is as alike to the others as its name says.
    new = Route("m0", "other")
    assert 0.0 < learned.cov([new], routes)[0, 0] < cov[0, 0]
    loaded = RouteLikeness.from_state(learned.state())
    assert np.array_equal(loaded.cov([new, *routes], routes), learned.cov([new, *routes], routes))
