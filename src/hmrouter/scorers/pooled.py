"""The pooled model: one linear solve with an exact posterior.

    y_qr = mu + a_m + b_h + g_mh + w . x_q + d_q + e

Every term is Gaussian with variance c * Var(y). The task effect d_q is integrated out: with n cells of task q, S the
sum of their design rows, tau and s2 the variances of d and e, and om = tau / (s2 + n tau),

    P = (Z'Z - sum_q om S S') / s2 + D^-1,     u = P^-1 (Z'y - sum_q om S y_q.) / s2,     posterior covariance P^-1.

One more cell of task q with design row z and score y is one more observation with row z - om S, value y - om y_q. and
variance s2 (1 + om), so the posterior follows by a rank-one update, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hmrouter.ledger import Added
from hmrouter.state import Floats, State
from hmrouter.types import Route

KINDS = ("model", "harness", "pair")
PRIOR_RATE = 0.5
"""The mean of mu before any outcome, in the middle: successes and failures are treated alike."""

FULL, BLOCK = 0.1, 4096
"""From this share of cells on, blocks of so many tasks are multiplied as dense matrices, which is then faster."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Variance of each term as a share of Var(y): about the medians of maximum-likelihood fits to real benchmarks."""

    mu: float = 5.0
    model: float = 0.03
    harness: float = 0.02
    pair: float = 0.04
    x: float = 0.06
    task: float = 0.27
    noise: float = 0.58


class Pooled:
    """Posterior of all effects. The columns: mu, x, then models, harnesses and pairs as they appear."""

    def __init__(
        self, columns: list[str], dims: int, mean: Floats, cov: Floats, variance: float, shares: Shares
    ) -> None:
        self.columns = columns
        self.dims = dims
        self.mean = mean
        self.cov = cov
        self.variance = variance
        self.shares = shares
        self._at = {name: i for i, name in enumerate(columns)}
        self._places: dict[Route, tuple[int, ...]] = {}

    # -- learning -----------------------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls, x: Floats, routes: Sequence[Route], task: Any, route: Any, score: Floats,
        shares: Shares | None = None, variance: float | None = None,
    ) -> Self:  # fmt: skip
        """Solve for cells (task, route, score) with task vectors x (tasks, dims); Var(y) is theirs unless given."""
        from scipy.linalg import cho_factor, cho_solve
        from scipy.sparse import csr_matrix

        shares, x = shares or Shares(), np.asarray(x, dtype=np.float64)
        seen, at = np.unique(route, return_inverse=True)
        used = [routes[i] for i in seen.tolist()]
        columns = ["mu", *(f"x {i}" for i in range(x.shape[1])), *_effects_of(used)]
        variance = scale_of(score) if variance is None else variance
        self = cls(columns, x.shape[1], np.zeros(len(columns)), np.zeros((0, 0)), variance, shares)
        s2, tau = shares.noise * variance, shares.task * variance
        y = np.asarray(score, dtype=np.float64) - PRIOR_RATE
        n = np.bincount(task, minlength=len(x)).astype(np.float64)
        om = tau / (s2 + n * tau)
        # c (tasks, routes): which cells there are; b (routes, columns): the columns of each route.
        c = csr_matrix((np.ones(len(at)), (task, at)), shape=(len(x), len(used)))
        places, _ = self._locate(used)
        where = (np.repeat(np.arange(len(used)), places.shape[1]), places.ravel())
        b = csr_matrix((np.ones(places.size), where), shape=(len(used), len(columns)))
        y_task = np.bincount(task, weights=y, minlength=len(x))
        y_route = np.bincount(at, weights=y, minlength=len(used))
        between = -_gram(csr_matrix((np.sqrt(om[task]), (task, at)), shape=c.shape))  # (routes, routes)
        between[np.diag_indices_from(between)] += np.bincount(at, minlength=len(used))
        of_x = slice(1, 1 + x.shape[1])
        precision = np.asarray(b.T @ (b.T @ between).T)
        cross = b.T @ (c.T @ (x * (1.0 - om * n)[:, None]))
        precision[:, of_x] += cross
        precision[of_x, :] += cross.T
        precision[of_x, of_x] += x.T @ (x * (n - om * n * n)[:, None])
        rhs = b.T @ (y_route - c.T @ (om * y_task))
        rhs[of_x] += x.T @ (y_task * (1.0 - om * n))
        precision /= s2
        precision[np.diag_indices_from(precision)] += 1.0 / self._prior(columns)
        factor = cho_factor(precision, lower=True)
        self.mean = cho_solve(factor, rhs / s2)
        self.mean[0] += PRIOR_RATE
        inverse = cho_solve(factor, np.eye(len(columns)))
        self.cov = np.ascontiguousarray((inverse + inverse.T) / 2.0)
        return self

    def update(self, added: Added, x: Floats, routes: Sequence[Route]) -> None:
        """Take in what one more outcome changed, on a task with vector x. Scales and features stay as they are."""
        from scipy.linalg.blas import dger

        self._extend(routes[added.route])
        s2, tau = self.shares.noise * self.variance, self.shares.task * self.variance
        n = len(added.before)
        om = tau / (s2 + n * tau)
        # Counts and an exact sum: the order in which the task's cells came does not matter, to the last bit.
        others, _ = self._locate([routes[r] for r in added.before])
        row = -om * np.bincount(others.ravel(), minlength=len(self.columns))
        row[list(self._place(routes[added.route]))] += 1.0
        row[1 : 1 + self.dims] = (1.0 - om * n) * np.asarray(x, dtype=np.float64)
        gain = self.cov @ row
        if added.old is not None:  # the same cell again: its mean moved, the design did not
            self.mean = self.mean + gain * ((added.new - added.old) / s2)
            return
        spread = s2 * (1.0 + om) + row @ gain
        residual = added.new - om * fsum(added.before.values()) - row @ self.mean
        self.mean = self.mean + gain * (residual / spread)
        root = gain / np.sqrt(spread)
        # cov -= root root', in place and symmetric to the last bit; the transpose is what Fortran calls contiguous.
        dger(-1.0, root, root, a=self.cov.T, overwrite_a=True)

    # -- saying -------------------------------------------------------------------------------------------------

    def predict(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats]:
        """Mean and variance, (tasks, routes), of the success rate on tasks like these.

        An effect that was never seen has its prior.
        """
        x, of_x = np.asarray(x, dtype=np.float64), slice(1, 1 + self.dims)
        at, seen = self._locate(routes)
        both = seen[:, :, None] & seen[:, None, :]
        var = (self.cov[at[:, :, None], at[:, None, :]] * both).sum(axis=(1, 2)) + ~seen @ self._prior(["mu", *KINDS])
        with_x = _sum_rows(self.cov[:, of_x], at, seen)  # (routes, dims)
        total = ((x @ self.cov[of_x, of_x]) * x).sum(axis=1)[:, None] + 2.0 * (x @ with_x.T) + var[None, :]
        mean = (x @ self.mean[of_x])[:, None] + (self.mean[at] * seen).sum(axis=1)[None, :]
        return mean, np.maximum(total, 0.0)

    def effect(self, routes: Sequence[Route]) -> Floats:
        """Mean of mu and the route's own effects, (routes,): what of the success rate does not depend on the task."""
        at, seen = self._locate(routes)
        return np.asarray((self.mean[at] * seen).sum(axis=1))

    def difference_sd(self, routes: Sequence[Route], to: Route) -> Floats:
        """Standard deviation of each route's success rate less that of `to`, (routes,): the same for every task."""
        at, seen = self._locate(routes)
        own, _ = self._locate([to])
        both = seen[:, :, None] & seen[:, None, :]
        var = (self.cov[at[:, :, None], at[:, None, :]] * both).sum(axis=(1, 2)) + ~seen @ self._prior(["mu", *KINDS])
        cross = (self.cov[at[:, :, None], own] * seen[:, :, None]).sum(axis=(1, 2))
        return np.asarray(np.sqrt(np.maximum(var + self.cov[np.ix_(own[0], own[0])].sum() - 2.0 * cross, 0.0)))

    def predict_cells(self, x: Floats, routes: Sequence[Route], task: Any, route: Any) -> Floats:
        """Means of single cells (task, route), given by their places in x and routes."""
        at, seen = self._locate(routes)
        return np.asarray((x @ self.mean[1 : 1 + self.dims])[task] + (self.mean[at] * seen).sum(axis=1)[route])

    def mean_over(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats]:
        """Mean and variance, per route, of its mean score over these tasks (tasks, dims), sampling noise included."""
        n = max(1, len(x))
        mean, var = self.predict(np.asarray(x, dtype=np.float64).sum(axis=0, keepdims=True) / n, routes)
        return mean[0], var[0] + (self.shares.task + self.shares.noise) * self.variance / n

    def joint(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats]:
        """Mean (routes,) and covariance (routes, routes) of the success rates on tasks like x (dims,)."""
        x, of_x = np.asarray(x, dtype=np.float64), slice(1, 1 + self.dims)
        at, seen = self._locate(routes)
        with_all = _sum_rows(self.cov, at, seen) + x @ self.cov[of_x]  # (routes, columns)
        cov = _sum_rows(with_all.T, at, seen).T + (with_all[:, of_x] @ x)[:, None]
        # Routes that share a model or a harness that was never seen share its prior effect.
        for j, kind in enumerate(KINDS, start=1):
            if not seen[:, j].all():
                _, name = np.unique([_column(kind, r) for r in routes], return_inverse=True)
                shared = (name[:, None] == name[None, :]) & ~seen[:, j, None]
                cov += self.variance * getattr(self.shares, kind) * shared
        return x @ self.mean[of_x] + (self.mean[at] * seen).sum(axis=1), cov

    # -- keeping ------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """The posterior, as it is now."""
        meta = {"columns": self.columns, "dims": self.dims, "variance": self.variance, "shares": asdict(self.shares)}
        return State({"mean": self.mean, "cov": self.cov.copy()}, meta)  # a copy: `update` works in place

    @classmethod
    def from_state(cls, state: State) -> Self:
        """What `state` described."""
        m = state.meta
        cov = np.array(state.arrays["cov"], order="C")
        return cls(list(m["columns"]), m["dims"], state.arrays["mean"], cov, m["variance"], Shares(**m["shares"]))

    # -- inside -------------------------------------------------------------------------------------------------

    def _prior(self, columns: Sequence[str]) -> Floats:
        return self.variance * np.array([getattr(self.shares, name.partition(" ")[0]) for name in columns])

    def _place(self, route: Route) -> tuple[int, ...]:
        """The columns of mu, model, harness and pair; -1 for what was never seen."""
        place = self._places.get(route)
        if place is None:
            place = (0, *(self._at.get(_column(kind, route), -1) for kind in KINDS))
            if min(place) >= 0:  # complete, and columns never move
                self._places[route] = place
        return place

    def _locate(self, routes: Sequence[Route]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The columns of each route's effects, (routes, 4), and which of them there are."""
        at = np.array([self._place(r) for r in routes], dtype=np.int64).reshape(-1, 1 + len(KINDS))
        return at, at >= 0

    def _extend(self, route: Route) -> None:
        """Columns for what was never seen: their prior, independent of the rest."""
        new = [name for name in _effects_of([route]) if name not in self._at]
        if new:
            old = len(self.columns)
            cov = np.zeros((old + len(new), old + len(new)))
            cov[:old, :old] = self.cov
            cov[range(old, len(cov)), range(old, len(cov))] = self._prior(new)
            self.cov, self.mean = cov, np.concatenate([self.mean, np.zeros(len(new))])
            self.columns = self.columns + new
            self._at |= {name: old + i for i, name in enumerate(new)}


def scale_of(score: Floats) -> float:
    """Var(y), with one success and one failure added: equal outcomes claim no certainty.

    >>> scale_of(np.array([1.0, 0.0])), round(scale_of(np.ones(8)), 2), round(scale_of(np.full(998, 0.5)), 4)
    (0.25, 0.09, 0.0005)
    """
    return float(np.append(score, [0.0, 1.0]).var())


def _gram(c: Any) -> Floats:
    """c'c of a sparse matrix, dense."""
    if c.nnz <= FULL * c.shape[0] * c.shape[1]:
        return np.asarray((c.T @ c).toarray())
    out = np.zeros((c.shape[1], c.shape[1]))
    for start in range(0, c.shape[0], BLOCK):
        block = c[start : start + BLOCK].toarray()
        out += block.T @ block
    return out


def _sum_rows(values: Floats, at: NDArray[np.int64], seen: NDArray[np.bool_]) -> Floats:
    """Per route, the sum of the rows of its effects, (routes, width)."""
    return np.asarray((values[at] * seen[:, :, None]).sum(axis=1))


def _column(kind: str, route: Route) -> str:
    return f"{kind} {route if kind == 'pair' else getattr(route, kind)}"


def _effects_of(routes: Sequence[Route]) -> list[str]:
    return list(dict.fromkeys(_column(kind, r) for kind in KINDS for r in routes))
