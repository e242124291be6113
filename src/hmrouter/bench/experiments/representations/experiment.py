"""`representations` (Fig. learned_representations a): are harnesses of one design close to each other?

HM is fitted on the training tasks of all benchmarks together, once per split and each time from another start, so that
every harness has one vector in one space. Vectors are centred and brought to unit length per split; what is pooled is
their cosines. The families are annotations (data/harnesses.toml) that no scorer sees, but the descriptions of the
harnesses are written in the same words. So two controls stand beside it: the descriptions' own vectors, and HM before
its first training step.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.benchmarks.cells import outcomes_of
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.path import embedded, split_of
from hmrouter.bench.experiments.representations import report as representations_report
from hmrouter.bench.experiments.representations.harness_vectors import cosines, vectors_of
from hmrouter.bench.judge.history import others
from hmrouter.errors import InputError
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.features.descriptions import HarnessDescriptions
from hmrouter.scorers.hm import HM
from hmrouter.state import Floats

FAMILIES = ("terminal-cli", "personal-assistant", "swe-scaffold", "web-agent")
"""The design families that the paper looks at; generalists and scaffolds of one benchmark are no design."""
ALL = "all"
"""The benchmark that rows name: all of them together."""


class Representations(Experiment):
    """Compares harness vectors with design families."""

    name: ClassVar[str] = "representations"
    title: ClassVar[str] = "Learned harness representations"
    report: ClassVar[Report] = representations_report
    methods: ClassVar[Sequence[str]] = ("hm", "hm_untrained", "description")
    own_methods: ClassVar[dict[str, str]] = {"hm_untrained": "hm", "description": "hm"}

    def units(self, request: RunRequest) -> list[Unit]:
        """One per split and method; all benchmarks take part in each, so it runs in the name of the first."""
        first = [b.name for b in request.benchmarks[:1]]
        return [Unit(self.name, b, m, s) for b in first for s in range(request.splits) for m in request.methods
                if m in self.methods]  # fmt: skip

    def reads(self, unit: Unit, request: RunRequest) -> Sequence[Benchmark]:
        """Everything but the first."""
        return request.benchmarks[1:]

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Vectors of the harnesses of known design, as cosines."""
        split = joined(tuple(request.benchmarks), request.seed, unit.split)
        training, _ = embedded(split, request)
        families = {h: HarnessDescriptions().family(h) for h in split.train.harnesses}
        names = [h for h, family in families.items() if family in FAMILIES]
        if len(names) < 3:
            raise InputError(f"fewer than three harnesses are of a known design family ({', '.join(FAMILIES)})")
        vectors: Mapping[str, Floats] = training.harness_vectors
        seconds = None
        if unit.method != "description":
            scorer = HM(seed=unit.split) if unit.method == "hm" else HM(seed=unit.split, epochs=0)
            start = time.perf_counter()
            vectors = vectors_of(scorer.fit(training))
            seconds = time.perf_counter() - start
        found = cosines(np.array([vectors[h] for h in names]))
        metrics = ("accuracy", "oracle_accuracy", "normalized_accuracy", "cost_usd", "auc", "log_loss")
        return [
            {
                "experiment": unit.experiment, "benchmark": ALL, "method": unit.method, "split": unit.split,
                "setting": unit.setting, **dict.fromkeys(metrics), "n_test": 0, "n_train": len(split.train.tasks),
                "fit_seconds": seconds, "harnesses": names, "families": [families[h] for h in names],
                "cosines": found.tolist(), "apart": apart(names, request.benchmarks),
            }
        ]  # fmt: skip


@lru_cache(maxsize=2)
def joined(benchmarks: tuple[Benchmark, ...], seed: int, number: int) -> Split:
    """The training sides of all benchmarks as one; nothing is tested."""
    train = Dataset(o for b in benchmarks for o in outcomes_of(split_of(b, seed, number).train))
    return Split(number, train, train.restrict(tasks=()))


def apart(harnesses: Sequence[str], benchmarks: Sequence[Benchmark]) -> list[list[int]]:
    """The pairs of harnesses (by position) that never met on a benchmark, nor on two benchmarks with common tasks."""
    where = {h: {b for b in benchmarks if h in b.data().harnesses} for h in harnesses}
    near = {b: set(benchmarks) - set(others(b, benchmarks)) for b in benchmarks}
    return [
        [i, j]
        for (i, one), (j, other) in combinations(enumerate(harnesses), 2)
        if not any(near[b] & where[other] for b in where[one])
    ]
