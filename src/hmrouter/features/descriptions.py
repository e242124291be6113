"""Descriptions of harnesses: the part of a harness vector that needs no outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError
from hmrouter.names import canonical_harness
from hmrouter.names.aliases import read_toml


class HarnessDescriptions:
    """The shipped catalogue of harness descriptions, with a user's additions laid over it.

    >>> texts = HarnessDescriptions({"Our Agent": "A shell loop for our build farm."})
    >>> texts.text("our-agent"), texts.text("nobody-knows-it")
    ('A shell loop for our build farm.', 'nobody-knows-it')
    >>> texts.family("Claude Code")
    'terminal-cli'
    """

    def __init__(self, extra: Mapping[str, str] | None = None) -> None:
        """`extra` maps the names of harnesses to their descriptions."""
        tables = {name: {"text": text} for name, text in (extra or {}).items()}
        self._entries = {**_shipped(), **_checked(tables)}

    @classmethod
    def from_toml(cls, path: str | Path) -> HarnessDescriptions:
        """Additions from a TOML file: a table `[our-agent]` per harness, with `text` and, if you like, `family`."""
        table = read_toml(Path(path))
        descriptions = cls()
        try:
            descriptions._entries |= _checked(table)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        return descriptions

    def text(self, harness: str) -> str:
        """The description of a harness; one without any gets its name."""
        entry = self._entries.get(canonical_harness(harness))
        return harness if entry is None else entry["text"]

    def family(self, harness: str) -> str | None:
        """The design family of a harness, None if it is not known."""
        return self._entries.get(canonical_harness(harness), {}).get("family")

    def general(self, harness: str) -> bool:
        """Whether a harness can be given any task; some were written for the tasks of one benchmark.

        >>> HarnessDescriptions().general("codex"), HarnessDescriptions().general("scicode-zero-shot-agent")
        (True, False)
        """
        return self.family(harness) != "benchmark-specific"

    @property
    def extra(self) -> dict[str, str]:
        """The user's additions: what a router file must keep because the catalogue does not have it."""
        shipped = _shipped()
        return {name: entry["text"] for name, entry in self._entries.items() if shipped.get(name) != entry}

    def known(self) -> frozenset[str]:
        """The canonical names of all harnesses that have a description."""
        return frozenset(self._entries)


def _checked(table: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    entries: dict[str, dict[str, str]] = {}
    for name, entry in table.items():
        if not isinstance(entry, Mapping):
            raise InputError(f"{name} must be a table like [{name}] with a text, got {entry!r}")
        if unknown := sorted(set(entry) - {"text", "family"}):
            raise InputError(f"harness {name!r} has no key {unknown[0]!r}; choose from text, family")
        texts = {key: " ".join(value.split()) for key, value in entry.items() if isinstance(value, str)}
        if not texts.get("text") or len(texts) < len(entry):
            raise InputError(f"harness {name!r} needs a text, and text and family must be strings; got {dict(entry)!r}")
        canonical = canonical_harness(name)
        if canonical in entries:
            raise InputError(f"harness {canonical!r} is described twice, the second time as {name!r}; keep one")
        entries[canonical] = texts
    return entries


@cache
def _shipped() -> Mapping[str, dict[str, str]]:
    return _checked(read_toml(files("hmrouter.data") / "harnesses.toml"))
