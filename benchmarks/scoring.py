"""Scoring with HM: against the naive form, against bare matrix products, and as the pool grows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.naive import Naive, bare_products
from benchmarks.ratio import Ratio
from benchmarks.timing import growth, speedup
from benchmarks.world import pool, simulate, unit_vectors
from hmrouter.scorers.hm import HM

SMALL, LARGE = (20, 15), (500, 200)
GROWTH_POOLS = (SMALL, (40, 25), (100, 30), (200, 50), (300, 100), LARGE)


def fitted() -> HM:
    """A scorer that knows every component of the largest pool."""
    return HM(epochs=1).fit(simulate(20, pool(*LARGE), density=0.003))


def against_naive_and_bare() -> Iterator[Ratio]:
    """256 tasks at once, and one, on 300 and on 100,000 routes."""
    hm, x = fitted(), unit_vectors(256, seed=7)
    small = pool(*SMALL)
    naive = Naive(hm, small)
    if not np.allclose(hm.score(x, small), naive.score(x), atol=1e-3):
        raise AssertionError("the naive form computes something else")
    many = speedup(lambda: hm.score(x, small), lambda: naive.score(x), rounds=21, times=3)
    one = speedup(lambda: hm.score(x[:1], small), lambda: naive.score(x[:1]), rounds=41, times=100)
    yield Ratio("score_vs_naive_300", many, "naive NumPy / ours, 256 tasks x 300 routes", at_least=20)
    yield Ratio("score_one_vs_naive_300", one, "naive NumPy / ours, 1 task x 300 routes")
    yield Ratio("score_vs_gemm_300", _to_bare(hm, SMALL, 256, 41, 10), "ours / 3 bare products, 256 x 300")
    large = _to_bare(hm, LARGE, 256, 9, 1)
    yield Ratio("score_vs_gemm_100k", large, "ours / 3 bare products, 256 x 100,000", at_most=2.5)
    large_one = _to_bare(hm, LARGE, 1, 21, 10)
    yield Ratio("score_one_vs_gemm_100k", large_one, "ours / 3 bare products, 1 x 100,000")


def as_the_pool_grows() -> Iterator[Ratio]:
    """256 tasks, from 300 to 100,000 routes."""
    hm, x = fitted(), unit_vectors(256, seed=7)
    # A scorer keeps the factors of one pool at a time: one scorer per pool.
    scorers = {n * k: (HM.from_state(hm.state()), pool(n, k)) for n, k in GROWTH_POOLS}
    works = {size: (lambda s=s, routes=routes: s.score(x, routes)) for size, (s, routes) in scorers.items()}
    yield Ratio("score_growth", growth(works, rounds=7), "exponent of scoring time, 300 to 100,000 routes", at_most=1.1)


def _to_bare(hm: HM, size: tuple[int, int], n_tasks: int, rounds: int, times: int) -> float:
    x, routes = unit_vectors(n_tasks, seed=7), pool(*size)
    naive = Naive(hm, routes)
    bare = bare_products(naive.task_factors(x), naive.k_m * naive.k_h)
    return 1.0 / speedup(lambda: hm.score(x, routes), bare, rounds=rounds, times=times)
