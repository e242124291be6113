"""How well costs are foretold: the table of docs/decisions/0009, for the benchmark directories given to it.

python tools/measure_costs.py DIR/*
"""

from __future__ import annotations

import sys

import numpy as np

from hmrouter import Dataset, read_logs
from hmrouter.costs import ExpectedCosts, RouteCosts
from hmrouter.evidence.dataset import Split
from hmrouter.features.lsa import LSA

DRAWS = 10


def few(data: Dataset, runs: int, hidden: float, seed: int) -> list[tuple[float, ...]]:
    """Squared log errors of plain means and of expected costs, and whether the interval held, on few runs per route."""
    rng = np.random.default_rng(seed)
    c, known = data.cells, ~np.isnan(data.cells.cost)
    away, keep = rng.random(len(data.routes)) < hidden, np.zeros(len(c), dtype=bool)
    for j in np.flatnonzero(~away).tolist():
        cells = np.flatnonzero(known & (c.route == j))
        keep[rng.permutation(cells)[:runs]] = True
    train = data.keep(keep)
    seen = np.bincount(c.route[keep], minlength=len(away)) > 0
    true, plain = (RouteCosts.fit(part).of_all(data.routes) for part in (data, train))
    out = []
    for j, expected in enumerate(ExpectedCosts.fit(train).of_all(data.routes)):
        truth, mean = true[j].dollars, plain[j].dollars
        asked = away[j] if hidden else seen[j]
        if true[j].basis == "route" and truth and mean and asked and expected.dollars and expected.interval:
            low, high = expected.interval
            errors = (float(np.log(guess / truth) ** 2) for guess in (mean, expected.dollars))
            out.append((*errors, low <= truth <= high))
    return out


def by_text(split: Split) -> tuple[float, float]:
    """Mean squared log error on test tasks without and with their texts."""
    embedder = LSA()
    texts = [[t.text for t in side.tasks] for side in (split.train, split.test)]
    embedder.fit(texts[0])
    costs = ExpectedCosts.fit(split.train, embedder.embed(texts[0]))
    factor, c = costs.factors(embedder.embed(texts[1]))[0], split.test.cells
    use = (c.cost > 0) & ~c.cost_is_route_mean
    usual = np.array([e.dollars or np.nan for e in costs.of_all(split.test.routes)])[c.route[use]]
    errors = [float(np.nanmean(np.log(c.cost[use] / (usual * f)) ** 2)) for f in (1.0, factor[c.task[use]])]
    return errors[0], errors[1]


def line(path: str) -> str:
    """A row of the table."""
    data = Dataset(read_logs(path))
    exact = not data.cells.cost_is_route_mean[~np.isnan(data.cells.cost)].all()
    cells = [path.rstrip("/").rpartition("/")[2]]
    for runs, hidden in ((1, 0.0), (3, 0.0), (10, 0.0), (10, 0.3)):
        found = [r for seed in range(DRAWS) for r in few(data, runs, hidden, seed)] if exact or hidden else []
        if found:
            plain, expected, held = np.mean(found, axis=0).tolist()
            cells.append(f"{plain**0.5:.2f} / {expected**0.5:.2f} / {100 * held:.0f}%")
        else:
            cells.append("-")
    without, with_text = np.mean([by_text(s) for s in data.splits(5)], axis=0).tolist() if exact else (1.0, 1.0)
    return f"| {' | '.join(cells)} | {f'{100 * (with_text / without - 1):+.0f}%' if exact else '-'} |\n"


if __name__ == "__main__":
    for directory in sys.argv[1:]:
        sys.stdout.write(line(directory))
