"""Contrasts of rectangles: does the difference between two harnesses change with the model?

Eq. rectangle: I = [A(m1,h1) - A(m1,h2)] - [A(m2,h1) - A(m2,h2)], where A is a mean over the same tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hmrouter.bench.benchmarks.rectangles import Rectangle, rectangles
from hmrouter.state import Floats
from hmrouter.types import Route

Z = 1.96
"""A contrast is resolved if it is this many standard errors from 0: its sign is hardly chance."""
LEAST_TASKS = 10
"""With fewer tasks in common a standard error means nothing, so nothing is resolved."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Holds the observed contrast of a rectangle and the one predicted for the same tasks."""

    rectangle: Rectangle
    tasks: int
    """Tasks that all four routes were run on."""
    observed: float
    error: float
    """Standard error of `observed` over those tasks."""
    predicted: float

    @property
    def resolved(self) -> bool:
        """Whether the sign of what was observed can be trusted."""
        return self.tasks >= LEAST_TASKS and abs(self.observed) > Z * self.error


def contrasts(routes: Sequence[Route], observed: Floats, predicted: Floats) -> list[Contrast]:
    """The contrast of every rectangle that has tasks in common.

    `observed` and `predicted` are (tasks, routes); NaN in `observed` marks what was not run.
    """
    at = {route: j for j, route in enumerate(routes)}
    out = []
    for rectangle in rectangles(routes):
        columns = [at[corner] for corner in rectangle.corners]
        each = observed[:, columns] @ _SIGNS
        common = ~np.isnan(each)
        n = int(common.sum())
        if n:
            spread = float(each[common].std(ddof=1)) if n > 1 else 0.0
            promised = float((predicted[common][:, columns] @ _SIGNS).mean())
            out.append(Contrast(rectangle, n, float(each[common].mean()), spread / n**0.5, promised))
    return out


_SIGNS = np.array([1.0, -1.0, -1.0, 1.0])


def sign_agreement(found: Iterable[Contrast]) -> float | None:
    """Share of the resolved contrasts whose sign was predicted; none predicted is half right. None without any.

    >>> one = Contrast(Rectangle(("a", "b"), ("x", "y")), 40, 0.5, 0.1, predicted=0.02)
    >>> sign_agreement([one])
    1.0
    """
    agree = [0.5 + 0.5 * float(np.sign(c.observed) * _sign(c.predicted)) for c in found if c.resolved]
    return float(np.mean(agree)) if agree else None


def correlation(found: Iterable[Contrast]) -> float | None:
    """Pearson correlation of observed and predicted contrasts; None where one of them does not vary.

    Which model or harness is called the first is a convention that flips both signs. So each rectangle counts in both
    orientations: the means are 0, and names do not matter.
    """
    pairs = np.array([(c.observed, c.predicted) for c in found], dtype=np.float64).reshape(-1, 2)
    x, y = pairs.T
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 1e-12 else None


def _sign(value: float) -> float:
    # An additive prediction has contrasts of zero, up to what rounding leaves.
    return 0.0 if abs(value) < 1e-9 else float(np.sign(value))
