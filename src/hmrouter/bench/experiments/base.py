"""The contract of experiments: units of work that run anywhere, and tables and figures made of their rows alone.

A unit is one method on one split of one benchmark. Its rows hold everything: tables and figures are recomputed from
`results.json`, so nothing in a report can differ from the data behind it. A new experiment is one file with one class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.judge.history import listens, others
from hmrouter.bench.report.parts import Figure, ReportTable

Row = Mapping[str, Any]
"""One line of results.json; see docs/results-format.md."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of work: small enough to cache, independent of all others."""

    experiment: str
    benchmark: str
    method: str
    split: int
    setting: str = ""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Says which benchmarks, methods and splits an experiment runs on."""

    benchmarks: Sequence[Benchmark]
    methods: Sequence[str]
    splits: int = 5
    seed: int = 0
    embedder: str = "lsa"
    vectors: str = ""
    """Address of a store that keeps the vectors of an embedder whose vectors are worth keeping; empty: none."""

    def __post_init__(self) -> None:
        for name in ("benchmarks", "methods"):  # so that what is made for a request can be kept under it
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def benchmark(self, name: str) -> Benchmark:
        """Give the benchmark of this name."""
        return next(b for b in self.benchmarks if b.name == name)


class Report(Protocol):
    """Shows the rows of an experiment; a module with these three functions is one."""

    def headline(self, rows: Sequence[Row]) -> str:
        """Say the main finding in one sentence for the index page; empty: there is none."""

    def tables(self, rows: Sequence[Row]) -> list[ReportTable]:
        """Make the tables."""

    def figures(self, rows: Sequence[Row]) -> list[Figure]:
        """Make the figures."""


class Experiment(ABC):
    """Makes one of the paper's tables or figures, or one of ours."""

    name: ClassVar[str]
    title: ClassVar[str]
    report: ClassVar[Report]
    """Makes the headline, tables and figures of rows; a small experiment overrides the three methods instead."""
    methods: ClassVar[Sequence[str]]
    """Those that are compared when nothing else is asked for."""
    own_methods: ClassVar[Mapping[str, str]] = {}
    """Methods that only this experiment has -> the method of the registry that is behind each; empty: none."""
    quick: ClassVar[Quick] = Quick()
    """The limits of a run with `--quick`."""

    def refusal(self, benchmark: Benchmark) -> str:
        """Say why a benchmark cannot take part, in a few words; empty if it can."""
        return ""

    @abstractmethod
    def units(self, request: RunRequest) -> list[Unit]:
        """List everything there is to do; the benchmarks of the request are those that can take part."""

    @abstractmethod
    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Do one unit. Deterministic: the same unit gives the same rows on every machine, apart from seconds."""

    def behind(self, method: str) -> str:
        """Give the method of the registry that is behind one of this experiment."""
        return self.own_methods.get(method, method)

    def sources(self, benchmark: Benchmark, request: RunRequest) -> tuple[Benchmark, ...]:
        """List the benchmarks that have a say on this one, for methods that listen."""
        return others(benchmark, request.benchmarks)

    def told_by(self, unit: Unit, request: RunRequest) -> tuple[Benchmark, ...]:
        """List the benchmarks that inform a unit's method; none, and none is read, if it does not listen."""
        return self.sources(request.benchmark(unit.benchmark), request) if listens(self.behind(unit.method)) else ()

    def reads(self, unit: Unit, request: RunRequest) -> Sequence[Benchmark]:
        """List the benchmarks, besides its own, that a unit's rows depend on."""
        return self.told_by(unit, request)

    def headline(self, rows: Sequence[Row]) -> str:
        """Say the main finding in one sentence for the index page, from rows alone; empty: there is none."""
        return self.report.headline(rows) if hasattr(self, "report") else ""

    def tables(self, rows: Sequence[Row]) -> list[ReportTable]:
        """Make the tables, from rows alone."""
        return self.report.tables(rows)

    def figures(self, rows: Sequence[Row]) -> list[Figure]:
        """Make the figures, from rows alone."""
        return self.report.figures(rows)
