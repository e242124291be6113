"""Fitting HM: against eager PyTorch, and as cells grow."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.ratio import Ratio
from benchmarks.timing import growth, speedup
from benchmarks.torch_hm import trainer
from benchmarks.world import pool, simulate
from hmrouter.scorers.hm import HM

GROWTH_TASKS = (350, 700, 1_400, 2_800, 5_600)


def against_torch() -> Iterator[Ratio]:
    """350 tasks x 43 routes, the paper's widths, fewer epochs for both."""
    training, hm = simulate(350, pool(9, 5)[:43], density=1.0), HM(epochs=20)
    train = trainer(training, like=hm)
    theirs, ours = sum(p.numel() for p in train().parameters()), hm.fit(training).parameters_.flat.size
    if theirs != ours:
        raise AssertionError(f"not the same model: {theirs} parameters in PyTorch, {ours} here")
    value = speedup(lambda: hm.fit(training), train, rounds=7)
    yield Ratio("fit_vs_torch", value, "eager PyTorch / ours, fit of 350 tasks x 43 routes", at_least=2.5)


def as_cells_grow() -> Iterator[Ratio]:
    """More tasks on the same routes, a third of the cells run."""
    trainings = {n: simulate(n, pool(9, 5)[:43], density=1 / 3) for n in GROWTH_TASKS}
    works = {len(t.data.cells): (lambda t=t: HM(epochs=3).fit(t)) for t in trainings.values()}
    cells = f"{min(works):,} to {max(works):,}"
    yield Ratio("fit_growth", growth(works, rounds=5), f"exponent of fit time, {cells} cells", at_most=1.1)
