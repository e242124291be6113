"""Makes the key of a unit, under which its rows are kept: everything that they depend on."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import Experiment, RunRequest, Unit
from hmrouter.bench.methods import METHODS
from hmrouter.bench.run.versions import module_of, version_of
from hmrouter.bench.run.work import Requests
from hmrouter.errors import HMRouterError, NotFitted
from hmrouter.features.base import EMBEDDERS, embedder_named
from hmrouter.plugins import Registry

LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "sentence-transformers", "transformers")


class UnitKeys:
    """Makes keys for the units of these requests. Code is looked at once, when the first unit asks."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._data = {name: {b.name: b.hash for b in request.benchmarks} for name, request in requests.items()}
        self._experiments: dict[str, Experiment] = {name: EXPERIMENTS.load(name)() for name in requests}
        self._identity = {name: _identity(request.embedder) for name, request in requests.items()}
        self._libraries = installed(LIBRARIES)

    def of(self, unit: Unit) -> dict[str, Any]:
        """Give the key of a unit: unit, seed, data, and the versions of all code between them."""
        request: RunRequest = self._requests[unit.experiment]
        experiment = self._experiments[unit.experiment]
        also = {b.name: b.hash for b in experiment.reads(unit, request)}
        return {
            **asdict(unit),
            "seed": request.seed,
            "data": self._data[unit.experiment][unit.benchmark],
            "embedder": [request.embedder, _version(EMBEDDERS, request.embedder), self._identity[unit.experiment]],
            "experiment_version": _version(EXPERIMENTS, unit.experiment),
            "method_version": _version(METHODS, experiment.behind(unit.method)),
            "libraries": self._libraries,
        } | ({"also": also, "also_version": _history_version()} if also else {})


@cache
def _history_version() -> str:
    """The version of what decides which other benchmarks have a say, and what they say."""
    return version_of("hmrouter.bench.judge.history")


def _identity(embedder: str) -> dict[str, Any] | None:
    """Name the model that an embedder asks; None for one that learns from the training texts, which are in the data."""
    try:
        return embedder_named(embedder).identity()
    except NotFitted:
        return None


def installed(packages: tuple[str, ...]) -> dict[str, str]:
    """The versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def _version(registry: Registry, name: str) -> str:
    try:
        return version_of(module_of(registry.load(name)))
    except HMRouterError:
        # The oracle has no class; a plug-in that cannot be imported fails in its unit, where it is reported.
        return ""
