"""Does a whole run: benchmarks in, results.json out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import Experiment, Row, RunRequest, Unit
from hmrouter.bench.methods import METHODS, REFERENCES
from hmrouter.bench.report.page import BESIDE
from hmrouter.bench.run.engine import Results, Watch, run
from hmrouter.bench.run.results_cache import ResultsCache
from hmrouter.errors import HMRouterError, InputError, OutputError, UnknownName, UsageError
from hmrouter.features.base import embedder_named
from hmrouter.files import atomic_write
from hmrouter.logs import benchmark_directories
from hmrouter.logs.formats.benchmark import both_files


@dataclass(slots=True)
class Suite:
    """Holds what a run was asked for and what came of it."""

    requests: dict[str, RunRequest]
    """Per experiment, in the order asked for."""
    quick: bool = False
    left_out: list[str] = field(default_factory=list)
    """Benchmarks, splits and units that did not take part, and why."""
    results: Results = field(default_factory=Results)

    def rows_of(self, experiment: str) -> list[Row]:
        """The rows of one experiment."""
        return [row for row in self.results.rows if row["experiment"] == experiment]

    def absent(self) -> list[str]:
        """List those of Random, Fixed and Oracle that an experiment usually has and was run without."""
        usual = {name: EXPERIMENTS.load(name).methods for name in self.requests}
        return [
            method for method in BESIDE
            if any(method in usual[name] and method not in request.methods for name, request in self.requests.items())
        ]  # fmt: skip


def plan_suite(
    experiments: Sequence[str],
    data: Sequence[Path],
    *,
    methods: Sequence[str] | None = None,
    splits: int = 5,
    seed: int = 0,
    embedder: str = "lsa",
    quick: bool = False,
) -> Suite:
    """Look at the data and list what there is to do, before doing any of it."""
    if not experiments:
        raise UsageError(f"no experiment is named; choose from {', '.join(EXPERIMENTS.names())}, or all")
    loaded: dict[str, Experiment] = {name: EXPERIMENTS.load(name)() for name in experiments}
    everywhere = {*REFERENCES, *METHODS.names()}
    known = everywhere.union(*(experiment.own_methods for experiment in loaded.values()))
    for method in methods or ():
        if method not in known:
            raise UnknownName("method", method, known)
    embedder_named(embedder)  # one that is unknown or lacks its settings is refused before the data is read
    suite = Suite({}, quick)
    benchmarks = find_benchmarks(data, suite.left_out)
    for name, experiment in loaded.items():
        taking_part = []
        for benchmark in benchmarks:
            if reason := experiment.refusal(benchmark):
                suite.left_out.append(f"{name}: benchmark {benchmark.name}: {reason}")
            else:
                taking_part.append(benchmark)
        usable = everywhere | set(experiment.own_methods)
        wanted, number = methods or experiment.methods, splits
        if quick:
            wanted, number = experiment.quick.methods(experiment.methods, methods or ()), experiment.quick.most(splits)
            if less := experiment.quick.words(splits, methods or ()):
                suite.left_out.append(f"{name}: quick: {less}")
        chosen = tuple(dict.fromkeys(m for m in wanted if m in usable))
        suite.requests[name] = RunRequest(taking_part, chosen, number, seed, embedder)
    return suite


def find_benchmarks(data: Iterable[Path], left_out: list[str]) -> list[Benchmark]:
    """The readable benchmarks among directories and folders of directories; the others are noted in `left_out`."""
    found: dict[str, Benchmark] = {}
    for path in data:
        if not path.is_dir():
            raise InputError(f"{path} is not a directory", argument="data", hint="benchmark_directory")
        for directory in benchmark_directories(path):
            try:
                both_files(directory)
                benchmark = Benchmark.at(directory)
            except HMRouterError as e:
                left_out.append(f"benchmark {directory.absolute().name}: {' '.join(str(e).split())}")
                continue
            other = found.setdefault(benchmark.name, benchmark)
            if other.path != benchmark.path:
                left_out.append(f"benchmark {directory}: another one of that name was given before, {other.path}")
            elif not len(benchmark.data().cells):
                left_out.append(f"benchmark {benchmark.name}: it has no outcome with a score")
                del found[benchmark.name]
    return list(found.values())


def units_of(suite: Suite) -> list[Unit]:
    """All units, experiment by experiment."""
    out: list[Unit] = []
    for name, request in suite.requests.items():
        experiment: Experiment = EXPERIMENTS.load(name)()
        units = experiment.units(request)
        out += experiment.quick.units(units, request.seed) if suite.quick else units
    return out


def run_suite(
    suite: Suite,
    out: Path,
    *,
    engine: str = "local",
    jobs: int | None = None,
    address: str | None = None,
    watch: Watch | None = None,
) -> None:
    """Do the work, from the cache in `out` where it is done already, and write `out/results.json`."""
    try:
        (out / ".cache").mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise OutputError(f"cannot write to {out}: {e.strerror}", argument="out", hint="choose_another") from e
    requests = suite.requests
    if not address:  # another machine could not open it
        vectors = f"sqlite:///{(out / '.cache' / 'vectors.db').absolute()}"
        requests = {name: replace(request, vectors=vectors) for name, request in requests.items()}
    cache = ResultsCache(out / ".cache")
    units = units_of(suite)
    busy = {unit.experiment for unit in units}
    idle = [name for name, request in requests.items() if request.benchmarks and name not in busy]
    suite.left_out += [f"{name}: there is nothing to do with these methods on these benchmarks" for name in idle]
    suite.results = run(units, requests, cache, engine=engine, jobs=jobs, address=address, watch=watch)
    suite.left_out += [*suite.results.left_out, *without_success(suite.results.rows)]
    if suite.results.rows:  # else an earlier result stays
        atomic_write(out / "results.json", f"{json.dumps(suite.results.rows, indent=1)}\n".encode())


def without_success(rows: Iterable[Row]) -> list[str]:
    """A sentence for every benchmark with splits on whose test tasks nothing ever succeeded."""
    places: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        if row["oracle_accuracy"] == 0:
            places.setdefault((row["experiment"], row["benchmark"]), set()).add(row["split"])
    return [
        f"{experiment}: benchmark {benchmark}, split {', '.join(map(str, sorted(splits)))}: no route succeeded on any "
        "test task, so there is nothing to normalise by; not in the means of normalised accuracy"
        for (experiment, benchmark), splits in places.items()
    ]
