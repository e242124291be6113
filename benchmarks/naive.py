"""The plain ways to score, in NumPy: what the folded form is held against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmrouter.scorers.hm import HM
from hmrouter.scorers.hm.folded import LN_EPS
from hmrouter.scorers.hm.network import Inputs, encode
from hmrouter.types import Route

Array = NDArray[Any]


class Naive:
    """Eq. scorer with a layer norm on each of the three (tasks x routes x d) product tensors."""

    def __init__(self, hm: HM, routes: tuple[Route, ...]) -> None:
        """Take the parameters of a scorer that was fitted on all components of these routes."""
        z_m = np.array([hm.summaries_.model(m) for m in hm.models_], dtype=np.float32)
        z_h = np.array([hm.summaries_.harness(h) for h in hm.harnesses_], dtype=np.float32)
        t_h = np.array([hm.harness_vectors_[h] for h in hm.harnesses_])
        none = np.zeros((0, t_h.shape[1]), dtype=np.float32)
        _, u_m, u_h, _, _ = encode(hm.parameters_, Inputs(none, z_m, z_h, t_h, none, none))
        self.p = hm.parameters_
        model, harness = ({n: i for i, n in enumerate(names)} for names in (hm.models_, hm.harnesses_))
        self.k_m = u_m[[model[r.model] for r in routes]]
        self.k_h = u_h[[harness[r.harness] for r in routes]]

    def task_factors(self, x: Array) -> Array:
        """q~, (tasks, d)."""
        return np.asarray(x @ self.p["W_q"].T + self.p["W_q.b"])

    def score(self, x: Array) -> Array:
        """Logits (tasks, routes)."""
        q = self.task_factors(x)[:, None, :]
        return np.asarray(
            self.p["b"]
            + self._layer_norm("M", self.k_m * q) @ self.p["w_M"]
            + self._layer_norm("H", self.k_h * q) @ self.p["w_H"]
            + self._layer_norm("MH", self.k_m * self.k_h * q) @ self.p["w_MH"]
        )

    def _layer_norm(self, term: str, product: Array) -> Array:
        mean, var = product.mean(axis=-1, keepdims=True), product.var(axis=-1, keepdims=True)
        normal = (product - mean) / np.sqrt(var + LN_EPS)
        return np.asarray(normal * self.p[f"LN_{term}.gain"] + self.p[f"LN_{term}.bias"])


def bare_products(q: Array, a: Array) -> Callable[[], object]:
    """Three products of (tasks x d) and (d x routes) into memory that is there already: nothing folded costs less."""
    squared, weighted = a * a, q * np.linspace(-1.0, 1.0, q.shape[1], dtype=q.dtype)
    out = np.empty((3, len(q), len(a)), q.dtype)

    def products() -> None:
        np.matmul(q, a.T, out=out[0])
        np.matmul(q * q, squared.T, out=out[1])
        np.matmul(weighted, a.T, out=out[2])

    return products
