"""The benchmarks of the paper with their exact pools, and which of them are at hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, UsageError
from hmrouter.logs.fields import bind
from hmrouter.logs.formats.benchmark import OUTCOMES, benchmark_directories
from hmrouter.logs.formats.csv_file import csv_rows
from hmrouter.names import canonical_harness, canonical_model
from hmrouter.names.aliases import read_toml
from hmrouter.types import Route


@dataclass(frozen=True, slots=True)
class PaperBenchmark:
    """One benchmark of the paper."""

    id: str
    title: str
    """What the paper calls it."""
    directory: str
    """The name that a benchmark directory with its outcomes has."""
    pool: tuple[Route, ...]
    """The routes that the paper retained, in its order and spelling."""
    cost: bool
    """Whether it belongs to the paper's cost subset."""
    source: str
    """Where its public outcomes are."""
    how: str
    """How they become a benchmark directory."""
    also: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Model as printed -> the other name that the same runs may bear in a benchmark directory."""

    @property
    def canonical_pool(self) -> tuple[Route, ...]:
        """The pool with canonical names, in the same order."""
        return tuple(_canonical(route.model, route.harness) for route in self.pool)

    def find(self, routes: Collection[Route]) -> dict[Route, Route]:
        """Map each route of the canonical pool that is among `routes` to the one it is there.

        >>> scicode = next(b for b in benchmarks() if b.id == "scicode")
        >>> there = Route("deepseek-r1-0528", "scicode-zero-shot-agent")
        >>> scicode.find([there, Route("gpt-5", "codex")]) == {Route("deepseek-r1", there.harness): there}
        True
        """
        found = {}
        for printed, route in zip(self.pool, self.canonical_pool, strict=True):
            other = Route(self.also.get(printed.model, route.model), route.harness)
            if route in routes:
                found[route] = route
            elif other in routes:
                found[route] = other
        return found


@dataclass(frozen=True, slots=True)
class Presence:
    """Tells whether a benchmark of the registry is at hand, and what a directory that is holds."""

    directory: str
    """The name of the benchmark directory."""
    benchmark: PaperBenchmark | None = None
    """None for a directory that the registry does not know."""
    path: Path | None = None
    """None for a benchmark that is not at hand."""
    routes: int = 0
    """How many routes have outcomes there."""
    pool_routes: int = 0
    """How many of the benchmark's own pool have."""
    problem: str = ""
    """Why the routes could not be counted."""


@cache
def benchmarks() -> tuple[PaperBenchmark, ...]:
    """The benchmarks of the paper, in its order.

    >>> [benchmark.title for benchmark in benchmarks() if benchmark.cost][:3]
    ['TerminalBench 2.1', 'TauBench Airline', 'CORE-Bench Hard']
    """
    table = read_toml(files("hmrouter.data") / "benchmarks.toml")
    return tuple(_benchmark(entry, table["how"]) for entry in table["benchmarks"])


def status(data: Iterable[Path]) -> list[Presence]:
    """List what of the registry these folders hold, in the paper's order, then the directories it does not know.

    A folder is a benchmark directory or holds some; a name found in two of them is listed twice.
    """
    found = [directory for folder in data for directory in benchmark_directories(Path(folder))]
    paths: dict[str, list[Path]] = {}
    for path in dict.fromkeys(found):
        paths.setdefault(path.absolute().name, []).append(path)
    known = {benchmark.directory: benchmark for benchmark in benchmarks()}
    listed: list[Presence] = []
    for name in (*known, *sorted(paths.keys() - known.keys())):
        listed += [_presence(name, known.get(name), path) for path in paths.get(name, (None,))]
    return listed


def observed_routes(directory: Path) -> frozenset[Route]:
    """The canonical routes in a benchmark directory's `outcomes.csv`; no other cell of a row is looked at."""
    at: Mapping[str, int] = {}
    written: set[tuple[str, str]] = set()
    for _, header, cells in csv_rows(directory / OUTCOMES):
        at = at or bind(header, {}).at
        if "route" in at:
            route = Route.parse(cells[at["route"]])
            written.add((route.model, route.harness))
        else:
            written.add((cells[at["model"]], cells[at["harness"]]))
    return frozenset(_canonical(model, harness) for model, harness in written)


def _benchmark(entry: Mapping[str, Any], ways: Mapping[str, str]) -> PaperBenchmark:
    pool = (
        Route(model, harness) for part in entry["pool"] for harness, model in product(part["harnesses"], part["models"])
    )
    return PaperBenchmark(
        id=entry["id"],
        title=entry["title"],
        directory=entry.get("directory", entry["id"]),
        pool=tuple(pool),
        cost=entry.get("cost", False),
        source=entry["source"],
        how=ways[entry["how"]],
        also=entry.get("also", {}),
    )


def _presence(name: str, benchmark: PaperBenchmark | None, path: Path | None) -> Presence:
    if path is None:
        return Presence(name, benchmark)
    try:
        routes = observed_routes(path)
    except (InputError, UsageError) as error:
        # One broken directory must not hide the others.
        return Presence(name, benchmark, path, problem=str(error))
    pool_routes = len(benchmark.find(routes)) if benchmark else 0
    return Presence(name, benchmark, path, len(routes), pool_routes)


def _canonical(model: str, harness: str) -> Route:
    return Route(canonical_model(model), canonical_harness(harness))
