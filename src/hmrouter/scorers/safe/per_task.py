"""The per-task term: slopes of models, harnesses and pairs along what a task is about.

    y_qr = pooled_qr + d_q + z_q . (s_m + s_h + s_mh) + noise

z_q says what the task is about (`Kinds`); the slopes are Gaussian with variance SHARE * Var(y) each. They are learned
from what the pooled model leaves of the scores, less the task effect d_q as far as it is known, by solving for models,
harnesses and pairs in turn until nothing moves: that is the exact solution of the three together, and takes sums over
the cells of each route only. That variance is small, a careful guess where tasks differ much. How far from it a slope
may be is told by the variance, of a few, that makes what was seen likeliest. Whether the slopes are used at all is for
`gain` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from hmrouter.scorers.safe.kinds import Kinds
from hmrouter.scorers.safe.pooled import Pooled
from hmrouter.state import Floats, State
from hmrouter.types import Route

SHARE = 0.005
"""Variance of each of a route's three slopes, as a share of Var(y): small, as on real benchmarks."""
SCALES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Multiples of that variance that are tried for the uncertainty of slopes; the likeliest is used."""
SWEEPS, STILL = 50, 1e-9
"""Most rounds of solving for models, harnesses and pairs in turn, and the move of a slope at which they stop."""
PARTS: dict[str, Callable[[Route], str]] = {"model": lambda r: r.model, "harness": lambda r: r.harness, "pair": str}


@dataclass(frozen=True)
class PerTask:
    """Slopes of everything that was run, and how sure they are."""

    kinds: Kinds
    names: dict[str, list[str]]
    slopes: dict[str, Floats]
    """Per part of a route: (names, columns)."""
    variance: float
    """Variance of a route's slope along a column before any outcome; it sets the width of intervals."""
    around: Floats
    """Second moment of a pair's true slope around the used one, given its outcomes, (pairs, columns, columns)."""

    @classmethod
    def fit(
        cls,
        pooled: Pooled,
        x: Floats,
        suites: int,
        routes: Sequence[Route],
        task: Any,
        route: Any,
        score: Floats,
        fade: Floats | None = None,
    ) -> Self:
        """Learn from cells (task, route, score); the last `suites` columns of x mark the suites of tasks."""
        seen, at = np.unique(route, return_inverse=True)
        used = [routes[i] for i in seen.tolist()]
        learned = np.unique(task)
        text, marks = _text_and_marks(x, suites)
        kinds = Kinds.of(text[learned], marks[learned])
        z, f = kinds(text), np.ones(len(score)) if fade is None else fade
        shares, variance = pooled.prior.shares, pooled.prior.variance
        s2 = shares.noise * variance
        left = score - pooled.predict_cells(x, routes, task, route)
        om = shares.task / (shares.noise + np.bincount(task, weights=f, minlength=len(x)) * shares.task)
        left -= (om * np.bincount(task, weights=f * left, minlength=len(x)))[task]
        gram, rhs = np.zeros((len(used), z.shape[1], z.shape[1])), np.zeros((len(used), z.shape[1]))
        order = np.argsort(at, kind="stable")
        for r, own_cells in enumerate(np.split(order, np.cumsum(np.bincount(at, minlength=len(used)))[:-1])):
            of_cells = z[task[own_cells]] * f[own_cells, None]
            gram[r], rhs[r] = of_cells.T @ z[task[own_cells]] / s2, of_cells.T @ left[own_cells] / s2
        names, place = {}, {}
        for part, name in PARTS.items():
            found, place[part] = np.unique([name(r) for r in used], return_inverse=True)
            names[part] = [str(n) for n in found]
        of_pair = max((SHARE * scale * variance * len(PARTS) for scale in SCALES), key=partial(_likelihood, gram, rhs))
        slopes = _solve(gram, rhs, place, SHARE * variance)
        cov = np.linalg.inv(gram + np.eye(z.shape[1]) / of_pair)
        off = np.einsum("rij,rj->ri", cov, rhs) - np.sum([slopes[part][of] for part, of in place.items()], axis=0)
        around = cov + off[:, :, None] * off[:, None, :]
        return cls(kinds, names, slopes, of_pair, around[np.argsort(place["pair"])])

    def term(self, features: Floats, routes: Sequence[Route]) -> Floats:
        """Compute the term that is added to the pooled prediction, (tasks, routes)."""
        return np.asarray(self.kinds(features) @ self._slopes(routes).T)

    def of_cells(self, features: Floats, routes: Sequence[Route], task: Any, route: Any) -> Floats:
        """Compute the term of single cells, given by their places in features and routes."""
        return np.asarray((self.kinds(features)[task] * self._slopes(routes)[route]).sum(axis=1))

    def spread(self, features: Floats, routes: Sequence[Route]) -> Floats:
        """Compute the variance of the term, (tasks, routes)."""
        return self._spread(self.kinds(features), routes)

    def mean_over(self, features: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats]:
        """Compute mean and variance, per route, of the term's mean over these tasks."""
        z = self.kinds(features).sum(axis=0, keepdims=True) / max(1, len(features))
        return (z @ self._slopes(routes).T)[0], self._spread(z, routes)[0]

    def _spread(self, z: Floats, routes: Sequence[Route]) -> Floats:
        at = {name: i for i, name in enumerate(self.names["pair"])}
        out = np.empty((len(z), len(routes)))
        for j, route in enumerate(routes):
            i = at.get(str(route))
            out[:, j] = self.variance * (z * z).sum(axis=1) if i is None else ((z @ self.around[i]) * z).sum(axis=1)
        return out

    def _slopes(self, routes: Sequence[Route]) -> Floats:
        """Sum the slopes of each route's parts, (routes, columns); a part that was never run adds nothing."""
        out = np.zeros((len(routes), self.around.shape[1]))
        for part, name in PARTS.items():
            at = {n: i for i, n in enumerate(self.names[part])}
            found = [(j, at[n]) for j, n in enumerate(map(name, routes)) if n in at]
            if found:
                rows, places = map(list, zip(*found, strict=True))
                out[rows] += self.slopes[part][places]
        return out

    def state(self) -> State:
        """Give the slopes and their covariances."""
        arrays = {f"of_{part}": slopes for part, slopes in self.slopes.items()} | {"around": self.around}
        own = State(arrays, {"names": self.names, "variance": self.variance})
        return State.join(own=own, kinds=self.kinds.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the term that gave this state."""
        own = state.part("own")
        slopes = {part: own.arrays[f"of_{part}"] for part in PARTS}
        names = {part: list(own.meta["names"][part]) for part in PARTS}
        return cls(Kinds.from_state(state.part("kinds")), names, slopes, own.meta["variance"], own.arrays["around"])


def _text_and_marks(x: Floats, suites: int) -> tuple[Floats, Floats]:
    return x[:, : x.shape[1] - suites], x[:, x.shape[1] - suites :]


def _likelihood(gram: Floats, rhs: Floats, variance: float) -> float:
    """Compute the log-likelihood of the residuals if every pair has slopes of its own with this variance."""
    if not rhs.size:
        return 0.0
    precision = gram + np.eye(rhs.shape[1]) / variance
    fitted = (rhs * np.linalg.solve(precision, rhs[:, :, None])[:, :, 0]).sum()
    return float(fitted - np.linalg.slogdet(variance * precision)[1].sum()) / 2.0


def _solve(gram: Floats, rhs: Floats, place: dict[str, Any], variance: float) -> dict[str, Floats]:
    """Solve for the slopes of each part; `place`: where each route's model, harness and pair stand among theirs."""
    identity, inverse, slopes = np.eye(rhs.shape[1]), {}, {}
    for part, at in place.items():
        total = np.zeros((int(at.max(initial=-1)) + 1, *gram.shape[1:]))
        np.add.at(total, at, gram)
        inverse[part] = np.linalg.inv(total + identity / variance)
        slopes[part] = np.zeros(total.shape[:2])
    for _ in range(SWEEPS):
        moved = 0.0
        for part, at in place.items():
            others = sum((slopes[o][place[o]] for o in place if o != part), np.zeros_like(rhs))
            total = np.zeros_like(slopes[part])
            np.add.at(total, at, rhs - np.einsum("rij,rj->ri", gram, others))
            new = np.einsum("rij,rj->ri", inverse[part], total)
            moved = max(moved, float(np.abs(new - slopes[part]).max(initial=0.0)))
            slopes[part] = new
        if moved < STILL:
            break
    return slopes
