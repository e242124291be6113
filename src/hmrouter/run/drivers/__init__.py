"""The harnesses that can be run, one small file each. `base` is the contract, `template` drives anything else.

A third party adds one with the entry point group `hmrouter.drivers`; a user with a TOML file (docs/harnesses.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hmrouter.plugins import Registry

if TYPE_CHECKING:
    from hmrouter.run.drivers.base import Driver

DRIVERS = Registry(
    "harness",
    "hmrouter.drivers",
    {
        "claude-code": "hmrouter.run.drivers.claude_code:ClaudeCode",
        "cline-cli": "hmrouter.run.drivers.cline:Cline",
        "codex": "hmrouter.run.drivers.codex:Codex",
        "copilot-cli": "hmrouter.run.drivers.copilot:Copilot",
        "kimi-cli": "hmrouter.run.drivers.kimi:Kimi",
        "mini-swe-agent": "hmrouter.run.drivers.mini_swe_agent:MiniSweAgent",
        "opencode": "hmrouter.run.drivers.opencode:OpenCode",
        "openhands": "hmrouter.run.drivers.openhands:OpenHands",
        "qwen-coder": "hmrouter.run.drivers.qwen_code:QwenCode",
    },
)
"""Driver classes by the canonical name of their harness."""


def all_drivers(templates: Iterable[Path] = (), environ: Mapping[str, str] | None = None) -> dict[str, Driver]:
    """Make a driver for every known harness, by name; one from a TOML file takes the place of a built-in one."""
    from hmrouter.run.drivers.template import TemplateDriver

    made: dict[str, Driver] = {name: DRIVERS.load(name)(environ) for name in DRIVERS.names()}
    for path in templates:
        driver = TemplateDriver.from_toml(path, environ)
        made[driver.name] = driver
    return made


def driver_for(harness: str, templates: Iterable[Path] = (), environ: Mapping[str, str] | None = None) -> Driver:
    """Make the driver of one harness; an unknown name is refused with the known ones."""
    from hmrouter.errors import UnknownName

    known = all_drivers(templates, environ)
    if harness not in known:
        raise UnknownName("harness", harness, known)
    return known[harness]
