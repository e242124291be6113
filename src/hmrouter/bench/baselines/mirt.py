"""MIRT: multidimensional item response theory over task vectors (IRT-Router). https://arxiv.org/abs/2506.01048"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.baselines.learned import Learned
from hmrouter.state import Floats


@dataclass(kw_only=True, eq=False)
class MIRT(Learned):
    """p = sigmoid(softplus(W_a x) . theta_r - w_b . x), no biases.

    The authors compute an ability theta from a description of the model by a linear layer; over atomic identities
    that layer is a free row per route, and it begins as such a layer does.
    """

    name: ClassVar[str] = "mirt"
    identity: ClassVar[str] = "theta"

    d: int = 25
    lr: float = 1e-3
    batch: int = 512
    epochs: int = 9

    def _fan_in(self) -> Mapping[str, tuple[tuple[int, ...], int]]:
        return {"W_a": ((self.d, self.dims_), self.dims_), "w_b": ((self.dims_,), self.dims_)}

    def _draw_identity(self, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.uniform(-1.0, 1.0, self.d) / len(self.routes_) ** 0.5)

    def _logits(self, p: Mapping[str, Any], x: Any, xp: Any, drop: Callable[[Any], Any]) -> Any:
        a = x @ p["W_a"].T  # (tasks, d)
        softplus = xp.logaddexp(a, xp.zeros_like(a))
        return softplus @ p["theta"].T - (x @ p["w_b"])[:, None]
