"""Runs units: from the cache if they are finished, else in worker processes or on a Ray cluster.

A unit computes with one thread wherever it runs, so that every engine gives the same numbers. A unit that raises
is reported and left out; the others go on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from typing import Any

from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import Experiment, Plan, Unit
from hmrouter.bench.methods import METHODS, REFERENCES
from hmrouter.bench.results_cache import ResultsCache
from hmrouter.bench.versions import module_of, version_of
from hmrouter.errors import HMRouterError, MissingExtra, UsageError
from hmrouter.features.base import EMBEDDERS


@dataclass(frozen=True, slots=True)
class Finished:
    """One unit that ended: with rows, or with the reason why not."""

    unit: Unit
    rows: list[dict[str, Any]]
    error: str = ""
    seconds: float = 0.0
    cached: bool = False


@dataclass(slots=True)
class Results:
    """What a run gave."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """What failed and why, in sentences."""
    computed: int = 0
    cached: int = 0


Watch = Callable[[Finished, int, int], None]
"""Told about each finished unit, and how many of how many are done."""


def run(
    name: str,
    plan: Plan,
    cache: ResultsCache,
    *,
    engine: str = "local",
    jobs: int | None = None,
    address: str | None = None,
    units: Sequence[Unit] | None = None,
    watch: Watch | None = None,
) -> Results:
    """Run an experiment's units and collect their rows in the order of the units, whatever finished first."""
    experiment: Experiment = EXPERIMENTS.load(name)()
    wanted = experiment.units(plan) if units is None else list(units)
    keys = {unit: unit_key(experiment, unit, plan) for unit in wanted}
    done: dict[Unit, Finished] = {}
    for unit in wanted:
        rows = cache.get(keys[unit])
        if rows is not None:
            done[unit] = Finished(unit, rows, cached=True)
    todo = [unit for unit in wanted if unit not in done]
    for finished in _execute(engine, todo, plan, jobs or os.cpu_count() or 1, address):
        done[finished.unit] = finished
        if not finished.error:
            cache.put(keys[finished.unit], finished.rows)
        if watch is not None:
            watch(finished, len(done), len(wanted))
    out = Results(computed=len(todo), cached=len(wanted) - len(todo))
    failed: dict[tuple[str, str], list[Unit]] = {}
    for unit in wanted:
        out.rows += done[unit].rows
        if done[unit].error:
            failed.setdefault((unit.method, done[unit].error), []).append(unit)
    for (method, error), where in failed.items():
        places = sorted({u.benchmark for u in where})
        shown = ", ".join(places[:4]) + (f" and {len(places) - 4} more" if len(places) > 4 else "")
        out.left_out.append(f"{name}: {method} on {shown} ({len(where)} units): {error}")
    return out


def unit_key(experiment: Experiment, unit: Unit, plan: Plan) -> dict[str, Any]:
    """Everything that a unit's rows depend on."""
    benchmark = next(b for b in plan.benchmarks if b.name == unit.benchmark)
    return {
        **asdict(unit),
        "seed": plan.seed,
        "data": benchmark.hash,
        "embedder": [plan.embedder, version_of(module_of(EMBEDDERS.load(plan.embedder)))],
        "experiment_version": version_of(module_of(type(experiment))),
        "method_version": _method_version(unit.method),
        "libraries": _libraries(),
    }


def _method_version(method: str) -> str:
    if method in REFERENCES or method not in METHODS.names():
        return ""
    return version_of(module_of(METHODS.load(method)))


def _libraries() -> list[str]:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for package in ("numpy", "scikit-learn", "torch"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return found


def run_unit(unit: Unit, plan: Plan) -> Finished:
    """Do one unit, in whatever process this is."""
    from threadpoolctl import threadpool_limits

    start = time.perf_counter()
    try:
        benchmark = next(b for b in plan.benchmarks if b.name == unit.benchmark)
        with threadpool_limits(1):
            rows = EXPERIMENTS.load(unit.experiment)().run(unit, benchmark, plan)
        return Finished(unit, rows, seconds=time.perf_counter() - start)
    except MissingExtra as e:
        return Finished(unit, [], str(e))
    except HMRouterError as e:
        return Finished(unit, [], " ".join(str(e).split()))
    except Exception as e:  # a method may fail in any way; the run goes on and the report says so
        return Finished(unit, [], f"{type(e).__name__}: {' '.join(str(e).split())}")


def _execute(engine: str, units: Sequence[Unit], plan: Plan, jobs: int, address: str | None) -> Iterator[Finished]:
    if engine == "local":
        return _local(units, plan, jobs)
    if engine == "ray":
        return _ray(units, plan, jobs, address)
    raise UsageError(f"engine {engine!r} is not known; choose local or ray")


def _local(units: Sequence[Unit], plan: Plan, jobs: int) -> Iterator[Finished]:
    if not units:
        return
    # Fresh interpreters: a fork of a process that has used threads (BLAS, PyTorch) may hang.
    with ProcessPoolExecutor(min(jobs, len(units)), mp_context=get_context("spawn")) as pool:
        futures: dict[Future[Finished], Unit] = {pool.submit(run_unit, unit, plan): unit for unit in units}
        try:
            for future in as_completed(futures):
                error = future.exception()
                yield future.result() if error is None else Finished(futures[future], [], f"worker died: {error}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _ray(units: Sequence[Unit], plan: Plan, jobs: int, address: str | None) -> Iterator[Finished]:
    try:
        import ray
    except ImportError:
        raise MissingExtra("--engine ray", "ray") from None
    started = not ray.is_initialized()
    if started:
        where = {"address": address} if address else {"num_cpus": jobs, "include_dashboard": False}
        ray.init(logging_level="error", log_to_driver=False, **where)
    try:
        remote = ray.remote(run_unit)
        shared = ray.put(plan)
        waiting = {remote.remote(unit, shared): unit for unit in units}
        while waiting:
            ready, _ = ray.wait(list(waiting))
            for ref in ready:
                unit = waiting.pop(ref)
                try:
                    yield ray.get(ref)
                except ray.exceptions.RayError as e:
                    yield Finished(unit, [], f"worker died: {' '.join(str(e).split())}")
    finally:
        if started:
            ray.shutdown()
