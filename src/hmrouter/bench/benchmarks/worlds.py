"""Planted worlds: simulated outcomes whose right answer is known. For tests and for the demo, never for claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

SIMULATED_SUITE = "simulated"

_KINDS: dict[str, Sequence[str]] = {
    "bugfix": (
        "Fix the failing unit test in {place}: {thing} raises an unexpected exception after the last refactoring.",
        "The continuous integration job of {place} is red. Find out why {thing} breaks and repair it.",
        "Debug a regression in {place}: since yesterday {thing} returns the wrong value. Add a test.",
    ),
    "analysis": (
        "Load the CSV export of {place}, compute monthly averages of {thing} and plot them with error bars.",
        "Analyse the measurements in {place}: which factors explain {thing}? Report a regression table.",
        "Clean the data set of {place}, remove outliers of {thing} and summarise the result in a notebook.",
    ),
    "web": (
        "Open the website of {place}, search for {thing}, and note the three cheapest offers with their links.",
        "Book an appointment at {place} through its web form, asking for {thing} next week.",
        "On the page of {place}, compare the shipping options for {thing} and fill the basket.",
    ),
    "writing": (
        "Write a two-page report for {place} about {thing}, for readers without a technical background.",
        "Summarise the meeting notes of {place} and draft an e-mail that proposes next steps on {thing}.",
        "Translate the handbook chapter of {place} on {thing} and keep its headings.",
    ),
}
_PLACES = ("the billing service", "the museum", "the weather archive", "the ticket shop", "the city library",
           "the robot lab", "the clinic", "the parser module", "the warehouse", "the music school")  # fmt: skip
_THINGS = ("rounding", "the night schedule", "invoice totals", "user sessions", "visitor numbers", "the retry logic",
           "delivery times", "the search index", "opening hours", "sensor drift")  # fmt: skip


@dataclass(frozen=True, slots=True)
class World:
    """A simulated workload: every task's true success on every route, and outcomes drawn from it."""

    tasks: tuple[Task, ...]
    routes: tuple[Route, ...]
    success: Floats
    """True probability of success, (tasks, routes)."""
    cost: Floats
    """Dollars, (tasks, routes)."""
    seed: int

    def outcomes(self, share: float = 1.0) -> list[Outcome]:
        """Outcomes of a random share of all cells; each is one run, drawn once."""
        rng = np.random.default_rng(self.seed)
        drawn = rng.random(self.success.shape) < self.success
        kept = rng.random(self.success.shape) < share
        return [
            Outcome(
                self.tasks[i], self.routes[j], float(drawn[i, j]), cost=round(float(self.cost[i, j]), 4),
                source="simulated", run=f"seed-{self.seed}",
            )
            for i, j in np.argwhere(kept).tolist()
        ]  # fmt: skip


def demo_world(n_tasks: int = 240, seed: int = 0) -> World:
    """Four kinds of tasks, 4 invented models x 3 invented harnesses that suit them differently.

    >>> world = demo_world(n_tasks=8)
    >>> len(world.tasks), len(world.routes), world.tasks[0].suite
    (8, 12, 'simulated')
    """
    rng = np.random.default_rng(seed)
    kinds = list(_KINDS)
    models = ("atlas-large", "atlas-small", "birch-coder", "cedar-mini")
    harnesses = ("terminal-loop", "browser-pilot", "office-planner")
    routes = tuple(Route(m, h) for m in models for h in harnesses)
    # Logits: a general strength per component, what each suits (columns: bugfix, analysis, web, writing), and a
    # compatibility that no component shows alone.
    strength = {"atlas-large": 0.7, "atlas-small": -0.1, "birch-coder": 0.2, "cedar-mini": -0.9}
    suits = {
        "atlas-large": (0.0, 0.2, 0.2, 0.8), "atlas-small": (0.0, 0.0, 0.2, 0.3),
        "birch-coder": (1.3, 0.7, -1.0, -1.2), "cedar-mini": (0.0, 0.0, 0.0, 0.1),
        "terminal-loop": (1.2, 0.9, -1.8, -0.6), "browser-pilot": (-0.9, -0.7, 2.2, 0.0),
        "office-planner": (-0.6, 0.1, -0.2, 1.2),
    }  # fmt: skip
    together = {("birch-coder", "terminal-loop"): 0.6, ("atlas-large", "browser-pilot"): 0.5,
                ("atlas-small", "browser-pilot"): -0.7}  # fmt: skip
    dollars = {"atlas-large": 1.6, "atlas-small": 0.35, "birch-coder": 0.6, "cedar-mini": 0.08}
    factor = {"terminal-loop": 1.0, "browser-pilot": 1.7, "office-planner": 1.2}
    tasks, logits, costs = [], [], []
    for i in range(n_tasks):
        kind = i % len(kinds)
        templates = _KINDS[kinds[kind]]
        text = templates[int(rng.integers(len(templates)))].format(
            place=_PLACES[int(rng.integers(len(_PLACES)))], thing=_THINGS[int(rng.integers(len(_THINGS)))]
        )
        tasks.append(Task(f"sim-{i:04d}", SIMULATED_SUITE, text, {"kind": kinds[kind]}))
        difficulty, size = rng.normal(0.0, 0.8), np.exp(rng.normal(0.0, 0.3))
        logits.append([
            strength[r.model] + suits[r.model][kind] + suits[r.harness][kind]
            + together.get((r.model, r.harness), 0.0) - difficulty
            for r in routes
        ])  # fmt: skip
        costs.append([dollars[r.model] * factor[r.harness] * size for r in routes])
    success = 1.0 / (1.0 + np.exp(-np.array(logits)))
    return World(tuple(tasks), routes, success, np.array(costs), seed)
