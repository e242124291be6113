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
from typing import Any, Self

import numpy as np

from hmrouter.ledger import Added
from hmrouter.state import Floats, State
from hmrouter.types import Route


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

    # -- learning -----------------------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls, x: Floats, routes: Sequence[Route], task: Any, route: Any, score: Floats, shares: Shares | None = None
    ) -> Self:
        """Solve for cells (task, route, score) with task vectors x (tasks, dims)."""
        from scipy.linalg import cho_factor, cho_solve
        from scipy.sparse import csr_matrix

        shares = shares or Shares()
        variance = scale_of(score)
        x = np.asarray(x, dtype=np.float64)
        seen, at = np.unique(route, return_inverse=True)
        columns = _columns(x.shape[1], [routes[i] for i in seen.tolist()])
        self = cls(columns, x.shape[1], np.zeros(len(columns)), np.zeros((0, 0)), variance, shares)
        s2, tau = shares.noise * variance, shares.task * variance
        n = np.bincount(task, minlength=len(x)).astype(np.float64)
        om = tau / (s2 + n * tau)
        # c (tasks, routes): which cells there are; b (routes, columns): the columns of each route.
        c = csr_matrix((np.ones(len(at)), (task, at)), shape=(len(x), len(seen)))
        b = np.zeros((len(seen), len(columns)))
        for i, r in enumerate(seen.tolist()):
            b[i, self._columns_of(routes[r])] = 1.0
        y_task = np.bincount(task, weights=score, minlength=len(x))
        y_route = np.bincount(at, weights=score, minlength=len(seen))
        of_x = slice(1, 1 + x.shape[1])
        between = np.diag(np.asarray(c.sum(axis=0)).ravel()) - (c.T @ c.multiply(om[:, None]).tocsr()).toarray()
        precision = b.T @ between @ b
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
        self.cov = cho_solve(factor, np.eye(len(columns)))
        return self

    def update(self, added: Added, x: Floats, routes: Sequence[Route]) -> None:
        """Take in what one more outcome changed, on a task with vector x. Scales and features stay as they are."""
        self._extend([routes[added.route]])
        s2, tau = self.shares.noise * self.variance, self.shares.task * self.variance
        total = np.zeros(len(self.columns))
        for r in added.before:
            total += self._row(x, routes[r])
        om = tau / (s2 + len(added.before) * tau)
        row = self._row(x, routes[added.route]) - om * total
        if added.old is not None:  # the same cell again: its mean moved, the design did not
            self.mean = self.mean + self.cov @ (row * ((added.new - added.old) / s2))
            return
        gain = self.cov @ row
        denominator = s2 * (1.0 + om) + row @ gain
        residual = added.new - om * sum(added.before.values()) - row @ self.mean
        self.mean = self.mean + gain * (residual / denominator)
        self.cov -= np.outer(gain, gain / denominator)

    # -- saying -------------------------------------------------------------------------------------------------

    def predict(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats]:
        """Mean and variance, (tasks, routes), of the success rate on tasks like these.

        An effect that was never seen has its prior.
        """
        x = np.asarray(x, dtype=np.float64)
        of_x = slice(1, 1 + self.dims)
        mean, var, with_x = self._effects(routes)
        own = np.einsum("ij,jk,ik->i", x, self.cov[of_x, of_x], x)
        total = own[:, None] + 2.0 * (x @ with_x) + var[None, :]
        return (x @ self.mean[of_x])[:, None] + mean[None, :], np.maximum(total, 0.0)

    def predict_cells(self, x: Floats, routes: Sequence[Route], task: Any, route: Any) -> Floats:
        """Means of single cells (task, route), given by their places in x and routes."""
        mean, _, _ = self._effects(routes)
        return np.asarray((x @ self.mean[1 : 1 + self.dims])[task] + mean[route])

    def mean_over(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats]:
        """Mean and variance, per route, of its mean score over these tasks (tasks, dims), sampling noise included."""
        mean, var = self.predict(np.asarray(x, dtype=np.float64).mean(axis=0, keepdims=True), routes)
        return mean[0], var[0] + (self.shares.task + self.shares.noise) * self.variance / max(1, len(x))

    def joint(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats]:
        """Mean (routes,) and covariance (routes, routes) of the success rates on tasks like x (dims,)."""
        design = np.array([self._row(x, r) for r in routes])
        cov = design @ self.cov @ design.T
        # Routes that share a model or a harness that was never seen share its prior effect.
        for kind in ("model", "harness", "pair"):
            names = np.array([_column(kind, r) for r in routes], dtype=object)
            unseen = np.array([name not in self._at for name in names])
            shared = (names[:, None] == names[None, :]) & unseen[:, None]
            cov += self.variance * getattr(self.shares, kind) * shared
        return design @ self.mean, cov

    # -- keeping ------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """The posterior."""
        meta = {"columns": self.columns, "dims": self.dims, "variance": self.variance, "shares": asdict(self.shares)}
        return State({"mean": self.mean, "cov": self.cov}, meta)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """What `state` described."""
        m = state.meta
        shares = Shares(**m["shares"])
        return cls(list(m["columns"]), m["dims"], state.arrays["mean"], state.arrays["cov"], m["variance"], shares)

    # -- inside -------------------------------------------------------------------------------------------------

    def _prior(self, columns: Sequence[str]) -> Floats:
        return self.variance * np.array([getattr(self.shares, name.partition(" ")[0]) for name in columns])

    def _columns_of(self, route: Route) -> list[int]:
        names = ("mu", *(_column(kind, route) for kind in ("model", "harness", "pair")))
        return [self._at[name] for name in names if name in self._at]

    def _row(self, x: Floats, route: Route) -> Floats:
        row = np.zeros(len(self.columns))
        row[self._columns_of(route)] = 1.0
        row[1 : 1 + self.dims] = x
        return row

    def _effects(self, routes: Sequence[Route]) -> tuple[Floats, Floats, Floats]:
        """Of mu and the route's own effects: mean and variance (routes,), and covariance with x (dims, routes)."""
        nothing = len(self.columns)  # an extra column of zeros stands for what was never seen
        at = np.full((len(routes), 4), nothing)
        unseen = np.zeros(len(routes))
        for i, route in enumerate(routes):
            for j, kind in enumerate(("model", "harness", "pair")):
                column = self._at.get(_column(kind, route))
                if column is None:
                    unseen[i] += getattr(self.shares, kind)
                else:
                    at[i, j] = column
        at[:, 3] = 0  # mu
        cov = np.pad(self.cov, (0, 1))
        var = cov[at[:, :, None], at[:, None, :]].sum(axis=(1, 2)) + self.variance * unseen
        with_x = cov[1 : 1 + self.dims, at].sum(axis=2)
        return np.append(self.mean, 0.0)[at].sum(axis=1), var, with_x

    def _extend(self, routes: Sequence[Route]) -> None:
        """Columns for what was never seen: their prior, independent of the rest."""
        new = [name for name in _columns(self.dims, routes) if name not in self._at]
        if new:
            old = len(self.columns)
            cov = np.zeros((old + len(new), old + len(new)))
            cov[:old, :old] = self.cov
            cov[range(old, len(cov)), range(old, len(cov))] = self._prior(new)
            self.cov, self.mean = cov, np.concatenate([self.mean, np.zeros(len(new))])
            self.columns = self.columns + new
            self._at |= {name: old + i for i, name in enumerate(new)}


def scale_of(score: Floats) -> float:
    """Var(y), never so small that equal outcomes would claim certainty: a tenth of what a rate of
    (successes + 1) / (runs + 2) would have.

    >>> round(scale_of(np.array([1.0, 0.0])), 3), round(scale_of(np.ones(8)), 3)
    (0.25, 0.009)
    """
    rate = (score.sum() + 1.0) / (len(score) + 2.0)
    return float(max(score.var() if len(score) else 0.0, 0.1 * rate * (1.0 - rate)))


def _column(kind: str, route: Route) -> str:
    return f"{kind} {route if kind == 'pair' else getattr(route, kind)}"


def _columns(dims: int, routes: Sequence[Route]) -> list[str]:
    effects = dict.fromkeys(_column(kind, r) for kind in ("model", "harness", "pair") for r in routes)
    return ["mu", *(f"x {i}" for i in range(dims)), *effects]
