"""Model choices made under one harness and used under another: what they are worth there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from hmrouter.state import Floats
from hmrouter.types import Route


@dataclass(frozen=True, slots=True)
class Move:
    """From one harness to another, with the models that both have."""

    source: str
    target: str
    models: tuple[str, ...]
    before: Floats
    """Scores under the source, (tasks, models), NaN where a model was not run under both."""
    after: Floats
    """Scores under the target, likewise."""


def moves(routes: Sequence[Route], scores: Floats) -> Iterator[Move]:
    """Every ordered pair of harnesses with at least two models in common; tasks where two of them can be compared.

    `scores` is (tasks, routes), NaN where nothing was run.
    """
    at: dict[str, dict[str, int]] = {}
    for j, route in enumerate(routes):
        at.setdefault(route.harness, {})[route.model] = j
    for source, target in permutations(sorted(at), 2):
        models = tuple(sorted(at[source].keys() & at[target].keys()))
        if len(models) < 2:
            continue
        before = scores[:, [at[source][m] for m in models]]
        after = scores[:, [at[target][m] for m in models]]
        both = ~np.isnan(before) & ~np.isnan(after)
        tasks = both.sum(axis=1) >= 2
        if tasks.any():
            kept = both[tasks]
            yield Move(source, target, models, *(np.where(kept, s[tasks], np.nan) for s in (before, after)))


def best_of(scores: Floats) -> Floats:
    """Per task the best score of any model: the oracle of a harness."""
    return np.asarray(np.nanmax(scores, axis=1))


def best_moved(before: Floats, after: Floats) -> Floats:
    """Per task what the oracle's choice under the source scores under the target; of several equal choices, their mean.

    >>> best_moved(np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 0.0, 1.0]])).tolist()
    [0.5]
    """
    chosen = before == best_of(before)[:, None]
    return np.asarray(np.where(chosen, after, 0.0).sum(axis=1) / chosen.sum(axis=1))


def any_of(scores: Floats) -> Floats:
    """Per task the mean over the models: one of them chosen blindly."""
    return np.asarray(np.nanmean(scores, axis=1))


def one_model(move: Move, means: Mapping[Route, float], harness: str) -> Floats:
    """Per task the target's score of the model that was best on training tasks under `harness`.

    Where that model was not run, the next best one is used.
    """
    known = np.nan_to_num([means.get(Route(m, harness), np.nan) for m in move.models], nan=-1.0)
    chosen = np.where(np.isnan(move.after), -np.inf, known).argmax(axis=1)
    return np.asarray(move.after[np.arange(len(chosen)), chosen])


def exchanged(move: Move, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Source and target scores in a world where a harness helps every model and every task alike.

    Where a model's two scores on a task differ, a coin decides which of them stands under which harness. It is weighted
    by how often the source was the better one overall: with a model and task effect of any kind and a constant effect
    of the harness (in logits), that is exactly how the two scores fall.
    """
    differ = move.before != move.after  # also where nothing was run, which stays as it is
    better = (move.before > move.after).sum() / max(1, (differ & ~np.isnan(move.before)).sum())
    high, low = np.fmax(move.before, move.after), np.fmin(move.before, move.after)
    source_wins = rng.random(move.before.shape) < better
    return np.where(source_wins, high, low), np.where(source_wins, low, high)
