"""Why attempts at one task fail together: tasks differ in difficulty (a two-parameter item response model).

    P(success on route r | ease s) = sigmoid(slope_r * s + level_r)

The ease s of a task is one of 17 nodes, first those of a standard normal; their weights are learned, since real suites
have many tasks that nearly everything solves and many that nothing does. Slopes and weights are fitted by EM (Bock and
Aitkin 1981). Levels are not kept: they are solved so that the weighted mean over the nodes is what a scorer says of a
route, which ties the scenarios to the scorer whatever it learned from text, history or calibration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from hmrouter.evidence.dataset import Dataset
from hmrouter.logits import sigmoid
from hmrouter.plan.difficulty.cells import THRESHOLD, cost_tilts, pass_lift, passed, run_likeness, shared_parts
from hmrouter.plan.difficulty.em import NODES, estimate, normal_nodes
from hmrouter.plan.difficulty.scenarios import Scenarios, signs
from hmrouter.scorers.safe.calibration import too_few
from hmrouter.state import Floats, State
from hmrouter.types import Route

NO_DATA_SLOPE = 1.5
"""Slope where there are no outcomes, or a handful: about the middle of what public benchmarks show."""
REPEATED_CELLS = 20
"""A route may be tried again if at least this many of its training tasks were run twice or more."""


@dataclass(frozen=True)
class Difficulty:
    """How easy or hard a task may turn out to be, and how likely and dear each route's success then is.

    Each node is one such scenario. Without a fit, tasks are as difficult as in a usual suite.

    >>> scenarios = Difficulty().scenarios([Route("gpt-5", "codex")])
    >>> easy_or_hard = scenarios.success(np.array([0.6]))
    >>> easy_or_hard.shape, round(float(easy_or_hard[0] @ scenarios.weights), 6)
    ((1, 17), 0.6)
    """

    nodes: Floats = field(default_factory=lambda: normal_nodes()[0])
    weights: Floats = field(default_factory=lambda: normal_nodes()[1])
    slopes: Mapping[Route, float] = field(default_factory=dict)
    slope: float = NO_DATA_SLOPE
    """Slope of routes that were never run."""
    tilts: Mapping[Route, float] = field(default_factory=dict)
    """Change in log dollars from a task that nothing solves to one that everything does: negative where hard tasks
    cost more."""
    tilt: float = 0.0
    lift: float = 0.0
    """Added to the logit of an expected score, it gives that of passing: 0 where every run scores 0 or 1."""
    likeness: float = 1.0
    """How much alike two runs of one route on one task are beyond the task's difficulty: 0 not at all, 1 the same."""
    repeated: frozenset[Route] = frozenset()
    """Routes with enough repeated runs to know what trying again is worth."""
    model: float = 0.0
    """The variance of what suits a model on a task; that of its ease is 1."""
    harness: float = 0.0

    @classmethod
    def fit(cls, data: Dataset, threshold: float = THRESHOLD) -> Self:
        """Learn from all outcomes; a cell counts once, whatever its trials, and less if it has faded.

        Of a handful (`too_few`) it cannot be learned whether tasks differ, and attempts would seem to fail
        independently; tasks are then as difficult as in a usual suite.
        """
        cells, (nodes, normal) = data.cells, normal_nodes()
        y = passed(cells, threshold)
        if too_few(len(np.unique(cells.task)), len(cells)):
            return cls(lift=pass_lift(cells, y))
        slope, level, weights, posterior = estimate(data, y, nodes, normal)
        usual = float(np.average(slope, weights=np.bincount(cells.route, minlength=len(slope))))
        tilts, tilt = cost_tilts(cells, posterior @ sigmoid(usual * nodes), len(slope))
        p = sigmoid(slope[:, None] * nodes + level[:, None])
        parts = shared_parts(cells, y, data.routes)
        often = np.bincount(cells.route[cells.trials > 1], minlength=len(slope)) >= REPEATED_CELLS
        return cls(
            nodes, weights, dict(zip(data.routes, slope.tolist(), strict=True)), usual,
            dict(zip(data.routes, tilts.tolist(), strict=True)), tilt, pass_lift(cells, y),
            run_likeness(cells, p, posterior),
            frozenset(r for r, enough in zip(data.routes, often, strict=True) if enough),
            *parts,
        )  # fmt: skip

    def scenarios(self, routes: Sequence[Route]) -> Scenarios:
        """Lay out what may come of a task on these routes, the most important ones first."""
        slopes = np.array([self.slopes.get(r, self.slope) for r in routes])
        tilts = np.array([self.tilts.get(r, self.tilt) for r in routes])
        columns, n = signs(routes)
        none = np.zeros(n)
        parts = (("model", np.sqrt(self.model)), ("harness", np.sqrt(self.harness)))
        suits = [sum(sd * columns.get((kind, getattr(r, kind)), none) for kind, sd in parts) for r in routes]
        ease = self.nodes[None, :, None] + np.reshape(suits, (len(routes), 1, n))
        factor = np.exp(tilts[:, None] * sigmoid(self.slope * self.nodes))
        return Scenarios(
            np.repeat(self.weights / n, n), (slopes[:, None, None] * ease).reshape(len(routes), -1),
            np.repeat(factor / (factor @ self.weights)[:, None], n, axis=1), self.lift,
        )  # fmt: skip

    def state(self) -> State:
        """Return the arrays and numbers that a router file keeps."""
        routes = sorted(self.slopes)
        columns = [[self.slopes[r], self.tilts.get(r, self.tilt)] for r in routes]
        meta: dict[str, Any] = {
            "routes": [str(r) for r in routes], "repeated": sorted(str(r) for r in self.repeated),
            "slope": self.slope, "tilt": self.tilt, "lift": self.lift, "likeness": self.likeness,
            "model": self.model, "harness": self.harness,
        }  # fmt: skip
        return State({"weights": self.weights, "routes": np.array(columns).reshape(-1, 2)}, meta)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the difficulty that `state` described."""
        routes = [Route.parse(r) for r in state.meta["routes"]]
        slopes, tilts = state.arrays["routes"].T.tolist()
        if state.arrays["weights"].shape != (NODES,):
            raise ValueError(f"difficulty has {state.arrays['weights'].shape} weights, not {NODES}")
        return cls(
            weights=state.arrays["weights"], slopes=dict(zip(routes, slopes, strict=True)),
            tilts=dict(zip(routes, tilts, strict=True)), slope=float(state.meta["slope"]),
            tilt=float(state.meta["tilt"]), lift=float(state.meta["lift"]), likeness=float(state.meta["likeness"]),
            repeated=frozenset(Route.parse(r) for r in state.meta["repeated"]),
            model=float(state.meta.get("model", 0.0)), harness=float(state.meta.get("harness", 0.0)),
        )  # fmt: skip
