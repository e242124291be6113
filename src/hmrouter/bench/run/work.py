"""Does one unit of work, in whatever process this is: it ends with rows, or with the reason why not."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import RunRequest, Unit
from hmrouter.errors import HMRouterError

Requests = Mapping[str, RunRequest]
"""Per experiment, what was asked for."""


@dataclass(frozen=True, slots=True)
class UnitResult:
    """Holds a unit that ended: with rows, or with the reason why not."""

    unit: Unit
    rows: list[dict[str, Any]]
    error: str = ""
    seconds: float = 0.0
    cached: bool = False


def run_unit(unit: Unit, requests: Requests) -> UnitResult:
    """Do one unit on one thread, so that every engine gives the same numbers. It never raises."""
    from threadpoolctl import threadpool_limits

    start = time.perf_counter()
    try:
        request = requests[unit.experiment]
        benchmark = request.benchmark(unit.benchmark)
        with threadpool_limits(1):
            rows = EXPERIMENTS.load(unit.experiment)().run(unit, benchmark, request)
        # As they will be read from the cache and from results.json; NaN has no place there.
        rows = json.loads(json.dumps(rows, allow_nan=False))
        return UnitResult(unit, rows, seconds=time.perf_counter() - start)
    except HMRouterError as e:
        return UnitResult(unit, [], _one_line(e))
    except (Exception, SystemExit) as e:  # a method may fail in any way; the run goes on and the report says so
        return UnitResult(unit, [], f"{type(e).__name__}: {_one_line(e)}")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
