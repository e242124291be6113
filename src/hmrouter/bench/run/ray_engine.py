"""Runs units on a Ray cluster, or on a Ray of this machine. A cluster needs hmrouter and the data at the same paths."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any
from warnings import catch_warnings

from hmrouter.bench.experiments.base import Unit
from hmrouter.bench.run.work import Requests, UnitResult, run_unit
from hmrouter.errors import HMRouterError, MissingExtra


def run_ray(units: Sequence[Unit], requests: Requests, jobs: int, address: str | None) -> Iterator[UnitResult]:
    """One Ray task per unit; without an address, on a Ray that lives as long as the run."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns about GPUs that we do not use
    try:
        import ray
    except ImportError:
        raise MissingExtra("the engine 'ray'", "ray") from None
    with redirect_stdout(sys.stderr):  # where Ray reports dead workers; standard output is for the answer
        started = not ray.is_initialized()
        if started:
            _connect(ray, jobs, address)
        try:
            yield from _run(ray, units, requests)
        finally:
            if started:
                ray.shutdown()


def _connect(ray: Any, jobs: int, address: str | None) -> None:
    where = {"address": address} if address else {"num_cpus": jobs, "include_dashboard": False}
    try:
        with catch_warnings(action="ignore"):  # the error says it
            ray.init(logging_level=logging.ERROR, log_to_driver=False, **where)
    except (ConnectionError, ValueError, RuntimeError) as e:
        raise HMRouterError(
            f"no Ray at {address or 'this machine'}: {' '.join(str(e).split())}; check that it runs, and set "
            "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN if it asks for a token"
        ) from e


def _run(ray: Any, units: Sequence[Unit], requests: Requests) -> Iterator[UnitResult]:
    remote = ray.remote(max_retries=1)(run_unit)  # a machine may go away; a method that dies will again
    shared = ray.put(requests)
    waiting = {remote.remote(unit, shared): unit for unit in units}
    while waiting:
        ready, _ = ray.wait(list(waiting))
        for ref in ready:
            unit = waiting.pop(ref)
            try:
                yield ray.get(ref)
            except ray.exceptions.RayError as e:
                yield UnitResult(unit, [], f"the Ray task failed: {type(e).__name__}")
