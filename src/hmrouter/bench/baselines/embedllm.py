"""EmbedLLM: matrix factorisation with text. https://arxiv.org/abs/2410.02223"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.baselines.learned import Learned
from hmrouter.state import Floats


@dataclass(kw_only=True, eq=False)
class EmbedLLM(Learned):
    """logits = C (P_r * (W (x + noise) + b)) + c, two-way cross-entropy; the score is logit1 - logit0.

    Two-way cross-entropy with a soft target y on class 1 is binary cross-entropy of that difference. As in the
    authors' code, C has a bias c, which shifts all forecasts alike and no choice.
    """

    name: ClassVar[str] = "embedllm"
    identity: ClassVar[str] = "P"

    d: int = 232
    lr: float = 1e-4
    weight_decay: float = 1e-5
    epochs: int = 50
    noise: float = 0.05

    def _fan_in(self) -> Mapping[str, tuple[tuple[int, ...], int]]:
        return {
            "W": ((self.d, self.dims_), self.dims_),
            "b": ((self.d,), self.dims_),
            "C": ((2, self.d), self.d),
            "c": ((2,), self.d),
        }

    def _draw_identity(self, rng: np.random.Generator) -> Floats:
        return rng.standard_normal(self.d)

    def _logits(self, p: Mapping[str, Any], x: Any, xp: Any, drop: Callable[[Any], Any]) -> Any:
        q = x @ p["W"].T + p["b"]  # (tasks, d)
        return (q * (p["C"][1] - p["C"][0])) @ p["P"].T + (p["c"][1] - p["c"][0])
