"""The live table of a benchmark run, on standard error."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hmrouter.cli.output import say

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from hmrouter.bench.engine import Finished
    from hmrouter.bench.experiments.base import Unit

QUIET_SECONDS = 30.0
"""Not at a terminal: a line this often."""


class BenchProgress:
    """Says how much there is to do, what is done per method, and how long the rest will take."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._total = Counter(u.method for u in units)
        self._done: Counter[str] = Counter()
        self._seconds: dict[str, float] = defaultdict(float)
        self._measured: Counter[str] = Counter()
        self._failed = 0
        self._live: Live | None = None
        self._start = self._said = time.monotonic()

    def __enter__(self) -> Self:
        places = len({(u.experiment, u.benchmark, u.split, u.setting) for u in self._units})
        say(f"{len(self._units):,} units to do: {len(self._total)} methods on {places:,} splits of benchmarks")
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(self._table(), console=Console(stderr=True), transient=True, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, finished: Finished, done: int, total: int) -> None:
        """One more unit has ended."""
        method = finished.unit.method
        self._done[method] += 1
        self._failed += bool(finished.error)
        if not finished.cached and not finished.error:
            self._seconds[method] += finished.seconds
            self._measured[method] += 1
        if self._live is not None:
            self._live.update(self._table())
        elif time.monotonic() - self._said > QUIET_SECONDS:
            self._said = time.monotonic()
            say(f"{finished.unit.experiment}: {done:,} of {total:,} units done, {self._left()}")

    def _left(self) -> str:
        """How long the rest takes, from the units that were measured."""
        if sum(self._measured.values()) < 5:
            return "time left not yet known"
        usual = sum(self._seconds.values()) / sum(self._measured.values())
        work = 0.0
        for method, total in self._total.items():
            each = self._seconds[method] / self._measured[method] if self._measured[method] else usual
            work += each * (total - self._done[method])
        minutes = work / (os.cpu_count() or 1) / 60
        return f"about {minutes:.0f} min left" if minutes >= 1 else "less than a minute left"

    def _table(self) -> Table:
        from rich import box
        from rich.table import Table

        out = Table(box=box.SIMPLE_HEAD, title=f"{self._left()}; {self._failed} failed", title_justify="left")
        for column in ("method", "done", "of", "s per unit"):
            out.add_column(column, justify="left" if column == "method" else "right")
        for method, total in self._total.items():
            each = f"{self._seconds[method] / self._measured[method]:.1f}" if self._measured[method] else "-"
            out.add_row(method, str(self._done[method]), str(total), each)
        return out
