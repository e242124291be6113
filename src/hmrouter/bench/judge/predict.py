"""Fits a method on the training side of a split and asks it about the test tasks, whose outcomes it never sees.

Every question that an experiment has for a scorer goes through `ask`, `predict` or `route_intervals`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hmrouter.bench.methods import METHODS
from hmrouter.errors import HMRouterError
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.features.base import EMBEDDERS, Embedder
from hmrouter.features.cache import VectorCache, embed_cached
from hmrouter.features.descriptions import HarnessDescriptions
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Floats
from hmrouter.types import Route, Task


@dataclass(frozen=True, slots=True)
class Predictions:
    """The answers of a fitted method about the test tasks."""

    merit: Floats
    """What it ranks by, (tasks, routes)."""
    success: Floats
    """Its probabilities, (tasks, routes)."""
    fit_seconds: float
    scorer: Scorer
    """Who said so, fitted: for those who want to ask more."""


def prepare(
    split: Split, embedder: Embedder | None = None, cache: VectorCache | None = None
) -> tuple[Training, Floats]:
    """Embed a split: its training side with vectors, and the test tasks' vectors. The embedder sees training only."""
    embedder = EMBEDDERS.load("lsa")() if embedder is None else embedder
    texts = [t.text for t in split.train.tasks]
    embedder.fit(texts)
    descriptions = HarnessDescriptions()
    described = embed_cached(embedder, [descriptions.text(h) for h in split.train.harnesses], cache)
    vectors = dict(zip(split.train.harnesses, described, strict=True))
    training = Training(split.train, embed_cached(embedder, texts, cache), vectors)
    return training, embed_cached(embedder, [t.text for t in split.test.tasks], cache)


def predict(method: str | Scorer, training: Training, x_test: Floats, test: Dataset) -> Predictions:
    """Fit a method and ask it about the test tasks; scores that are not finite are refused."""
    scorer = scorer_of(method)
    seconds = timed_fit(scorer, training)
    found = ask(scorer, x_test, test.routes, test.tasks, seconds)
    if not (np.isfinite(found.merit).all() and np.isfinite(found.success).all()):
        raise HMRouterError(f"the scorer {scorer.name!r} gave scores that are not finite numbers")
    return found


def scorer_of(method: str | Scorer) -> Scorer:
    """Make the scorer behind a method's name, with its default settings; a scorer is given back as it is."""
    scorer: Scorer = METHODS.load(method)() if isinstance(method, str) else method
    return scorer


def timed_fit(scorer: Scorer, training: Training) -> float:
    """Fit a scorer; give the seconds that it took."""
    start = time.perf_counter()
    scorer.fit(training)
    return time.perf_counter() - start


def ask(
    scorer: Scorer, x: Floats, routes: Sequence[Route], tasks: Sequence[Task] = (), fit_seconds: float = 0.0
) -> Predictions:
    """Ask a fitted scorer about tasks with vectors x; `tasks`, if it may remember them."""
    said = scorer.predict_tasks(x, routes, tasks) if tasks else scorer.predict(x, routes)
    return Predictions(said.merit, said.success, fit_seconds, scorer)


def route_intervals(scorer: Scorer, x_test: Floats, test: Dataset) -> list[tuple[float, float]] | None:
    """Ask for a 90% interval of each route's mean score over the test tasks it was run on; None if there are none."""
    out = []
    for j, route in enumerate(test.routes):
        tasks = test.cells.task[test.cells.route == j]
        found = scorer.mean_interval(x_test[tasks], [route]) if len(tasks) else (np.zeros(1), np.ones(1))
        if found is None:
            return None
        out.append((float(found[0][0]), float(found[1][0])))
    return out
