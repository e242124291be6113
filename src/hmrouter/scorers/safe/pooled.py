"""The pooled model: one linear solve with an exact posterior.

    y_qr = e_r + w . x_q + d_q + noise

e_r is the success rate of a route, with the Gaussian `Prior` over all routes; w, d_q and the noise are Gaussian with
variance c * Var(y), the noise of a cell that has faded to f of a fresh one with 1/f times that. The task effect d_q is
integrated out. Over the cells i of task q with design rows z let n = sum f_i, S = sum f_i z_i and y_q. = sum f_i y_i;
F = diag(f), tau and s2 are the variances of d and of a fresh cell's noise, om = tau / (s2 + n tau). A task's scores
have the covariance s2 F^-1 + tau 11', whose inverse is (F - om F11'F) / s2, so that

    P = (Z'FZ - sum_q om S S') / s2 + prior^-1,   u = P^-1 (Z'Fy - sum_q om S y_q.) / s2,   posterior covariance P^-1

for y less its prior mean. One more cell of task q with design row z and score y is one more observation with row
z - om S, value y - om y_q. and variance s2 (1/f + om), so the posterior follows by a rank-one update, exactly. A fresh
outcome that joins a faded cell, f to 1 and y to y', is one more observation of that cell as well: as Gaussian densities
multiply, with the remaining 1 - f and the value (y' - f y) / (1 - f). A route that was never run follows from those
that were as the prior says: linear in their effects, plus what they leave open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hmrouter.evidence.ledger import CellChange
from hmrouter.recent import Recent
from hmrouter.scorers.base import Belief
from hmrouter.scorers.safe.prior import Prior
from hmrouter.state import Floats, State
from hmrouter.types import Route

FULL, BLOCK = 0.1, 4096
"""From this share of filled cells on, blocks of so many tasks are multiplied as dense matrices, which is faster."""

REMEMBERED = 4
"""How many pools' effects are remembered: few pools are asked about, often."""

Conditional = tuple[Floats, Floats, Floats]
"""Effects of routes never run: a constant, weights of those that were run, and the covariance of the rest."""


class Pooled:
    """The posterior of the task weights and of all routes that were run. The columns: x, then those routes.

    It never changes: one more outcome gives another one (`after`).
    """

    def __init__(
        self,
        routes: Sequence[Route],
        dims: int,
        mean: Floats,
        cov: Floats,
        prior: Prior,
        never: Recent[tuple[Route, ...], Conditional] | None = None,
        prior_inverse: Floats | None = None,
    ) -> None:
        """Hold a posterior that was solved already.

        `never`: the remembered `Conditional`s of another posterior with the same routes and prior. `prior_inverse`: the
        inverse of the routes' prior covariance, if it is at hand.
        """
        self.routes = tuple(routes)
        self.dims = dims
        self.mean = mean
        self.cov = cov
        self.prior = prior
        self._at = {route: dims + i for i, route in enumerate(self.routes)}
        self._never = Recent[tuple[Route, ...], Conditional](REMEMBERED) if never is None else never
        self._known_inverse = prior_inverse
        self._pools = Recent[tuple[Route, ...], Effects](REMEMBERED)

    # -- learning -----------------------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        x: Floats,
        routes: Sequence[Route],
        task: Any,
        route: Any,
        score: Floats,
        prior: Prior | None = None,
        fade: Floats | None = None,
    ) -> Self:
        """Solve for cells (task, route, score) with task vectors x (tasks, dims); `fade`: all fresh if None."""
        from scipy.linalg import cho_factor, cho_solve
        from scipy.sparse import csr_matrix

        prior, x = prior or Prior.of(score), np.asarray(x, dtype=np.float64)
        seen, at = np.unique(route, return_inverse=True)
        used = [routes[i] for i in seen.tolist()]
        expected = prior.mean(used)
        s2, tau = prior.shares.noise * prior.variance, prior.shares.task * prior.variance
        y = np.asarray(score, dtype=np.float64) - expected[at]
        n = np.bincount(task, weights=fade, minlength=len(x)).astype(np.float64)
        om = tau / (s2 + n * tau)
        f = np.ones(len(at)) if fade is None else np.asarray(fade, dtype=np.float64)
        c = csr_matrix((f, (task, at)), shape=(len(x), len(used)))  # what of the cells there is
        fy = y if fade is None else f * y
        y_task = np.bincount(task, weights=fy, minlength=len(x))
        y_route = np.bincount(at, weights=fy, minlength=len(used))
        dims = x.shape[1]
        of_x, of_route = slice(dims), slice(dims, dims + len(used))
        precision = np.zeros((dims + len(used), dims + len(used)))
        root = np.sqrt(om[task])
        between = -_gram(csr_matrix((root if fade is None else root * f, (task, at)), shape=c.shape))
        between[np.diag_indices_from(between)] += np.bincount(at, weights=fade, minlength=len(used))
        precision[of_route, of_route] = between
        cross = c.T @ (x * (1.0 - om * n)[:, None])
        precision[of_route, of_x] = cross
        precision[of_x, of_route] = cross.T
        precision[of_x, of_x] = x.T @ (x * (n - om * n * n)[:, None])
        precision /= s2
        precision[range(dims), range(dims)] += 1.0 / (prior.shares.x * prior.variance)
        prior_inverse = _inverse(prior.cov(used, used)) if used else np.zeros((0, 0))
        precision[of_route, of_route] += prior_inverse
        rhs = np.concatenate([x.T @ (y_task * (1.0 - om * n)), y_route - c.T @ (om * y_task)]) / s2
        mean, cov = np.zeros(len(rhs)), np.zeros((len(rhs), len(rhs)))
        if len(rhs):
            factor = cho_factor(precision, lower=True)
            mean = cho_solve(factor, rhs)
            inverse = cho_solve(factor, np.eye(len(rhs)))
            cov = np.ascontiguousarray((inverse + inverse.T) / 2.0)
        mean[of_route] += expected
        return cls(used, dims, mean, cov, prior, prior_inverse=prior_inverse)

    def after(self, added: CellChange, x: Floats, routes: Sequence[Route]) -> Self:
        """Return the posterior after one more outcome on a task with vector x; variances and features stay."""
        now = self._with_column(routes[added.route])
        s2, tau = self.prior.shares.noise * self.prior.variance, self.prior.shares.task * self.prior.variance
        fades = [added.faded.get(r, 1.0) for r in added.before]
        n = fsum(fades)
        om = tau / (s2 + n * tau)
        row = np.zeros(len(now.mean))
        row[: self.dims] = (1.0 - om * n) * np.asarray(x, dtype=np.float64)
        row[[now._at[routes[r]] for r in added.before]] = -om * np.array(fades)
        row[now._at[routes[added.route]]] += 1.0
        gain = now.cov @ row
        known = 0.0 if added.old is None else added.faded.get(added.route, 1.0)
        if added.old is not None and known == 1.0:  # the same cell again: its mean moved, the design did not
            return now._moved(now.mean + gain * ((added.new - added.old) / s2), now.cov)
        # What the outcome adds to the cell: all of it if the cell is new, else what had faded. Value and spread are
        # those of the docstring times the share, so that a share near zero divides nothing.
        share, value = 1.0 - known, added.new - known * (added.old or 0.0)
        spread = s2 * (1.0 + share * om) + share * (row @ gain)
        # An exact sum: the order in which the task's cells came does not matter, to the last bit.
        of_task = fsum(f * y for f, y in zip(fades, added.before.values(), strict=True))
        residual = value - share * om * of_task - share * (row @ now.mean)
        cov = now.cov.copy()
        take_away(cov, gain / np.sqrt(spread / share))
        return now._moved(now.mean + gain * (residual / spread), cov)

    # -- saying -------------------------------------------------------------------------------------------------

    def predict(self, x: Floats, routes: Sequence[Route], effects: Effects | None = None) -> tuple[Floats, Floats]:
        """Predict mean and variance, (tasks, routes), of success on tasks like these; `effects`, if at hand."""
        x, of_x = np.asarray(x, dtype=np.float64), slice(self.dims)
        of = self.effects(routes) if effects is None else effects
        total = ((x @ self.cov[of_x, of_x]) * x).sum(axis=1)[:, None] + 2.0 * (x @ of.with_all[:, of_x].T)
        return (x @ self.mean[of_x])[:, None] + of.mean[None, :], np.maximum(total + of.var[None, :], 0.0)

    def effect(self, routes: Sequence[Route]) -> Floats:
        """Give the mean of e_r, (routes,): the part of the success rate that does not depend on the task."""
        if all(r in self._at for r in routes):  # no covariance is needed
            return np.asarray(self.mean[[self._at[r] for r in routes]])
        return self.effects(routes).mean

    def difference_sd(self, of: Effects, to: Route) -> Floats:
        """Compute the standard deviation of each route's success rate less that of `to`, (routes,), for any task."""
        at = self._at[to]
        return np.asarray(np.sqrt(np.maximum(of.var + self.cov[at, at] - 2.0 * of.with_all[:, at], 0.0)))

    def predict_cells(self, x: Floats, routes: Sequence[Route], task: Any, route: Any) -> Floats:
        """Predict the means of single cells (task, route), given by their places in x and routes."""
        return np.asarray((x @ self.mean[: self.dims])[task] + self.effects(routes).mean[route])

    def mean_over(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats]:
        """Predict mean and variance of each route's mean score over tasks x (tasks, dims), sampling noise included."""
        n, shares = max(1, len(x)), self.prior.shares
        mean, var = self.predict(np.asarray(x, dtype=np.float64).sum(axis=0, keepdims=True) / n, routes)
        return mean[0], var[0] + (shares.task + shares.noise) * self.prior.variance / n

    def joint(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats]:
        """Predict mean (routes,) and covariance (routes, routes) of the success rates on tasks like x (dims,)."""
        of, x = self.effects(routes), np.asarray(x, dtype=np.float64)
        return x @ self.mean[: self.dims] + of.mean, self.covariance(x, of)

    def covariance(self, x: Floats, of: Effects) -> Floats:
        """Compute the covariance (routes, routes) of the success rates on tasks like x (dims,).

        Of two routes on the same task, all but `Effects.cov` cancels: differences vary the same on every task.
        """
        of_x = slice(self.dims)
        with_x = of.with_all[:, of_x] @ x
        return np.asarray(of.cov + with_x[:, None] + with_x[None, :] + x @ self.cov[of_x, of_x] @ x)

    def cross_covariance(self, x: Floats, of: Effects, others_x: Floats, others: Effects) -> Floats:
        """Compute the covariances of success rates between two lists of (task vector, route), (list, others).

        The others' routes were run; those of the list need not have been.
        """
        of_x = slice(self.dims)
        routes = of.with_all[:, others.at]
        here, there = of.with_all[:, of_x] @ others_x.T, x @ others.with_all[:, of_x].T
        return np.asarray(routes + here + there + x @ self.cov[of_x, of_x] @ others_x.T)

    # -- keeping ------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Give the posterior."""
        meta = {"routes": [str(r) for r in self.routes], "dims": self.dims, "prior": self.prior.to_dict()}
        return State({"mean": self.mean, "cov": self.cov, "prior_inverse": self._prior_inverse}, meta)

    @classmethod
    def from_state(cls, state: State, belief: Belief | None = None) -> Self:
        """Restore the posterior that gave this state; `belief` is the one that its prior used."""
        m = state.meta
        routes = [Route.parse(r) for r in m["routes"]]
        prior, arrays = Prior.from_dict(m["prior"], belief), state.arrays
        return cls(routes, m["dims"], arrays["mean"], arrays["cov"], prior, prior_inverse=arrays.get("prior_inverse"))

    # -- inside -------------------------------------------------------------------------------------------------

    def effects(self, routes: Sequence[Route]) -> Effects:
        """Give the routes' effects: learned where they were run, else inferred from the others by the prior."""
        pool = tuple(routes)
        return self._pools(pool, lambda: self._effects(pool))

    def _effects(self, routes: tuple[Route, ...]) -> Effects:
        at = np.array([self._at.get(r, -1) for r in routes], dtype=np.int64)
        new = np.flatnonzero(at < 0)
        if not len(new):
            return Effects(self.mean[at], self.cov[at], at, None, None)
        mean, with_all = np.zeros(len(at)), np.zeros((len(at), len(self.mean)))
        run = np.flatnonzero(at >= 0)
        mean[run], with_all[run] = self.mean[at[run]], self.cov[at[run]]
        never = tuple(routes[i] for i in new.tolist())
        expected, by, left = self._conditional_of(never)
        mean[new] = expected + by @ self.mean[self.dims :]
        with_all[new] = by @ self.cov[self.dims :]
        return Effects(mean, with_all, at, by, left)

    def _conditional_of(self, never: tuple[Route, ...]) -> Conditional:
        return self._never(never, lambda: self._conditional(never))

    def _conditional(self, never: tuple[Route, ...]) -> Conditional:
        """Express effects of routes never run: a constant, `by` @ those that were run, a rest of covariance `left`."""
        cross = self.prior.cov(never, self.routes)
        by = cross @ self._prior_inverse
        constant = self.prior.mean(never) - by @ self.prior.mean(self.routes)
        return constant, by, self.prior.cov(never, never) - by @ cross.T

    def _with_column(self, route: Route) -> Self:
        """Add a column for a route never run, as the prior and the other routes' outcomes predict it."""
        if route in self._at:
            return self
        of, old = self.effects([route]), len(self.mean)
        cov = np.zeros((old + 1, old + 1))
        cov[:old, :old] = self.cov
        cov[old, :old] = cov[:old, old] = of.with_all[0]
        cov[old, old] = of.var[0]
        mean, inverse = np.append(self.mean, of.mean), self._inverse_with(route)
        return type(self)((*self.routes, route), self.dims, mean, cov, self.prior, prior_inverse=inverse)

    @property
    def _prior_inverse(self) -> Floats:
        inverse = self._known_inverse
        if inverse is None:  # after loading; the same whoever of several threads makes it
            inverse = _inverse(self.prior.cov(self.routes, self.routes)) if self.routes else np.zeros((0, 0))
            self._known_inverse = inverse
        return inverse

    def _inverse_with(self, route: Route) -> Floats:
        """Extend the inverse of the prior covariance by a route, with its Schur complement: no new factorisation."""
        _, of_route, rest = self._conditional_of((route,))
        by, left, n = of_route[0], float(rest[0, 0]), len(self.routes)
        out = np.empty((n + 1, n + 1))
        out[:n, :n] = self._prior_inverse
        out[:n, :n] += np.multiply.outer(by, by / left)
        out[:n, n] = out[n, :n] = -by / left
        out[n, n] = 1.0 / left
        return out

    def _moved(self, mean: Floats, cov: Floats) -> Self:
        """Return the posterior with another mean and covariance of the same routes."""
        return type(self)(self.routes, self.dims, mean, cov, self.prior, self._never, self._known_inverse)


@dataclass(frozen=True)
class Effects:
    """The posterior of some routes' effects."""

    mean: Floats
    with_all: Floats
    """Covariances with all columns, (routes, columns)."""
    at: NDArray[np.int64]
    """The routes' columns, -1 where never run."""
    by: Floats | None
    """Weights of the routes that were run in the effects of those never run; None if all were run."""
    left: Floats | None
    """The covariance that these leave open."""

    @cached_property
    def var(self) -> Floats:
        """Variance of each effect, (routes,)."""
        if self.by is None or self.left is None:
            return self.with_all[np.arange(len(self.at)), self.at]
        run, new, var = np.flatnonzero(self.at >= 0), np.flatnonzero(self.at < 0), np.zeros(len(self.at))
        var[run] = self.with_all[run, self.at[run]]
        var[new] = (self.with_all[new, self._first :] * self.by).sum(axis=1) + np.diag(self.left)
        return var

    @cached_property
    def cov(self) -> Floats:
        """Covariances among the effects, (routes, routes)."""
        if self.by is None or self.left is None:
            return self.with_all[:, self.at]
        run, new, cov = np.flatnonzero(self.at >= 0), np.flatnonzero(self.at < 0), np.zeros((len(self.at),) * 2)
        cov[:, run] = self.with_all[:, self.at[run]]
        cov[:, new] = self.with_all[:, self._first :] @ self.by.T
        cov[np.ix_(new, new)] += self.left
        return cov

    @property
    def _first(self) -> int:
        """The column of the first route that was run."""
        return int(self.with_all.shape[1]) - (0 if self.by is None else int(self.by.shape[1]))


def take_away(cov: Floats, root: Floats) -> None:
    """Subtract root root' from cov, in place; a symmetric cov stays so to the last bit, on every machine.

    Entry by entry, a product is the same whichever factor comes first. BLAS gives no such promise: its kernels fuse the
    product with the sum in some places of a row and not in others.

    >>> cov = np.eye(2)
    >>> take_away(cov, np.array([0.5, 0.1]))
    >>> cov.tolist()
    [[0.75, -0.05], [-0.05, 0.99]]
    """
    cov -= np.multiply.outer(root, root)


def _inverse(matrix: Floats) -> Floats:
    from scipy.linalg import cho_factor, cho_solve

    return np.ascontiguousarray(cho_solve(cho_factor(matrix, lower=True), np.eye(len(matrix))))


def _gram(c: Any) -> Floats:
    """Multiply c'c of a sparse matrix into a dense one."""
    if c.nnz <= FULL * c.shape[0] * c.shape[1]:
        return np.asarray((c.T @ c).toarray())
    out = np.zeros((c.shape[1], c.shape[1]))
    for start in range(0, c.shape[0], BLOCK):
        block = c[start : start + BLOCK].toarray()
        out += block.T @ block
    return out
