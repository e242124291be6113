"""In simulated worlds: what the stop rule says is right, and batches lose little against one run at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from hmrouter.probe.aims import Best
from hmrouter.probe.posterior import Posterior
from hmrouter.probe.select import choose
from hmrouter.probe.standing import Standing

Planted = Callable[..., Any]


def buy(world: Any, batch: int, runs: int, seed: int) -> Iterator[Posterior]:
    """What is believed after every tenth run."""
    have, free = np.zeros(len(world.data.cells), dtype=bool), np.ones(world.at.shape, dtype=bool)
    rng, posterior = np.random.default_rng(seed), Posterior.of(world.data.keep(have))
    for _ in range(runs // 10):
        for _ in range(10 // batch):
            for task, route, _ in choose(Best(posterior), free, rng.permutation(len(free)), runs=batch):
                have[world.at[task, route]], free[task, route] = True, False
                posterior.add(task, route, float(world.data.cells.score[world.at[task, route]]))
        posterior = Posterior.of(world.data.keep(have))
        yield posterior


MODELS = (None, ("claude-sonnet-3-5", "gpt-5"))
"""Of which nothing is known, and whose age and price say something."""


@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("stops", [20, pytest.param(150, marks=pytest.mark.heavy)])
def test_the_leader_is_the_best_as_often_as_is_said(
    models: tuple[str, ...] | None, stops: int, planted: Planted
) -> None:
    """Over so many worlds in which the rule said stop; how often it was right varies as coins do."""
    said, right = list[float](), list[bool]()
    for seed in itertools.count():
        world = planted(seed, models=2, harnesses=2, tasks=40, names=models)
        routes = world.data.routes
        for posterior in buy(world, batch=10, runs=100, seed=seed):
            standing = Standing.of(posterior, routes, list(range(len(routes))))
            if standing.p_best >= 0.9:
                said.append(standing.p_best)
                right.append(routes[int(world.effects.argmax())] == standing.leader.route)
                break
        if len(right) == stops:
            break
    assert 0.9 <= np.mean(said) < 0.96
    chance = np.sqrt(sum(p * (1.0 - p) for p in said)) / stops
    assert abs(np.mean(right) - np.mean(said)) <= 3.0 * chance


@pytest.mark.parametrize("worlds", [30, pytest.param(200, marks=pytest.mark.heavy)])
def test_batches_of_ten_lose_little(worlds: int, planted: Planted) -> None:
    """At most a fifth more than one at a time, as far as so many worlds tell."""

    def regret(world: Any, batch: int, seed: int) -> float:
        lost = [world.effects.max() - world.effects[p.mean.argmax()] for p in buy(world, batch, 100, seed)]
        return float(np.mean(lost))

    drawn = {seed: planted(seed, tasks=60) for seed in range(worlds)}
    single, batched = (np.array([regret(world, n, seed) for seed, world in drawn.items()]) for n in (1, 10))
    beyond = batched - 1.2 * single
    assert beyond.mean() <= 2.0 * beyond.std() / np.sqrt(worlds)
