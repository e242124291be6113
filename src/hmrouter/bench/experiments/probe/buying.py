"""Buyers spend runs on a suite, one at a time. All judge routes by the same posterior; they differ in what they buy.

uniform     every route in turn, on tasks at random
random      any cell
halving     successive halving: all routes on a few tasks, the better half on more, and so on
thompson    top-two Thompson sampling: the best route of a draw from the posterior, or by chance of another draw
probe       the cell that tells most about the leader and its challengers (`hmrouter.probe`)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from hmrouter.decide.uncertainty import square_root
from hmrouter.evidence.dataset import Dataset
from hmrouter.probe.aims import Best
from hmrouter.probe.posterior import Posterior
from hmrouter.probe.select import choose
from hmrouter.scorers.base import Belief
from hmrouter.state import Bools

BOUGHT = (1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100, 120, 160, 200, 240, 320)
"""After so many runs the choice is looked at."""
SEEN = (1, 3, 5, 7, 9, 11, 13, 15, 20, 25, 30)
"""After so many runs of a newcomer its rate is looked at."""
GROWTH = 1.5
"""Scales are learned anew when the evidence has grown by this factor."""


class Buyer(ABC):
    """Says which cell comes next."""

    name: ClassVar[str]

    def __init__(self, free: Bools, runs: int, seed: int) -> None:
        """`free` (tasks, routes): the cells that can be bought; `runs`: how many will be."""
        self.rng, self.runs = np.random.default_rng(seed), runs
        self.tasks, self.routes = free.shape

    @abstractmethod
    def next(self, posterior: Posterior, free: Bools) -> tuple[int, int]:
        """Task and route of a free cell."""

    def _on(self, route: int, free: Bools) -> tuple[int, int]:
        """A random task for a route; for another route, where that has none left."""
        if not free[:, route].any():
            route = int(self.rng.choice(np.flatnonzero(free.any(axis=0))))
        return int(self.rng.choice(np.flatnonzero(free[:, route]))), route


class Uniform(Buyer):
    """Buys every route in turn."""

    name: ClassVar[str] = "uniform"

    def __init__(self, free: Bools, runs: int, seed: int) -> None:
        super().__init__(free, runs, seed)
        self._round: list[int] = []

    def next(self, posterior: Posterior, free: Bools) -> tuple[int, int]:
        """The next route of the round."""
        self._round = self._round or self.rng.permutation(np.flatnonzero(free.any(axis=0))).tolist()
        return self._on(self._round.pop(), free)


class Anything(Buyer):
    """Buys any cell."""

    name: ClassVar[str] = "random"

    def next(self, posterior: Posterior, free: Bools) -> tuple[int, int]:
        """One at random."""
        task, route = divmod(int(self.rng.choice(np.flatnonzero(free))), self.routes)
        return task, route


class Halving(Buyer):
    """Buys by successive halving, with the same number of runs in every round."""

    name: ClassVar[str] = "halving"

    def __init__(self, free: Bools, runs: int, seed: int) -> None:
        super().__init__(free, runs, seed)
        self._alive = list(range(self.routes))
        self._rounds = max(1, int(np.ceil(np.log2(self.routes))))
        self._queue = self._round()

    def next(self, posterior: Posterior, free: Bools) -> tuple[int, int]:
        """The next route of the round; after it, the better half goes on."""
        if not self._queue:
            best = sorted(self._alive, key=lambda j: -posterior.mean[j])
            self._alive = best[: max(1, len(best) // 2)]
            self._queue = self._round()
        return self._on(self._queue.pop(), free)

    def _round(self) -> list[int]:
        times = max(1, self.runs // (self._rounds * len(self._alive)))
        return [int(j) for j in self.rng.permutation(np.repeat(self._alive, times))]


class Thompson(Buyer):
    """Buys by top-two Thompson sampling."""

    name: ClassVar[str] = "thompson"

    def next(self, posterior: Posterior, free: Bools) -> tuple[int, int]:
        """The best of a draw; every other time, the best of a draw in which that one is not the best."""
        moved = self.rng.standard_normal((100, self.routes)) @ square_root(posterior.cov)
        best = (posterior.mean + moved).argmax(axis=1)
        others = best[best != best[0]]
        route = others[0] if len(others) and self.rng.random() < 0.5 else best[0]
        return self._on(int(route), free)


class Probing(Buyer):
    """Buys the cell that tells most about the leader and its challengers."""

    name: ClassVar[str] = "probe"

    def next(self, posterior: Posterior, free: Bools) -> tuple[int, int]:
        """The best of a batch of one; chance decides between tasks that tell the same."""
        (cell,) = choose(Best(posterior), free, self.rng.permutation(self.tasks), runs=1)
        return cell.task, cell.route


BUYERS: dict[str, type[Buyer]] = {b.name: b for b in (Uniform, Anything, Halving, Thompson, Probing)}


def bought(data: Dataset, buyer: type[Buyer], belief: Belief | None, runs: int, seed: int) -> Iterator[Posterior]:
    """Buy runs one by one and give the posterior after each; it ends early where everything was bought."""
    at = np.full((len(data.tasks), len(data.routes)), -1, dtype=np.int64)
    at[data.cells.task, data.cells.route] = np.arange(len(data.cells))
    free, have = at >= 0, np.zeros(len(data.cells), dtype=bool)
    # Routes are in the order of their names, in which some vendors come first: between equals, chance must decide.
    chance = 1e-9 * np.random.default_rng(seed).standard_normal(len(data.routes))

    def learned() -> Posterior:
        posterior = Posterior.of(data.keep(have), belief)
        posterior.mean = posterior.mean + chance
        return posterior

    mine, posterior, learn_at = buyer(free, runs, seed), learned(), 10.0
    for number in range(1, min(runs, int(free.sum())) + 1):
        task, route = mine.next(posterior, free)
        free[task, route], have[at[task, route]] = False, True
        if number >= learn_at:
            posterior, learn_at = learned(), GROWTH * number
        else:
            posterior.add(task, route, float(data.cells.score[at[task, route]]))
        yield posterior
