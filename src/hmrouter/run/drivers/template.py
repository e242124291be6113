"""A driver from a TOML file, for a harness that has none of its own. docs/harnesses.md explains every key.

    name = "aider"
    command = ["aider", "--model", "openai/{model}", "--message", "{prompt}", "--yes-always"]
    keys = ["OPENAI_API_KEY"]
    only_bypassed = true
    [read]
    error_text = '^litellm\\.\\w+Error'

`{model}`, `{prompt}`, `{cwd}`, `{output}` and `{effort}` are filled in, in the command and in `env`. With `acp = true`
the command speaks the Agent Client Protocol, and the prompt reaches it that way.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError
from hmrouter.names import canonical_harness, canonical_model
from hmrouter.names.aliases import build_from_toml
from hmrouter.run.drivers.acp import AcpReader, behind_client
from hmrouter.run.drivers.base import Command, Driver, Job, Needs, Reader
from hmrouter.run.drivers.permission import require_bypass
from hmrouter.run.drivers.spelling import EFFORTS
from hmrouter.run.drivers.template_reader import KEYS as READ_KEYS
from hmrouter.run.drivers.template_reader import Reading, TemplateReader

KEYS: Mapping[str, type] = {
    "name": str, "command": list, "bypassed": list, "effort": list, "efforts": list, "keys": list, "settings": list,
    "env": dict, "models": dict, "any_model": str, "install": str, "get_key": str, "only_bypassed": bool,
    "acp": bool, "read": dict,
}  # fmt: skip
"""The keys of a file, with their types."""
TEXTS = {"command", "bypassed", "effort", "efforts", "keys", "settings", "env", "models"}
"""Those that hold several texts."""


class TemplateDriver(Driver):
    """A harness as a TOML table describes it.

    >>> driver = TemplateDriver({"name": "My Agent", "command": ["my-agent", "-m", "{model}", "{prompt}"]})
    >>> driver.name, driver.program, driver.spelling("our-own")
    ('my-agent', 'my-agent', 'our-own')
    """

    def __init__(self, table: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> None:
        super().__init__(environ)
        _check(table)
        self._table = table
        self.name = canonical_harness(table["name"])
        self.program = table["command"][0]
        self.transport = "acp" if table.get("acp") else "cli"
        self.install = table.get("install", "")
        self.get_key = table.get("get_key", "")
        self.only_bypassed = table.get("only_bypassed", False)
        self.efforts = tuple(table.get("efforts", EFFORTS if "effort" in table else ()))
        self._models = {canonical_model(name): spelled for name, spelled in table.get("models", {}).items()}
        self._reading = Reading.of(table.get("read", {}))

    @classmethod
    def from_toml(cls, path: str | Path, environ: Mapping[str, str] | None = None) -> TemplateDriver:
        """Read a driver from a file; an error in it names the file."""
        return build_from_toml(path, lambda table: cls(table, environ))

    def own_spelling(self, model: str) -> str | None:
        """Look the model up in `models`; any other is written as `any_model` says, and refused where that is empty."""
        return self._models.get(model) or _fill(self._table.get("any_model", "{model}"), {"model": model}) or None

    def needs(self) -> Needs:
        """Return the file's `keys` and `settings`."""
        return Needs(tuple(self._table.get("keys", ())), tuple(self._table.get("settings", ())))

    def command(self, job: Job) -> Command:
        """Fill in the file's `command`, with `effort` and `bypassed` behind it where the job asks for them."""
        require_bypass(self, job)
        filled = {
            "model": self.model(job), "prompt": job.prompt, "cwd": str(job.cwd),
            "output": str(job.output), "effort": self.effort(job) or "",
        }  # fmt: skip
        words = [*self._table["command"]]
        words += self._table.get("effort", []) if filled["effort"] else []
        words += self._table.get("bypassed", []) if job.bypass else []
        env = {name: _fill(value, filled) for name, value in self._table.get("env", {}).items()}
        command = Command(tuple(_fill(word, filled) for word in words), env)
        return behind_client(self.name, command, job) if self.transport == "acp" else command

    def reader(self, job: Job) -> Reader:
        """Read as the file's table `read` says, or the protocol's events."""
        return AcpReader() if self.transport == "acp" else TemplateReader(self._reading, job)


def _fill(word: str, filled: Mapping[str, str]) -> str:
    """Fill in placeholders in one pass: a prompt that holds one stays as it is."""
    parts = word.split("{")
    out = parts[0]
    for part in parts[1:]:
        name, brace, rest = part.partition("}")
        out += f"{filled[name]}{rest}" if brace and name in filled else f"{{{part}"
    return out


def _check(table: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if key not in KEYS:
            raise InputError(f"a harness file has no key {key!r}; choose from {', '.join(KEYS)}")
        if not isinstance(value, KEYS[key]):
            raise InputError(f"{key} must be a {KEYS[key].__name__}, got {value!r}")
    for key in TEXTS & table.keys():
        words = table[key].values() if isinstance(table[key], dict) else table[key]
        if not all(isinstance(word, str) for word in words):
            raise InputError(f"{key} must hold texts only, got {table[key]!r}")
    for key in ("name", "command"):
        if not table.get(key):
            raise InputError(f"a harness file needs the key {key!r}")
    if unknown := sorted(set(table.get("read", {})) - set(READ_KEYS)):
        raise InputError(f"the table read has no key {unknown[0]!r}; choose from {', '.join(READ_KEYS)}")
