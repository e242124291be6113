"""The joint Gaussian: the same as conditioning a dense one over all routes and all tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrouter.evidence.dataset import Dataset
from hmrouter.names.models import describe_model
from hmrouter.names.prices import token_cost
from hmrouter.probe.posterior import PRICE, RELEASE, Posterior, prior_of
from hmrouter.scorers.safe.prior import Prior
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

ROUTES = tuple(sorted(Route(m, h) for m in ("big", "small") for h in ("a", "b")))
TASKS = tuple(Task(f"t{i}") for i in range(5))
EVERY = np.arange(len(ROUTES))
Cell = tuple[int, int, float]

cells = st.dictionaries(
    st.tuples(st.integers(0, len(TASKS) - 1), st.integers(0, len(ROUTES) - 1)), st.sampled_from([0.0, 0.5, 1.0])
).map(lambda found: [(t, r, y) for (t, r), y in found.items()])


def dense(prior: Prior, seen: list[Cell], fade: Floats | None = None) -> tuple[Floats, Floats]:
    """Mean and covariance of (routes, tasks) given the cells, the plain way."""
    n, m = len(ROUTES), len(TASKS)
    mean = np.concatenate([prior.mean(ROUTES), np.zeros(m)])
    cov = np.zeros((n + m, n + m))
    cov[:n, :n] = prior.cov(ROUTES, ROUTES)
    cov[n:, n:] = prior.shares.task * prior.variance * np.eye(m)
    x = np.array([np.eye(n + m)[r] + np.eye(n + m)[n + t] for t, r, _ in seen]).reshape(len(seen), n + m)
    noise = prior.shares.noise * prior.variance / (np.ones(len(seen)) if fade is None else fade)
    by = cov @ x.T @ np.linalg.inv(x @ cov @ x.T + np.diag(noise))
    return mean + by @ (np.array([y for *_, y in seen]) - x @ mean), cov - by @ x @ cov


def empty() -> Posterior:
    return Posterior.of(Dataset([], routes=ROUTES, tasks=TASKS))


@given(cells)
@settings(max_examples=60)
def test_cells_added_one_by_one_give_the_dense_posterior(seen: list[Cell]) -> None:
    posterior = empty()
    for cell in seen:
        posterior.add(*cell)
    mean, cov = dense(prior_of(np.array([]), None), seen)
    np.testing.assert_allclose(posterior.mean, mean[: len(ROUTES)], atol=1e-9)
    np.testing.assert_allclose(posterior.cov, cov[: len(ROUTES), : len(ROUTES)], atol=1e-9)
    expected = mean[None, : len(ROUTES)] + mean[len(ROUTES) :, None]
    np.testing.assert_allclose(posterior.expected(EVERY), expected, atol=1e-9)


@given(cells.filter(bool))
@settings(max_examples=40)
def test_a_data_set_gives_the_dense_posterior(seen: list[Cell]) -> None:
    data = Dataset([Outcome(TASKS[t], ROUTES[r], y) for t, r, y in seen], routes=ROUTES, tasks=TASKS)
    mean, cov = dense(prior_of(data.cells.score, None), seen)
    posterior = Posterior.of(data)
    np.testing.assert_allclose(posterior.mean, mean[: len(ROUTES)], atol=1e-9)
    np.testing.assert_allclose(posterior.cov, cov[: len(ROUTES), : len(ROUTES)], atol=1e-9)


FAMILY = np.array([0, 1, 0, 2, 1])


@given(cells.filter(bool), st.integers(0, 20))
@settings(max_examples=60)
def test_tasks_of_a_family_are_one_to_the_dense_posterior(seen: list[Cell], first: int) -> None:
    """Some cells are there from the start, the others are added: a run on a task tells of its whole family."""
    known, added = seen[:first], seen[first:]
    data = Dataset([Outcome(TASKS[t], ROUTES[r], y) for t, r, y in known], routes=ROUTES, tasks=TASKS)
    posterior = Posterior.of(data, family=FAMILY)
    of_family = [(int(FAMILY[t]), r, y) for t, r, y in seen]
    for cell in added:
        posterior.add(*cell)
    mean, cov = dense(prior_of(data.cells.score, None), of_family)
    np.testing.assert_allclose(posterior.mean, mean[: len(ROUTES)], atol=1e-9)
    np.testing.assert_allclose(posterior.cov, cov[: len(ROUTES), : len(ROUTES)], atol=1e-9)
    expected = mean[None, : len(ROUTES)] + mean[len(ROUTES) :, None][FAMILY]
    np.testing.assert_allclose(posterior.expected(EVERY), expected, atol=1e-9)
    assert (posterior.run > 0).sum() == len(seen)


def test_a_second_run_in_a_family_tells_less_than_one_in_another() -> None:
    posterior = Posterior.of(Dataset([], routes=ROUTES, tasks=TASKS), family=FAMILY)
    posterior.add(0, 0, 1.0)
    contrast = np.array([[1.0, -1.0, 0.0, 0.0]])
    told = posterior.gains(contrast, np.ones(1), EVERY)
    assert told[2, 0] < told[3, 0]  # t2 is of t0's family, t3 is not
    assert told[2, 1] > told[3, 1]  # the other route is best compared on the same task, or its like


def test_models_alike_in_age_and_price_are_alike_in_success() -> None:
    old, new = Route("gpt-4o", "a"), Route("claude-opus-4-5", "b")
    years = [describe_model(r.model).release for r in (old, new)]
    prices = [token_cost(r.model, 0, 0, 1_000_000) for r in (old, new)]
    assert None not in years
    assert None not in prices
    prior = prior_of(np.array([]), None)
    age = [year - 2025.0 for year in years if year is not None]
    dear = [np.log10(price / 10.0) for price in prices if price is not None]
    want = prior.shares.mu + RELEASE * age[0] * age[1] + PRICE * dear[0] * dear[1]
    assert prior.cov([old], [new])[0, 0] == pytest.approx(want * prior.variance)
    named = Prior(prior.variance, replace(prior.shares, release=0.0, price=0.0))
    assert named.cov([old], [new])[0, 0] == pytest.approx(prior.shares.mu * prior.variance)


def test_what_an_old_and_a_new_model_did_tells_something_of_other_new_ones() -> None:
    old, new, also_new = Route("gpt-4o", "a"), Route("claude-opus-4-5", "a"), Route("gpt-5-2", "b")
    also_old = Route("claude-opus-3", "b")
    for better, worse in ((old, new), (new, old)):
        data = Dataset(
            [Outcome(t, r, float(r == better)) for t in TASKS for r in (better, worse)], routes=(also_new, also_old)
        )
        posterior = dict(zip(data.routes, Posterior.of(data).mean, strict=True))
        assert (posterior[also_new] > posterior[also_old]) == (better == new)


def test_what_has_faded_counts_less() -> None:
    seen = [(0, 0, 1.0), (0, 1, 0.0), (1, 1, 1.0)]
    data = Dataset([Outcome(TASKS[t], ROUTES[r], y) for t, r, y in seen], routes=ROUTES, tasks=TASKS)
    data.cells.fade[:] = fade = np.array([0.25, 1.0, 0.5])
    mean, cov = dense(prior_of(data.cells.score, None), seen, fade)
    posterior = Posterior.of(data)
    np.testing.assert_allclose(posterior.mean, mean[: len(ROUTES)], atol=1e-9)
    np.testing.assert_allclose(posterior.cov, cov[: len(ROUTES), : len(ROUTES)], atol=1e-9)
    posterior.add(0, 2, 1.0)
    mean, _ = dense(prior_of(data.cells.score, None), [*seen, (0, 2, 1.0)], np.array([0.25, 1.0, 0.5, 1.0]))
    np.testing.assert_allclose(posterior.mean, mean[: len(ROUTES)], atol=1e-9)


@given(cells, st.integers(0, len(TASKS) - 1), st.integers(0, len(ROUTES) - 1), st.sampled_from([0.0, 1.0]))
@settings(max_examples=60)
def test_a_gain_is_what_the_cell_takes_from_the_variance(seen: list[Cell], task: int, route: int, score: float) -> None:
    posterior = empty()
    for cell in seen:
        posterior.add(*cell)
    contrasts, weights = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]), np.array([0.25, 0.75])
    told = [posterior.gains(c[None], np.ones(1), EVERY)[task, route] for c in contrasts]
    assert posterior.gains(contrasts, weights, EVERY)[task, route] == pytest.approx(weights @ told, abs=1e-12)
    if (task, route) in {(t, r) for t, r, _ in seen}:
        return
    after = posterior.copy()
    after.add(task, route, score)
    for contrast, gain in zip(contrasts, told, strict=True):
        taken = contrast @ (posterior.cov - after.cov) @ contrast
        assert gain == pytest.approx(taken, abs=1e-12)


def test_a_copy_goes_its_own_way() -> None:
    posterior = empty()
    before = posterior.cov.copy()
    posterior.copy().add(0, 0, 1.0)
    np.testing.assert_array_equal(posterior.cov, before)
    assert not posterior.run.any()


def test_the_challenger_tells_more_on_a_task_that_the_leader_was_run_on() -> None:
    posterior = empty()
    posterior.add(0, 0, 1.0)
    gains = posterior.gains(np.array([[1.0, -1.0, 0.0, 0.0]]), np.ones(1), EVERY)
    assert gains[0, 1] > gains[1, 1]
