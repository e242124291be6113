"""What a Tab offers for names: formats, scorers, embedders, experiments, methods, and the routes of the router here.

The built-in names are written out, as the registries need NumPy and a Tab must be quick; plug-ins are asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

FORMATS = (
    "benchmark", "harbor", "terminal-bench", "inspect", "openhands-index", "openhands-output", "swebench-report",
    "swebench-site", "hal-site", "hal-upload", "workspace-bench", "parquet", "json", "jsonl", "csv",
)  # fmt: skip
SCORERS = ("component_average", "component_only", "fixed", "hm", "knn", "random", "safe", "safe_alone")
EMBEDDERS = ("lsa", "openai", "sentence-transformers")
BASELINES = ("avengers", "avengers_pro", "embedllm", "irtnet", "mirt", "oracle")
"""Methods that are no scorers."""
MOST_READ = 2**26
"""Bytes that are read of a router file, at most, to find its routes."""


def formats(incomplete: str) -> list[str]:
    """Offer formats of logs."""
    return _starting(("auto", *FORMATS), incomplete)


def scorers(incomplete: str) -> list[str]:
    """Offer scorers, plug-ins among them."""
    return _starting((*SCORERS, *_plugins("hmrouter.scorers")), incomplete)


def embedders(incomplete: str) -> list[str]:
    """Offer embedders, plug-ins among them."""
    return _starting((*EMBEDDERS, *_plugins("hmrouter.embedders")), incomplete)


def experiments(incomplete: str) -> list[str]:
    """Offer experiments; several may be joined by commas."""
    from hmrouter.bench.experiments import every_experiment

    return _listed(("all", *every_experiment()), incomplete)


def methods_named(incomplete: str) -> list[str]:
    """Offer methods; several may be joined by commas."""
    return _listed((*SCORERS, *BASELINES, *_plugins("hmrouter.scorers")), incomplete)


def routes(incomplete: str) -> list[str]:
    """Offer the routes of the router file that is here, or that HMROUTER_ROUTER names."""
    return _starting(_pool(), incomplete)


def rules(incomplete: str) -> list[str]:
    """Offer rules for `--allow` and `--deny`: a route, or the models or harnesses of those."""
    pairs = [route.partition(":") for route in _pool()]
    parts = {f"harness={harness}" for harness, _, _ in pairs} | {f"model={model}" for _, _, model in pairs}
    return _starting([*sorted(parts), *_pool()], incomplete)


def _pool() -> list[str]:
    """Read the routes out of a router file's header, which is JSON after its length; none if that is not so."""
    try:
        with open(os.environ.get("HMROUTER_ROUTER") or "router.hmr", "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, MOST_READ)))
        return [str(route) for route in json.loads(header["__metadata__"]["hmrouter"])["router"]["pool"]]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []  # a Tab says nothing about files


def _plugins(group: str) -> list[str]:
    from importlib.metadata import entry_points

    return sorted(entry.name for entry in entry_points(group=group))


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _listed(names: Iterable[str], incomplete: str) -> list[str]:
    """Complete the last of names that are joined by commas, without those that are there already."""
    before, comma, last = incomplete.rpartition(",")
    there = before.split(",")
    return [f"{before}{comma}{name}" for name in _starting(names, last) if name not in there]
