"""The folded layer norm against the plain one, written out here as the definition says."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hmrouter.scorers.hm import folded
from hmrouter.scorers.hm.folded import LN_EPS, Rows, backward, forward, score_rows

Array = NDArray[Any]
TOLERANCE = {"float64": 1e-9, "float32": 1e-3}


def plain(q: Array, a: Array, v: Array) -> Array:
    """v . (p - mean p) / sqrt(var p + eps) for p = q * a, one cell at a time, wider than float64."""
    out = np.empty((len(q), len(a)), dtype=np.longdouble)
    for i, task in enumerate(q.astype(np.longdouble)):
        for j, row in enumerate(a.astype(np.longdouble)):
            p = task * row
            deviation = p - p.mean()
            out[i, j] = v.astype(np.longdouble) @ deviation / np.sqrt((deviation**2).mean() + LN_EPS)
    return out


def scored(q: Array, a: Array, v: Array) -> Array:
    out = np.full((len(a), len(q)), np.nan, dtype=q.dtype)
    score_rows(q, Rows.of(a, v), out)
    return out.T


FORMS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "forward": lambda q, a, v: forward(q, a, v)[0],
    "score_rows": scored,
}


def factors(kind: str, n: int, d: int, scale: float, rng: np.random.Generator) -> Array:
    """Rows of one kind; products of the nearly constant kinds are nearly constant."""
    noise = rng.standard_normal((n, d))
    rows = {
        "ordinary": noise,
        "constant": np.ones((n, d)),
        "nearly constant": 1.0 + 1e-4 * noise,
        "hardly constant": 1.0 + 1e-2 * noise,
        "huge mean": 300.0 + noise,
        "tiny": 1e-12 * noise,
        "zero": np.zeros((n, d)),
        "one spike": np.eye(d)[rng.integers(d, size=n)],
    }
    return scale * rows[kind]


KINDS = (
    "ordinary", "constant", "nearly constant", "hardly constant", "huge mean", "tiny", "zero", "one spike",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=60)
@given(
    n=st.integers(1, 5),
    k=st.integers(1, 7),
    d=st.integers(1, 40),
    q_kind=st.sampled_from(KINDS),
    a_kind=st.sampled_from(KINDS),
    scale=st.sampled_from([1e-6, 0.1, 1.0, 30.0]),
    seed=st.integers(0, 2**32 - 1),
)
@example(n=1, k=1, d=32, q_kind="constant", a_kind="constant", scale=30.0, seed=0)
@example(n=3, k=4, d=32, q_kind="nearly constant", a_kind="constant", scale=30.0, seed=0)
@example(n=3, k=4, d=32, q_kind="huge mean", a_kind="nearly constant", scale=1.0, seed=0)
def test_equals_the_plain_layer_norm(
    form: str, dtype: str, n: int, k: int, d: int, q_kind: str, a_kind: str, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    q = factors(q_kind, n, d, scale, rng).astype(dtype)
    a = factors(a_kind, k, d, scale, rng).astype(dtype)
    v = (rng.standard_normal(d) / d**0.5).astype(dtype)
    np.testing.assert_allclose(FORMS[form](q, a, v), plain(q, a, v), rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_nearly_constant_rows_among_ordinary_ones(dtype: str) -> None:
    """Single bad cells are repaired without touching their neighbours."""
    rng = np.random.default_rng(1)
    q, a = np.ones((3, 32), dtype=dtype), rng.standard_normal((9, 32)).astype(dtype)
    q[1] = rng.standard_normal(32)
    a[4] = 20.0 + 1e-3 * a[4]
    v = rng.standard_normal(32).astype(dtype)
    expected = plain(q, a, v)
    for form in FORMS.values():
        np.testing.assert_allclose(form(q, a, v), expected, rtol=0, atol=TOLERANCE[dtype])
    alone = forward(q[1:2], a, v)[0]
    np.testing.assert_allclose(forward(q, a, v)[0][1:2], alone, rtol=0, atol=1e-5)


def test_the_repair_is_needed() -> None:
    """Without it the folded variance is wrong by far more than the tolerance: the tests above can fail."""
    rng = np.random.default_rng(2)
    q = np.full((1, 32), 20.0, dtype=np.float32)
    a = (20.0 + 1e-4 * rng.standard_normal((1, 32))).astype(np.float32)
    p = (q * a).astype(np.float64)
    folded_var = ((q * q) @ (a * a).T / 32 - ((q @ a.T) / 32) ** 2).item()
    assert abs(folded_var - p.var()) > 10 * (p.var() + LN_EPS)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("k", [1, 15, 16, 17, 32, 50])
def test_block_boundaries(monkeypatch: pytest.MonkeyPatch, n: int, k: int) -> None:
    """Rows that fill blocks exactly, leave a rest, or do not fill one; further terms are added in every block."""
    monkeypatch.setattr(folded, "BLOCK_ENTRIES", 16 * n)
    rng = np.random.default_rng(k)
    q, a, v = rng.standard_normal((n, 8)), rng.standard_normal((k, 8)), rng.standard_normal(8)
    a[-1] = 50.0  # constant, in the last block
    q[0] = 1.0
    extra, of = rng.standard_normal((4, n)), rng.integers(4, size=k)
    out = np.full((k, n), np.nan)
    score_rows(q, Rows.of(a, v), out, add=((extra, of), (extra, of)))
    np.testing.assert_allclose(out.T, forward(q, a, v)[0] + 2 * extra[of].T, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n", "k"), [(0, 5), (3, 0)])
def test_nothing_to_score(n: int, k: int) -> None:
    assert scored(np.ones((n, 4)), np.ones((k, 4)), np.ones(4)).shape == (n, k)


def test_gradient_of_nearly_constant_rows() -> None:
    """`backward` builds on the repaired values: compare with differences of the plain form."""
    rng = np.random.default_rng(3)
    q, a, v = 1.0 + 1e-3 * rng.standard_normal((2, 6)), 3.0 + 1e-3 * rng.standard_normal((3, 6)), rng.standard_normal(6)
    g = rng.standard_normal((2, 3))
    gradients = backward(g, forward(q, a, v)[1])
    for name, gradient in zip("qav", gradients, strict=True):
        for index in np.ndindex(gradient.shape):
            sides = []
            for step in (1e-6, -1e-6):
                moved = {n: value.astype(np.longdouble) for n, value in (("q", q), ("a", a), ("v", v))}
                moved[name][index] += step
                sides.append((g * plain(**moved)).sum())
            difference = float((sides[0] - sides[1]) / 2e-6)
            assert gradient[index] == pytest.approx(difference, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("kind", ["ordinary", "constant"])
def test_never_allocates_tasks_x_rows_x_d(kind: str) -> None:
    """Beside its output, scoring needs a few blocks, even where every cell needs the plain form."""
    n, d = 256, 32
    k = 20_000 if kind == "ordinary" else 4_000  # the plain form is slow
    rng = np.random.default_rng(0)
    q, a = (factors(kind, size, d, 30.0, rng).astype(np.float32) for size in (n, k))
    rows, out = Rows.of(a, rng.standard_normal(d).astype(np.float32)), np.empty((k, n), np.float32)
    tracemalloc.start()
    try:
        score_rows(q, rows, out)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < n * k * d * 4 / 10


def test_training_never_allocates_tasks_x_rows_x_d() -> None:
    n, k, d = 64, 2_000, 32
    rng = np.random.default_rng(0)
    q, a, v = (rng.standard_normal(s).astype(np.float32) for s in ((n, d), (k, d), (d,)))
    tracemalloc.start()
    try:
        term, kept = forward(q, a, v)
        backward(term, kept)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < n * k * d * 4 / 2
