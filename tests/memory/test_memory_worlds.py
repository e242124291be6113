"""Memory in planted worlds: variances are found, intervals hold, nothing is lost where there is nothing to remember."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest

from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Training
from hmrouter.scorers.safe.scorer import SafeAlone
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

ROUTES = tuple(Route(f"m{m}", f"h{h}") for m in range(4) for h in range(3))
DIMS = 3


@dataclass(frozen=True)
class Suits:
    """Standard deviations of what a task is to all routes, to a model, to a harness and to a pair."""

    task: float = 0.2
    model: float = 0.1
    harness: float = 0.1
    pair: float = 0.1


def rates(tasks: int, suits: Suits, seed: int) -> Floats:
    """The success rate of every route on every task, (tasks, routes): all stay well inside of 0 to 1."""
    rng = np.random.default_rng(seed)
    means = 0.5 + 0.03 * np.arange(len(ROUTES)) / len(ROUTES)
    of_model, of_harness = rng.normal(0, suits.model, (tasks, 4)), rng.normal(0, suits.harness, (tasks, 3))
    own = rng.normal(0, suits.pair, (tasks, len(ROUTES)))
    at = np.arange(len(ROUTES))
    total = means + rng.normal(0, suits.task, (tasks, 1)) + of_model[:, at // 3] + of_harness[:, at % 3] + own
    return np.asarray(np.clip(total, 0.02, 0.98))


def run(rate: Floats, runs: int, seed: int) -> Floats:
    return np.asarray(np.random.default_rng(seed).binomial(runs, rate) / runs)


@lru_cache(maxsize=8)
def world(suits: Suits, tasks: int = 300, runs: int = 3, seed: int = 0) -> SafeAlone:
    """A scorer that saw every route a few times on every task."""
    scores = run(rates(tasks, suits, seed), runs, seed + 1)
    data = Dataset(
        Outcome(Task(f"t{i:04d}"), r, float(scores[i, j]), n_trials=runs)
        for i in range(tasks)
        for j, r in enumerate(ROUTES)
    )
    return SafeAlone().fit(Training(data, np.zeros((tasks, DIMS)), {}))


def after(scorer: SafeAlone, task: Task, seen: list[tuple[int, float, int]]) -> SafeAlone:
    for j, score, runs in seen:
        scorer = scorer.after(Outcome(task, ROUTES[j], score, n_trials=runs), np.zeros(DIMS))
    return scorer


@pytest.mark.parametrize(
    "suits", [Suits(), Suits(0.1, 0.0, 0.2, 0.05), Suits(0.15, 0.1, 0.0, 0.0), Suits(0.0, 0.0, 0.0, 0.15)]
)
def test_variances_are_recovered(suits: Suits) -> None:
    found = world(suits, tasks=600).likeness_.variances
    for name in ("task", "model", "harness", "pair"):
        assert getattr(found, name) == pytest.approx(getattr(suits, name) ** 2, abs=0.007), name
    rate = rates(600, suits, 0)
    assert found.noise == pytest.approx(float((rate * (1 - rate)).mean()), abs=0.015)


@pytest.mark.parametrize("known", [1, 3, 8])
def test_intervals_for_a_task_with_known_runs_cover(known: int) -> None:
    scorer, rng, inside = world(Suits()), np.random.default_rng(5), []
    truth = rates(250, Suits(), seed=9)
    for i in range(len(truth)):
        task, some = Task(f"new{i}"), rng.choice(len(ROUTES), size=known, replace=False).tolist()
        seen = [(j, float(rng.random() < truth[i, j]), 1) for j in some]
        said = after(scorer, task, seen).predict_tasks(np.zeros((1, DIMS)), ROUTES, [task])
        assert said.interval is not None
        inside.append((said.interval[0][0] <= truth[i]) & (truth[i] <= said.interval[1][0]))
    assert 0.85 <= np.mean(inside) <= 0.95


def test_the_more_runs_are_known_the_better_the_choice() -> None:
    scorer, truth = world(Suits()), rates(400, Suits(), seed=3)
    rng, gained = np.random.default_rng(4), []
    for runs in (0, 1, 10):
        got = []
        for i in range(len(truth)):
            task = Task(f"new{i}")
            seen = [(j, float(rng.binomial(runs, truth[i, j]) / runs), runs) for j in range(6)] if runs else []
            merit = after(scorer, task, seen).predict_tasks(np.zeros((1, DIMS)), ROUTES, [task]).merit[0]
            got.append(truth[i, int(merit.argmax())])
        gained.append(float(np.mean(got)))
    assert gained[0] + 0.03 < gained[1]
    assert gained[1] + 0.03 < gained[2]


def test_in_a_world_without_interaction_nothing_is_lost() -> None:
    """Tasks are easy or hard, and that is all: the best pair is the best on every task, whatever ran there before."""
    only = Suits(0.25, 0.0, 0.0, 0.0)
    scorer, truth = world(only, tasks=600), rates(300, only, seed=3)
    best, rng, lost = int(truth.mean(axis=0).argmax()), np.random.default_rng(4), []
    for i in range(len(truth)):
        task = Task(f"new{i}")
        seen = [(j, float(rng.random() < truth[i, j]), 1) for j in (best, 0)]
        merit = after(scorer, task, seen).predict_tasks(np.zeros((1, DIMS)), ROUTES, [task]).merit[0]
        lost.append(truth[i, best] - truth[i, int(merit.argmax())])
    assert float(np.mean(lost)) < 0.01
