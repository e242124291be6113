"""Compute w . LN(a * q) for all tasks and all factor rows, without forming the (tasks x rows x d) products.

For a factor row a, a task factor q and p = a * q (elementwise, d entries), layer norm gives

    w . (gain * (p - mean p) / sqrt(var p + eps) + bias)  =  c / sqrt(var p + eps) + w . bias,

    mean p = (q . a) / d,   var p = (q^2 . a^2) / d - (mean p)^2,   c = sum_i (v_i - mean v) q_i a_i,   v = w * gain

(subtracting mean v from v does what subtracting mean p from p would). So each term is three matrix products. The
variance is a difference of two sums and loses its digits where p is nearly constant; such cells, and only they, are
computed again in the plain form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmrouter.state import Floats

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LN_EPS = 1e-5
# A variance below this share of mean^2 has lost more than three of float32's seven digits.
NEARLY_CONSTANT = 1e-3
# Entries of one (rows x tasks) block while scoring: three such blocks stay in the processor's cache.
BLOCK_ENTRIES = 65_536
# Nearly constant cells that are computed at once in the plain form.
PLAIN_CELLS = 4_096


class FoldedTerm(NamedTuple):
    """The intermediate arrays that `backward` needs from `forward`."""

    q: Floats
    a: Floats
    vc: Floats
    mean: Floats
    inverse: Floats
    c: Floats


def forward(q: Floats, a: Floats, v: Floats, eps: float = LN_EPS) -> tuple[Floats, FoldedTerm]:
    """Compute the term without its bias, (tasks, rows), for q (tasks, d), a (rows, d), v = w * gain (d,)."""
    d = q.shape[1]
    vc = centred(v)
    c = (q * vc) @ a.T
    mean = (q @ a.T) / d
    square = mean * mean
    var = (q * q) @ (a * a).T / d
    var -= square
    var += eps
    low = var < NEARLY_CONSTANT * square
    if low.any():
        task, row = np.nonzero(low)
        mean[low], var[low], c[low] = _plain(q, a, vc, task, row, eps)
    inverse = 1.0 / np.sqrt(var, out=var)
    return c * inverse, FoldedTerm(q, a, vc, mean, inverse, c)


def backward(g: Floats, kept: FoldedTerm) -> tuple[Floats, Floats, Floats]:
    """Compute the gradients of sum(g * term) with respect to q, a and v."""
    q, a, vc, mean, inverse, c = kept
    d = q.shape[1]
    gc = g * inverse
    # term = c * (var + eps)^(-1/2): with respect to the variance, then its two parts.
    gvar = gc * c * (inverse * inverse) * (-0.5)
    gmean = gvar * mean * (-2.0 / d)
    gvar *= 2.0 / d
    gc_a = gc @ a
    gq = gc_a * vc + gmean @ a + q * (gvar @ (a * a))
    ga = gc.T @ (q * vc) + gmean.T @ q + a * (gvar.T @ (q * q))
    return gq, ga, centred((gc_a * q).sum(axis=0))


class Rows(NamedTuple):
    """Factor rows prepared for scoring: the arrays that do not depend on the task."""

    a: Floats
    squared: Floats
    vc: Floats
    eps: float = LN_EPS

    @classmethod
    def of(cls, a: Floats, v: Floats, eps: float = LN_EPS) -> Rows:
        """Prepare rows a (rows, d) with v = w * gain (d,)."""
        return cls(a, a * a, centred(v), eps)


def score_rows(q: Floats, rows: Rows, out: Floats, add: Sequence[tuple[Floats, Ints]] = ()) -> None:
    """Write the term without its bias into out (rows, tasks): the serving form of `forward`.

    Rows first, so that blocks of routes are contiguous and stay in the cache. `add` holds further terms
    (components, tasks) with, per row, which component's to add.
    """
    n, d = q.shape
    by_c, by_mean, by_square = (q * rows.vc).T, (q / d).T, (q * q / d).T
    step = max(16, BLOCK_ENTRIES // max(1, n))
    blocks = np.empty((2, min(step, len(out)), n), out.dtype)
    for start in range(0, len(out), step):
        o = out[start : start + step]
        a, squared = rows.a[start : start + step], rows.squared[start : start + step]
        square, var = blocks[:, : len(o)]
        np.matmul(a, by_mean, out=square)
        np.multiply(square, square, out=square)
        np.matmul(squared, by_square, out=var)
        np.matmul(a, by_c, out=o)
        var -= square
        var += rows.eps
        square *= NEARLY_CONSTANT
        low = var < square
        if low.any():
            row, task = np.nonzero(low)
            _, var[low], o[low] = _plain(q, a, rows.vc, task, row, rows.eps)
        o /= np.sqrt(var, out=var)
        for term, of in add:
            o += np.take(term, of[start : start + step], axis=0, out=square, mode="clip")


def centred(v: Floats) -> Floats:
    """Subtract the mean of v."""
    return np.asarray(v - v.sum() / len(v))


def _plain(q: Floats, a: Floats, vc: Floats, task: Ints, row: Ints, eps: float) -> tuple[Floats, Floats, Floats]:
    """Compute mean, variance + eps and c of single cells as layer norm is defined: centre first, in float64."""
    mean, var, c = np.empty((3, len(task)))
    for start in range(0, len(task), PLAIN_CELLS):
        at = slice(start, start + PLAIN_CELLS)
        p = np.multiply(q[task[at]], a[row[at]], dtype=np.float64)
        mean[at] = p.mean(axis=1)
        p -= mean[at, None]
        var[at] = np.einsum("ij,ij->i", p, p) / p.shape[1] + eps
        c[at] = p @ vc
    return mean, var, c
