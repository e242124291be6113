"""Named parameters in one flat vector, and Adam over it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from hmrouter.state import Floats


class Parameters:
    """Named views into one flat vector, so that an optimiser step is a handful of vector operations.

    >>> p = Parameters({"w": (2, 3), "b": (3,)}, np.float64)
    >>> p["b"][:] = 1.0
    >>> p.flat.sum()
    np.float64(3.0)
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], dtype: Any) -> None:
        self.shapes = dict(shapes)
        self.flat = np.zeros(sum(prod(s) for s in self.shapes.values()), dtype=dtype)
        self._views: dict[str, Floats] = {}
        at = 0
        for name, shape in self.shapes.items():
            self._views[name] = self.flat[at : at + prod(shape)].reshape(shape)
            at += prod(shape)

    def __getitem__(self, name: str) -> Floats:
        return self._views[name]

    def items(self) -> Mapping[str, Floats]:
        """Give the views by name."""
        return dict(self._views)


class Adam:
    """Adam with coupled weight decay (the decay is part of the gradient), as in the paper's setup."""

    def __init__(
        self, size: int, dtype: Any, *, lr: float, weight_decay: float, betas: tuple[float, float] = (0.9, 0.999)
    ) -> None:
        self.lr, self.weight_decay, self.betas = lr, weight_decay, betas
        self.steps = 0
        self._first, self._second = np.zeros(size, dtype), np.zeros(size, dtype)
        self._buffer = np.empty(size, dtype)

    def step(self, parameters: Floats, gradient: Floats) -> None:
        """Move the parameters; the gradient is used as scratch space."""
        self.steps += 1
        b1, b2 = self.betas
        first, second, buffer = self._first, self._second, self._buffer
        np.multiply(parameters, self.weight_decay, out=buffer)
        gradient += buffer
        first *= b1
        np.multiply(gradient, 1.0 - b1, out=buffer)
        first += buffer
        second *= b2
        np.multiply(gradient, gradient, out=gradient)
        gradient *= 1.0 - b2
        second += gradient
        np.sqrt(second, out=buffer)
        buffer /= (1.0 - b2**self.steps) ** 0.5
        buffer += 1e-8
        np.divide(first, buffer, out=buffer)
        buffer *= self.lr / (1.0 - b1**self.steps)
        parameters -= buffer
