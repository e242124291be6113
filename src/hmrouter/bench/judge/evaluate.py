"""How good a method's choices and forecasts are on test tasks, always beside Random and Oracle.

A choice is made among the routes that have an outcome on that test task, as no other choice can be judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hmrouter.bench.judge.forecasts import auc, log_loss
from hmrouter.bench.methods import METHODS
from hmrouter.costs import RouteCosts
from hmrouter.errors import HMRouterError
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.features.base import EMBEDDERS, Embedder
from hmrouter.features.cache import VectorCache, embed_cached
from hmrouter.features.descriptions import HarnessDescriptions
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Floats


@dataclass(frozen=True, slots=True)
class Metrics:
    """One method on the test tasks of one split. Accuracies are fractions, None where they do not apply."""

    accuracy: float
    oracle_accuracy: float
    normalized_accuracy: float | None
    cost_usd: float | None
    """Mean realised dollars per test task of the chosen routes, None unless all are known."""
    auc: float | None = None
    log_loss: float | None = None
    n_test: int = 0


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a fitted method says about the test tasks."""

    merit: Floats
    """What it ranks by, (tasks, routes)."""
    success: Floats
    """Its probabilities, (tasks, routes)."""
    fit_seconds: float
    route_intervals: list[tuple[float, float]] | None = None
    """Per route, a 90% interval for its mean score over the test tasks it was run on; None if the method gives none."""


def prepare(
    split: Split, embedder: Embedder | None = None, cache: VectorCache | None = None
) -> tuple[Training, Floats]:
    """The training side of a split with its vectors, and the test tasks' vectors. The embedder sees training only."""
    embedder = EMBEDDERS.load("lsa")() if embedder is None else embedder
    texts = [t.text for t in split.train.tasks]
    embedder.fit(texts)
    descriptions = HarnessDescriptions()
    described = embed_cached(embedder, [descriptions.text(h) for h in split.train.harnesses], cache)
    vectors = dict(zip(split.train.harnesses, described, strict=True))
    training = Training(split.train, embed_cached(embedder, texts, cache), vectors)
    return training, embed_cached(embedder, [t.text for t in split.test.tasks], cache)


def predict(method: str | Scorer, training: Training, x_test: Floats, test: Dataset) -> Predictions:
    """Fit a method on the training side and ask it about the test tasks, whose outcomes it never sees."""
    scorer: Scorer = METHODS.load(method)() if isinstance(method, str) else method
    start = time.perf_counter()
    scorer.fit(training)
    seconds = time.perf_counter() - start
    merit, success = scorer.merit(x_test, test.routes), scorer.success(x_test, test.routes)
    if not (np.isfinite(merit).all() and np.isfinite(success).all()):
        raise HMRouterError(f"the scorer {scorer.name!r} gave scores that are not finite numbers")
    return Predictions(merit, success, seconds, _route_intervals(scorer, x_test, test))


def _route_intervals(scorer: Scorer, x_test: Floats, test: Dataset) -> list[tuple[float, float]] | None:
    out = []
    for j, route in enumerate(test.routes):
        tasks = test.cells.task[test.cells.route == j]
        found = scorer.mean_interval(x_test[tasks], [route]) if len(tasks) else (np.zeros(1), np.ones(1))
        if found is None:
            return None
        out.append((float(found[0][0]), float(found[1][0])))
    return out


def evaluate(method: str | Scorer, split: Split, training: Training, x_test: Floats) -> Metrics:
    """Fit a method, choose for every test task, and compare with what happened.

    `random` is its expectation and `oracle` the best outcome per task.
    """
    return judge(method, split, lambda: (training, x_test))[0]


def judge(
    method: str | Scorer, split: Split, vectors: Callable[[], tuple[Training, Floats]]
) -> tuple[Metrics, Predictions | None]:
    """The same with what was predicted; None for random and oracle, which predict nothing and need no vectors."""
    test = split.test
    if method == "random":
        return realise(test, uniform(test)), None
    seen, order = ~np.isnan(dense(test)), tie_order(split.train)
    if method == "oracle":
        return realise(test, choose(dense(test), seen, order)), None
    training, x_test = vectors()
    found = predict(method, training, x_test, test)
    return realise(test, choose(found.merit, seen, order), found.success), found


def dense(data: Dataset, field: str = "score") -> Floats:
    """Tasks x routes, NaN where nothing was run."""
    return np.asarray(data.matrix(field).filled(np.nan))


def tie_order(train: Dataset) -> NDArray[np.int64]:
    """The routes from cheapest to dearest on training outcomes, then by name: who wins a tie."""
    costs = RouteCosts.fit(train).of_all(train.routes)
    price = [np.inf if c.dollars is None else c.dollars for c in costs]
    return np.array(sorted(range(len(price)), key=lambda j: (price[j], str(train.routes[j]))), dtype=np.int64)


def choose(value: Floats, selectable: NDArray[np.bool_], order: NDArray[np.int64]) -> Floats:
    """The choice per task as shares (tasks, routes): 1 at the best selectable route, all 0 where there is none."""
    ranked = np.where(selectable, value, -np.inf)[:, order]
    shares = np.zeros(value.shape)
    rows = np.flatnonzero(selectable.any(axis=1))
    shares[rows, order[ranked[rows].argmax(axis=1)]] = 1.0
    return shares


def uniform(test: Dataset) -> Floats:
    """Shares of a uniform choice among the routes with an outcome."""
    seen = ~np.isnan(dense(test))
    return np.asarray(seen / np.maximum(seen.sum(axis=1, keepdims=True), 1))


def realise(test: Dataset, shares: Floats, success: Floats | None = None) -> Metrics:
    """What came of choices given as shares, over the test tasks that have any outcome."""
    scores = dense(test)
    rows = ~np.isnan(scores).all(axis=1)
    scores, costs, shares = scores[rows], dense(test, "cost")[rows], shares[rows]
    accuracy = float(np.nansum(scores * shares) / max(1, len(scores)))
    oracle = float(np.nanmax(scores, axis=1).mean()) if len(scores) else 0.0
    known = bool(len(costs)) and not np.isnan(costs[shares > 0]).any()
    y = test.cells.score
    p = None if success is None else success[test.cells.task, test.cells.route]
    return Metrics(
        accuracy=accuracy,
        oracle_accuracy=oracle,
        normalized_accuracy=accuracy / oracle if oracle > 0 else None,
        cost_usd=float(np.nansum(costs * shares) / len(costs)) if known else None,
        auc=None if p is None else auc(y, p),
        log_loss=None if p is None else log_loss(y, p),
        n_test=len(scores),
    )
