"""Hides the training outcomes of some routes, which stay in the pool; names the methods that may not choose them."""

from __future__ import annotations

from functools import lru_cache

from hmrouter.errors import InputError
from hmrouter.evidence.dataset import Dataset, Split, hash_rank
from hmrouter.types import Route

BEST_FIRST, RANDOM = "best-first", "random"
LEVELS = ("10%", "25%", "50%", "75%", "90%", "one left")
SETTINGS = tuple(f"{order} {level}" for order in (BEST_FIRST, RANDOM) for level in LEVELS)
OBSERVED = ("fixed", "hm_observed", "oracle")
"""Methods that choose only among the routes that are not hidden."""


@lru_cache(maxsize=4)
def hidden_split(split: Split, setting: str, seed: int) -> Split:
    """The split with the training outcomes of some routes hidden; both sides keep every route."""
    order, _, level = setting.partition(" ")
    routes = ranked_routes(split.train, order, seed, split.number)
    n = len(routes) - 1 if level == "one left" else round(int(level.removesuffix("%")) / 100 * len(routes))
    n = min(max(n, 1), len(routes) - 1)
    return Split(split.number, split.train.withhold(routes=routes[:n]), split.test)


def ranked_routes(train: Dataset, order: str, seed: int, number: int) -> list[Route]:
    """The routes that have training outcomes, in the order in which they are hidden."""
    means = dict(zip(train.routes, train.route_means(), strict=True))
    routes = [r for r, seen in zip(train.routes, train.observed, strict=True) if seen]
    if len(routes) < 2:
        raise InputError("fewer than two routes have training outcomes")
    shuffled = sorted(routes, key=lambda r: hash_rank(seed, number, "hidden", r))
    return shuffled if order == RANDOM else sorted(shuffled, key=lambda r: -means[r])
