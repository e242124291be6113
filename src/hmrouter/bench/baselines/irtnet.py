"""IrtNet: item response theory over a dense mixture of experts ("IRT" in the paper). https://arxiv.org/abs/2510.00844"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.baselines.learned import Learned
from hmrouter.state import Floats


@dataclass(kw_only=True, eq=False)
class IrtNet(Learned):
    """h = shared(x) + sum_i softmax(g(x))_i E_i(x); logit = a(h) . theta_r - b(h).

    The shared expert and the E_i are input -> hidden -> output with a ReLU and dropout between; g, a and b are linear.
    Validation is carved out of the training tasks: its loss stops the fit, lowers the learning rate (x0.1 after 2
    epochs without a gain) and says which epoch is kept. With one training task there is nothing to carve.
    """

    name: ClassVar[str] = "irtnet"
    identity: ClassVar[str] = "theta"

    d: int = 232
    experts: int = 39
    """All active, beside the shared one."""
    hidden: int = 512
    output: int = 256
    lr: float = 1e-4
    weight_decay: float = 1e-4
    epochs: int = 30
    noise: float = 0.05
    dropout: float = 0.5
    patience: int = 5

    def _fan_in(self) -> Mapping[str, tuple[tuple[int, ...], int]]:
        every = self.experts + 1  # the first is the shared one
        return {
            "W_g": ((self.experts, self.dims_), self.dims_),
            "b_g": ((self.experts,), self.dims_),
            "W_1": ((every * self.hidden, self.dims_), self.dims_),
            "b_1": ((every * self.hidden,), self.dims_),
            "W_2": ((every * self.hidden, self.output), self.hidden),
            "b_2": ((every, self.output), self.hidden),
            "W_a": ((self.d, self.output), self.output),
            "b_a": ((self.d,), self.output),
            "w_b": ((self.output,), self.output),
            "b_b": ((1,), self.output),
        }

    def _draw_identity(self, rng: np.random.Generator) -> Floats:
        return rng.standard_normal(self.d)

    def _logits(self, p: Mapping[str, Any], x: Any, xp: Any, drop: Callable[[Any], Any]) -> Any:
        g = x @ p["W_g"].T + p["b_g"]  # (tasks, experts)
        e = xp.exp(g - xp.amax(g, 1)[:, None])
        share = xp.concatenate([xp.ones_like(g[:, :1]), e / e.sum(1)[:, None]], 1)  # (tasks, 1 + experts)
        # All experts at once: one product into their hidden layers, and as a weighted sum of linear maps is a linear
        # map of the weighted layers, one product out of them.
        layers = drop((x @ p["W_1"].T + p["b_1"]).clip(0.0))
        weighted = layers.reshape(len(x), -1, self.hidden) * share[:, :, None]
        h = weighted.reshape(len(x), -1) @ p["W_2"] + share @ p["b_2"]  # (tasks, output)
        a = h @ p["W_a"].T + p["b_a"]  # (tasks, d)
        return a @ p["theta"].T - (h @ p["w_b"])[:, None] - p["b_b"]
