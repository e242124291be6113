"""A whole run: benchmarks in, results.json, tables, figures and a report out."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hmrouter import __version__
from hmrouter.bench.benchmark import Benchmark
from hmrouter.bench.engine import Results, Watch, run
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import Experiment, Plan, Unit
from hmrouter.bench.methods import METHODS, REFERENCES
from hmrouter.bench.report.page import Page, Section
from hmrouter.bench.results_cache import ResultsCache
from hmrouter.dataset import hash_rank
from hmrouter.errors import HMRouterError, InputError, OutputError, UnknownName
from hmrouter.files import atomic_write
from hmrouter.logs import benchmark_directories


@dataclass(slots=True)
class SuiteRun:
    """What a run was asked for and what came of it."""

    experiments: list[str]
    plans: dict[str, Plan] = field(default_factory=dict)
    results: dict[str, Results] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    """Benchmarks and units that did not take part, and why."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows, experiment by experiment."""
        return [row for result in self.results.values() for row in result.rows]


def find_benchmarks(data: Iterable[Path], left_out: list[str]) -> list[Benchmark]:
    """The readable benchmarks among directories and folders of directories; the others are noted in `left_out`."""
    found: dict[str, Benchmark] = {}
    for path in data:
        if not path.is_dir():
            raise InputError(f"{path} is not a directory; --data takes a benchmark directory or a folder of them")
        for directory in benchmark_directories(path):
            try:
                benchmark = Benchmark.at(directory)
            except HMRouterError as e:
                left_out.append(f"benchmark {directory.name}: {' '.join(str(e).split())}")
                continue
            if benchmark.name in found:
                left_out.append(f"benchmark {directory}: another one named {benchmark.name} was given before")
            elif not len(benchmark.data().cells):
                left_out.append(f"benchmark {benchmark.name}: it has no outcome with a score")
            else:
                found[benchmark.name] = benchmark
    return list(found.values())


def plan_suite(
    experiments: Sequence[str],
    data: Sequence[Path],
    *,
    methods: Sequence[str] | None = None,
    splits: int = 5,
    seed: int = 0,
    embedder: str = "lsa",
) -> SuiteRun:
    """Look at the data and say what there is to do, before doing any of it."""
    suite = SuiteRun(list(experiments))
    loaded: dict[str, Experiment] = {name: EXPERIMENTS.load(name)() for name in experiments}
    known = [*REFERENCES, *METHODS.names()]
    for method in methods or ():
        if method not in known:
            raise UnknownName("method", method, known)
    benchmarks = find_benchmarks(data, suite.left_out)
    for name, experiment in loaded.items():
        suite.plans[name] = Plan(benchmarks, tuple(methods or experiment.methods), splits, seed, embedder)
    return suite


def units_of(suite: SuiteRun, name: str, quick: bool = False) -> list[Unit]:
    """The units of an experiment; `quick` takes at most two splits and forty units per method, at random."""
    experiment: Experiment = EXPERIMENTS.load(name)()
    plan = suite.plans[name]
    if not quick:
        return experiment.units(plan)
    units = experiment.units(replace(plan, splits=min(2, plan.splits)))
    # Whole comparisons are drawn, so that every method runs on the same places.
    places = sorted({(u.benchmark, u.split, u.setting) for u in units}, key=lambda p: hash_rank(plan.seed, *p))
    kept = set(places[:40])
    return [u for u in units if (u.benchmark, u.split, u.setting) in kept]


def run_suite(
    suite: SuiteRun,
    out: Path,
    *,
    engine: str = "local",
    jobs: int | None = None,
    address: str | None = None,
    quick: bool = False,
    watch: Watch | None = None,
) -> SuiteRun:
    """Do the work, from the cache in `out` where it is done already, and write `out/results.json`."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise OutputError(f"cannot make the directory {out}: {e.strerror}; choose another with --out") from e
    cache = ResultsCache(out / ".cache")
    for name in suite.experiments:
        result = run(
            name, suite.plans[name], cache,
            engine=engine, jobs=jobs, address=address, units=units_of(suite, name, quick), watch=watch,
        )  # fmt: skip
        suite.results[name] = result
        suite.left_out += result.left_out
    atomic_write(out / "results.json", (json.dumps(suite.rows, indent=1, ensure_ascii=False) + "\n").encode())
    return suite


def page_of(suite: SuiteRun, command: str) -> Page:
    """Everything the report shows: tables and figures are made of the rows alone."""
    sections = []
    for name, result in suite.results.items():
        experiment: Experiment = EXPERIMENTS.load(name)()
        if result.rows:
            sections.append(
                Section(name, experiment.title, experiment.tables(result.rows), experiment.figures(result.rows))
            )
    plans = list(suite.plans.values())
    return Page(
        title="hm-router-bench",
        command=command,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        settings={
            "experiments": ", ".join(suite.experiments),
            "methods": ", ".join(dict.fromkeys(m for p in plans for m in p.methods)),
            "splits": f"{plans[0].splits} task splits, 70% training, seed {plans[0].seed}",
            "embedder": plans[0].embedder,
        },
        versions=_versions(),
        data={b.name: b.hash for b in plans[0].benchmarks},
        left_out=suite.left_out,
        sections=sections,
    )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "hmrouter": __version__}
    for package in ("numpy", "scipy", "scikit-learn", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
