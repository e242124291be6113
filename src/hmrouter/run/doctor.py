"""What can be run here: harnesses, versions, keys, models, and for whatever is missing the way to get it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from hmrouter.errors import EndpointError
from hmrouter.names import canonical_model
from hmrouter.run.drivers.base import Driver
from hmrouter.run.model_lists import list_models
from hmrouter.types import Route

AT_ONCE = 4
"""Programs started, and services asked, at the same time."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that a harness lacks."""

    what: str
    get_it: str
    """A command or a sentence: how to get it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known about one harness here. No key is in it, only the names of variables that hold one."""

    harness: str
    version: str | None
    """None: not installed; "": it does not tell."""
    path: str
    keys: tuple[str, ...]
    """The variables with a key that are set."""
    signed_in: bool
    """Whether its own sign-in left something here."""
    models: tuple[str, ...] | None
    """Canonical names of the models that its service lists; None where it was not asked or did not tell."""
    unreached: str
    """Why the service did not tell; empty where it did or was not asked."""
    asks_first: bool
    """Whether it can work without acting unasked."""
    missing: tuple[Missing, ...]

    @property
    def ready(self) -> bool:
        """Whether it can be started and reach a model, as far as can be seen."""
        return not self.missing

    def why_not(self, driver: Driver, model: str) -> str:
        """Say why this harness cannot run a model; "" where it can."""
        if self.missing:
            return f"{self.missing[0].what}; {self.missing[0].get_it}"
        spelled = driver.spelling(model)
        if spelled is None:
            return f"{self.harness} does not run {model}"
        if self.models is not None and canonical_model(spelled) not in self.models:
            return f"its service does not list {model}"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return asdict(self) | {"ready": self.ready}


def examine(drivers: Mapping[str, Driver], *, ask_services: bool = True) -> list[Finding]:
    """Look at every harness: is it here, has it a key, which models does its service list.

    Where a service lists its models, the driver learns their spellings there (`Driver.spellings`).
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda driver: _examine(driver, ask_services), drivers.values()))


def sort_out(
    routes: Iterable[Route], drivers: Mapping[str, Driver], findings: Iterable[Finding]
) -> tuple[list[Route], dict[Route, str]]:
    """Part routes into those that can be run here and the others, each with the reason why not."""
    found = {finding.harness: finding for finding in findings}
    able: list[Route] = []
    unable: dict[Route, str] = {}
    for route in routes:
        finding = found.get(route.harness)
        why = finding.why_not(drivers[route.harness], route.model) if finding else f"no driver for {route.harness}"
        if why:
            unable[route] = why
        else:
            able.append(route)
    return able, unable


def _examine(driver: Driver, ask_services: bool) -> Finding:
    here = driver.installed()
    needs = driver.needs()
    keys = tuple(key for key in needs.keys if driver.environ.get(key))
    signed_in = any(path.exists() for path in needs.sign_in)
    missing = []
    if here is None:
        missing.append(Missing("not installed, or does not start", driver.install or f"install {driver.program}"))
    if not needs.met(driver.environ):
        missing.append(Missing("no key and no sign-in", driver.get_key or f"set {' or '.join(needs.keys)}"))
    models, unreached = _models(driver) if ask_services and here and keys else (None, "")
    return Finding(
        driver.name, here.version if here else None, str(here.path) if here else "", keys, signed_in,
        models, unreached, not driver.only_bypassed, tuple(missing),
    )  # fmt: skip


def _models(driver: Driver) -> tuple[tuple[str, ...] | None, str]:
    endpoint = driver.endpoint()
    if endpoint is None or not driver.environ.get(endpoint.key):
        return None, ""
    try:
        ids = list_models(endpoint, driver.environ)
    except EndpointError as error:
        return None, str(error)
    driver.learn(ids)
    return tuple(sorted({canonical_model(name) for name in ids})), ""
