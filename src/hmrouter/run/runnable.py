"""The pool of a run: the routes of a wish that can be run here, and why the others cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hmrouter.errors import HarnessError, UnknownName
from hmrouter.run.doctor import examine, sort_out
from hmrouter.run.drivers.base import Driver
from hmrouter.types import Route


@dataclass(frozen=True, slots=True)
class Runnable:
    """The routes that can be run, and why the others cannot."""

    routes: tuple[Route, ...]
    refused: Mapping[Route, HarnessError | UnknownName] = field(default_factory=dict)

    def required(self) -> tuple[Route, ...]:
        """Return the routes; if there are none, say why the first one is none."""
        if not self.routes:
            if self.refused:
                raise next(iter(self.refused.values()))
            raise HarnessError("there is no route to run", hint="widen_pool")
        return self.routes


def runnable(
    routes: Iterable[Route], drivers: Mapping[str, Driver], bypass: bool, ask_services: bool = True
) -> Runnable:
    """Sort routes into those that can be run here and the others; services tell how they spell their models."""
    wanted = list(dict.fromkeys(routes))
    used = {route.harness for route in wanted}
    known = {name: driver for name, driver in drivers.items() if name in used}
    _, unable = sort_out(wanted, known, examine(known, ask_services=ask_services))
    fine, refused = list[Route](), dict[Route, HarnessError | UnknownName]()
    for route in wanted:
        if route.harness not in drivers:
            refused[route] = UnknownName("harness", route.harness, drivers, "what can be run here")
        elif route in unable:
            refused[route] = HarnessError(f"{route} cannot be run here: {unable[route]}")
        elif drivers[route.harness].only_bypassed and not bypass:
            refused[route] = HarnessError(
                f"the harness {route.harness} runs commands without asking, and that was not allowed in this workspace",
                argument="bypass", hint="allow_bypass",
            )  # fmt: skip
        else:
            fine.append(route)
    return Runnable(tuple(fine), refused)
