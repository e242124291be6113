"""Units on a Ray cluster, or on a Ray of this machine. The cluster's machines need hmrouter and the same data paths."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence

from hmrouter.bench.experiments.base import Unit
from hmrouter.bench.work import Finished, Plans, run_unit
from hmrouter.errors import HMRouterError, MissingExtra


def run_ray(units: Sequence[Unit], plans: Plans, jobs: int, address: str | None) -> Iterator[Finished]:
    """One Ray task per unit; without an address, on a Ray that lives as long as the run."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns about GPUs that we do not use
    try:
        import ray
    except ImportError:
        raise MissingExtra("--engine ray", "ray") from None
    started = not ray.is_initialized()
    if started:
        where = {"address": address} if address else {"num_cpus": jobs, "include_dashboard": False}
        try:
            ray.init(logging_level=logging.ERROR, log_to_driver=False, **where)
        except (ConnectionError, ValueError, RuntimeError) as e:
            reason = " ".join(str(e).split())
            raise HMRouterError(f"cannot reach Ray at {address or 'this machine'}: {reason}") from e
    try:
        remote = ray.remote(run_unit)
        shared = ray.put(plans)
        waiting = {remote.remote(unit, shared): unit for unit in units}
        while waiting:
            ready, _ = ray.wait(list(waiting))
            for ref in ready:
                unit = waiting.pop(ref)
                try:
                    yield ray.get(ref)
                except ray.exceptions.RayError as e:
                    yield Finished(unit, [], f"the Ray task failed: {' '.join(str(e).split())}")
    finally:
        if started:
            ray.shutdown()
