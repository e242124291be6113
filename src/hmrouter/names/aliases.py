"""Alias files: the spellings that no rule can know.

    providers = ["my-gateway"]           # prefixes to drop: my-gateway/gpt-5
    [models]
    our-llama = ["llama-ft-v3"]          # canonical name = other spellings of it
    [harnesses]
    our-agent = []                       # no other spelling, just known

A spelling is matched without regard to case and separators, before the rules apply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

from hmrouter.errors import InputError
from hmrouter.toml import TOML_LIMIT, parse_toml

Built = TypeVar("Built")

KEYS = ("providers", "models", "harnesses")


def read_toml(path: Path | Traversable) -> dict[str, Any]:
    """Read a TOML file as a dictionary; whatever is wrong with the file is one `InputError`."""
    try:
        with path.open("rb") as file:
            content = file.read(TOML_LIMIT + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    return parse_toml(content, str(path))


def build_from_toml(path: str | Path, make: Callable[[dict[str, Any]], Built]) -> Built:
    """Build a value from a user's TOML file with `make`; an error in it names the file."""
    table = read_toml(Path(path))
    try:
        return make(table)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


@dataclass(frozen=True, slots=True)
class Aliases:
    """The content of an alias file, checked.

    >>> Aliases.of({"models": {"our-llama": ["llama-ft-v3"]}}).models
    {'our-llama': ['llama-ft-v3']}
    """

    providers: Sequence[str] = ()
    models: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Canonical name -> its other spellings."""
    harnesses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Canonical name -> its other spellings."""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Aliases:
        """Check a table of this layout."""
        if unknown := sorted(set(table) - set(KEYS)):
            raise InputError(f"an alias file has no key {unknown[0]!r}; choose from {', '.join(KEYS)}")
        if not _are_names(table.get("providers", [])):
            raise InputError("providers must be a list of names")
        for kind in ("models", "harnesses"):
            section = table.get(kind, {})
            if not isinstance(section, Mapping):
                raise InputError(f"{kind} must be a table of lines like our-name = ['other spelling']")
            for name, spellings in section.items():
                if not _are_names([name]) or not _are_names(spellings):
                    raise InputError(f"{kind}.{name} must be a list of names, got {spellings!r}")
        return cls(**table)

    @staticmethod
    @cache
    def shipped() -> Aliases:
        """The aliases that come with the package."""
        return Aliases.of(read_toml(files("hmrouter.data") / "aliases.toml"))


def _are_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) and item.strip() for item in value)
