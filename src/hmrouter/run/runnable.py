"""Which routes can be run here: a driver knows the harness and the model, it is installed, and it has its key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hmrouter.errors import HarnessError, UnknownName
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


def runnable(routes: Iterable[Route], drivers: Mapping[str, Driver], bypass: bool) -> Runnable:
    """Sort routes into those that can be run here and the others."""
    fine, refused = list[Route](), dict[Route, HarnessError | UnknownName]()
    of_harness: dict[str, HarnessError | UnknownName | None] = {}
    for route in dict.fromkeys(routes):
        if route.harness not in of_harness:
            of_harness[route.harness] = _reason(route.harness, drivers, bypass)
        reason = of_harness[route.harness]
        if reason is None and drivers[route.harness].spelling(route.model) is None:
            reason = HarnessError(f"the harness {route.harness} cannot run the model {route.model}")
        if reason is None:
            fine.append(route)
        else:
            refused[route] = reason
    return Runnable(tuple(fine), refused)


def _reason(harness: str, drivers: Mapping[str, Driver], bypass: bool) -> HarnessError | UnknownName | None:
    """Say why a harness cannot be run here, if so."""
    driver = drivers.get(harness)
    if driver is None:
        return UnknownName("harness", harness, drivers, "what can be run here")
    if driver.installed() is None:
        return HarnessError(
            f"the harness {harness} is not installed here, or does not start",
            hint="install_harness" if driver.install else "", command=driver.install,
        )  # fmt: skip
    needs = driver.needs()
    if not needs.met(driver.environ):
        return HarnessError(
            f"the harness {harness} has no key: {' or '.join(needs.keys)} is not set", hint="set_key",
            key=needs.keys[0], how=driver.get_key,
        )  # fmt: skip
    if driver.only_bypassed and not bypass:
        return HarnessError(
            f"the harness {harness} runs commands without asking, and that was not allowed in this workspace",
            argument="bypass", hint="allow_bypass",
        )  # fmt: skip
    return None
