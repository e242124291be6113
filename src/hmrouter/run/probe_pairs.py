"""One tiny task per pair, for real: does the pair work here, what does it cost, how long does it take."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmrouter.errors import HMRouterError
from hmrouter.run.attempt import run_harness
from hmrouter.run.drivers.base import Driver, Ended, HarnessResult, Job
from hmrouter.types import Route

FILE = "probe.txt"
PROMPT = f'Do just this and then stop: Write "{FILE}" with: ok'
MOST_TURNS = 10


@dataclass(frozen=True, slots=True)
class Probed:
    """What came of one pair."""

    route: Route
    result: HarnessResult | None
    """None: it could not be started."""
    wrote: bool
    """Whether the file is there, with the right content."""
    error: str

    @property
    def works(self) -> bool:
        """Whether the pair did the task."""
        return self.wrote and self.result is not None and self.result.ended is Ended.FINISHED

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values."""
        ran, usage = self.result, self.result.usage if self.result else None
        return {
            "route": str(self.route), "works": self.works, "ended": ran.ended.value if ran else None,
            "dollars": usage.dollars if usage else None, "cost_basis": usage.cost_basis if usage else "none",
            "input_tokens": usage.input_tokens if usage else None,
            "output_tokens": usage.output_tokens if usage else None,
            "turns": usage.turns if usage else None, "seconds": round(ran.seconds, 3) if ran else None,
            "version": ran.version if ran else "", "transport": ran.transport if ran else "", "error": self.error,
        }  # fmt: skip


def probe_pairs(
    routes: Iterable[Route], drivers: Mapping[str, Driver], *, max_dollars: float, max_seconds: float, bypass: bool
) -> Iterator[Probed]:
    """Run the task with each pair in a temporary folder of its own, one after the other.

    `bypass`: whether harnesses that never ask may run there; the others ask, and may write files in that folder.
    """
    for route in routes:
        with tempfile.TemporaryDirectory(prefix="hmrouter-probe-") as folder:
            cwd = Path(folder, "work")
            cwd.mkdir()
            # Some harnesses work in repositories only; where there is no git, the others still do.
            with suppress(OSError):
                subprocess.run(["git", "init", "--quiet", cwd], check=False, capture_output=True)
            driver = drivers[route.harness]
            job = Job(
                route, PROMPT, cwd, Path(folder, "output"), max_seconds, max_dollars=max_dollars,
                max_turns=MOST_TURNS, bypass=bypass and driver.only_bypassed,
            )  # fmt: skip
            try:
                result = run_harness(driver, job)
            except HMRouterError as error:
                yield Probed(route, None, False, str(error))
                continue
            written = cwd / FILE
            wrote = written.is_file() and written.read_text(errors="replace").strip() == "ok"
            said = result.error or ("" if wrote else "it finished, but the file is not there or not right")
            yield Probed(route, result, wrote, said)
