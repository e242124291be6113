"""Show on standard error how far a benchmark run is: a live table at a terminal, else a line now and then."""

from __future__ import annotations

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

    from hmrouter.bench.experiments.base import Unit
    from hmrouter.bench.run.work import UnitResult

Kind = tuple[str, str]
"""Experiment and method."""
FIRST_FEW = 8
"""Units that must have ended before the time left is estimated."""
QUIET_SECONDS = 30.0
"""Seconds between two lines where there is no terminal."""


class BenchProgress:
    """Says how much there is to do, what is done, and how long the rest will take.

    A method takes another time in every experiment, so both together are what is counted; shown are the experiments,
    or the methods where there is one experiment only.
    """

    def __init__(self) -> None:
        self._total: Counter[Kind] = Counter()
        self._done: Counter[Kind] = Counter()
        self._measured: Counter[Kind] = Counter()
        self._seconds: dict[Kind, float] = defaultdict(float)
        self._failed = 0
        self._live: Live | None = None
        self._start = self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
        if kind is KeyboardInterrupt:
            kept = self._done.total() - self._failed
            say(f"stopped; {kept:,} units that were finished are kept, the same command goes on from there")

    def begins(self, todo: Sequence[Unit], cached: int) -> None:
        """Say how many fits there will be."""
        from hmrouter.bench.methods import REFERENCES

        self._total = Counter((u.experiment, u.method) for u in todo)
        self._start = time.monotonic()
        fits = sum(n for (_, method), n in self._total.items() if method not in REFERENCES)
        methods = len({method for _, method in self._total})
        places = len({(u.experiment, u.benchmark, u.split, u.setting) for u in todo})
        before = f"; {cached:,} units are finished from before" if cached else ""
        say(
            f"{len(todo):,} units to do, {fits:,} of them fits: {methods} methods on {places:,} splits{before}"
            if todo
            else f"nothing to do{before}"
        )
        if todo and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(self._table(), console=Console(stderr=True), transient=True, refresh_per_second=4)
            self._live.start()

    def ended(self, finished: UnitResult) -> None:
        """Count one more unit that has ended, and show it."""
        kind = (finished.unit.experiment, finished.unit.method)
        self._done[kind] += 1
        if finished.error:
            self._failed += 1
        else:
            self._seconds[kind] += finished.seconds
            self._measured[kind] += 1
        now = time.monotonic()
        if self._live is not None:
            self._live.update(self._table())
        elif self._done.total() == FIRST_FEW or now - self._said > QUIET_SECONDS:
            self._said = now
            say(f"{self._done.total():,} of {self._total.total():,} units done, {self._left()}")

    def _left(self) -> str:
        """Estimate how long the rest takes, from how long units of each kind took and how many ran at once."""
        spent, measured = sum(self._seconds.values()), self._measured.total()
        if measured < FIRST_FEW or spent <= 0:
            return "time left not yet known"
        work = 0.0
        for kind, total in self._total.items():
            each = self._seconds[kind] / self._measured[kind] if self._measured[kind] else spent / measured
            work += each * (total - self._done[kind])
        minutes = work * (time.monotonic() - self._start) / spent / 60
        return f"about {minutes:.0f} min left" if minutes >= 1 else "less than a minute left"

    def _table(self) -> Table:
        from rich import box
        from rich.table import Table

        out = Table(box=box.SIMPLE_HEAD, title=f"{self._left()}; {self._failed} failed", title_justify="left")
        several = len({experiment for experiment, _ in self._total}) > 1
        shown = "experiment" if several else "method"
        for column in (shown, "done", "of", "s per unit"):
            out.add_column(column, justify="left" if column == shown else "right")
        lines: dict[str, list[Kind]] = {}
        for kind in self._total:
            lines.setdefault(kind[0] if several else kind[1], []).append(kind)
        for name, kinds in lines.items():
            measured = sum(self._measured[k] for k in kinds)
            each = f"{sum(self._seconds[k] for k in kinds) / measured:.1f}" if measured else "-"
            out.add_row(name, *(str(sum(of[k] for k in kinds)) for of in (self._done, self._total)), each)
        return out
