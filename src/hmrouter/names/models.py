"""Facts about models beside their names: who makes one, which line it belongs to, how big and how old it is.

    [vendors]
    our-lab = ["our-llama"]                     # vendor = what the names of its models begin with
    [models]
    our-llama-3 = { release = "2026-01", size = "small" }       # also vendor and family; all optional

The shipped table (`data/models.toml`) and a user's file have this layout; what neither says follows from the name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError
from hmrouter.names import canonical_model
from hmrouter.names.aliases import build_from_toml, read_toml
from hmrouter.names.rules import slug

KEYS = ("vendor", "family", "size", "release")
SIZES = ("small", "large")
SMALL_UP_TO = 40
"""Billions of parameters."""

_SMALL_WORDS = frozenset({"flash", "haiku", "instant", "lite", "micro", "mini", "nano", "small", "tiny"})
_NOT_FAMILY = frozenset(
    {"base", "beta", "chat", "exp", "experimental", "fp8", "free", "hf", "instruct", "it", "latest", "next", "preview"}
    | {"reasoner", "reasoning", "thinking", "turbo"}
)
_EFFORT = re.compile(r"(?:[-:](?:minimal|low|medium|high|xhigh|thinking))+$")
_LETTERS = re.compile(r"[^\W\d_]+")
_VERSION = re.compile(r"v?\d.*|[ae]\d+b")  # 4, 4o, 0528, v3, 32b; a35b and e4b count active parameters
_PARAMETERS = re.compile(r"e?(?:([0-9]{1,4})x)?([0-9]{1,4})b")
_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts about one model."""

    vendor: str
    """Who makes it; if nobody knows, the first word of its name."""
    family: str
    """The line of models that it is a version of: `claude-opus`, `gpt-codex`, `qwen-coder`."""
    size: str
    """`small` or `large`."""
    release: float | None
    """Year and month of its release, 2025.5 for July 2025; None if nothing is known of its vendor either."""


class ModelTable:
    """The shipped table of models, with a user's entries laid over it.

    >>> table = ModelTable({"vendors": {"our-lab": ["our-llama"]}, "models": {"our-llama-3": {"release": "2026-01"}}})
    >>> table.info("our-llama-3")
    ModelInfo(vendor='our-lab', family='our-llama', size='large', release=2026.0)
    >>> table.info("our-llama-4-8b")
    ModelInfo(vendor='our-lab', family='our-llama', size='small', release=2026.0)
    """

    def __init__(self, extra: Mapping[str, Any] | None = None) -> None:
        """`extra` has the layout of the file; what it says wins over the shipped table, key by key."""
        vendors, models = _shipped()
        more_vendors, more_models = _checked(extra or {})
        self._vendors = {**vendors, **more_vendors}
        self._models = {name: {**models.get(name, {}), **more_models.get(name, {})} for name in {*models, *more_models}}
        self._latest: dict[tuple[str, ...], float] = {}  # by (vendor, family) and by (vendor,)
        for name, entry in self._models.items():
            if "release" in entry:
                vendor, family = self._line(name, entry)
                for key in ((vendor, family), (vendor,)):
                    self._latest[key] = max(_year(entry["release"]), self._latest.get(key, 0.0))

    @staticmethod
    @cache
    def shipped() -> ModelTable:
        """The table that comes with the package."""
        return ModelTable()

    @classmethod
    def from_toml(cls, path: str | Path) -> ModelTable:
        """The shipped table, with the entries of a TOML file laid over it."""
        return build_from_toml(path, cls)

    @property
    def known(self) -> frozenset[str]:
        """The canonical names of all models that have an entry."""
        return frozenset(self._models)

    def info(self, name: str) -> ModelInfo:
        """Describe a model, by its entry or else by its name; never fails.

        Without a release of its own a model counts as new: as old as the latest of its family, or of its vendor.
        """
        canonical = canonical_model(name)
        # A model at another effort is the same model.
        entry = {**self._models.get(without_effort(canonical), {}), **self._models.get(canonical, {})}
        vendor, family = self._line(canonical, entry)
        if "release" in entry:
            release: float | None = _year(entry["release"])
        else:
            release = self._latest.get((vendor, family), self._latest.get((vendor,)))
        return ModelInfo(vendor, family, entry.get("size") or _size(canonical), release)

    def _line(self, name: str, entry: Mapping[str, str]) -> tuple[str, str]:
        """Find vendor and family."""
        return entry.get("vendor") or self._vendor(name), entry.get("family") or _family(name)

    def _vendor(self, name: str) -> str:
        begins = [prefix for prefix in self._vendors if _begins_with(name, prefix)]
        return self._vendors[max(begins, key=len)] if begins else _first_word(name)


def describe_model(canonical_name: str, table: ModelTable | None = None) -> ModelInfo:
    """Describe a model, by the shipped table unless another one is given.

    >>> describe_model("claude-opus-4-5")
    ModelInfo(vendor='anthropic', family='claude-opus', size='large', release=2025.8333333333333)
    >>> describe_model("gpt-7-mini").family, describe_model("gemma-5-27b").size
    ('gpt-mini', 'small')
    """
    return (table or ModelTable.shipped()).info(canonical_name)


def _words(name: str) -> list[str]:
    return re.split("[-:]", name)


def _begins_with(name: str, prefix: str) -> bool:
    """Compare in whole words and numbers: gpt begins gpt4 and gpt-4, but not gpts; llama-3 does not begin llama-30."""
    return re.match(rf"{re.escape(prefix)}(?![^\W\d_]|(?<=\d)\d)", name) is not None


def _first_word(name: str) -> str:
    """Leave out the version: starcoder2 and starcoder3 are of one vendor."""
    word = _words(name)[0]
    letters = _LETTERS.match(word)
    return letters[0] if letters else word or "unknown"


def _family(name: str) -> str:
    first, *rest = _words(without_effort(name))
    kept = [_LETTERS.match(word) for word in rest if word not in _NOT_FAMILY and not _VERSION.fullmatch(word)]
    return "-".join([_first_word(first), *(letters[0] for letters in kept if letters)])  # the k of k2 stays


def without_effort(name: str) -> str:
    """Leave out an effort, which follows a version: gpt-5-medium has one, mistral-medium is a model of its own."""
    shorter = _EFFORT.sub("", name)
    return shorter if re.search(r"\d", shorter) else name


def _size(name: str) -> str:
    words = _words(name)
    counts = [int(found[1] or 1) * int(found[2]) for word in words if (found := _PARAMETERS.fullmatch(word))]
    small = not _SMALL_WORDS.isdisjoint(words) or (counts and max(counts) <= SMALL_UP_TO)
    return "small" if small else "large"


def _year(month: str) -> float:
    """Turn a month into years: 2025-07 -> 2025.5."""
    year, _, number = month.partition("-")
    return int(year) + (int(number) - 1) / 12


def _checked(table: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Prefix -> vendor and canonical name -> entry, of a table in the layout of the file."""
    if unknown := sorted(set(table) - {"vendors", "models"}):
        raise InputError(f"a model file has no key {unknown[0]!r}; choose from vendors, models")
    for section in ("vendors", "models"):
        if not isinstance(table.get(section, {}), Mapping):
            raise InputError(f"{section} must be a table, got {table[section]!r}")
    vendors: dict[str, str] = {}
    for vendor, prefixes in table.get("vendors", {}).items():
        if not isinstance(prefixes, list | tuple) or not all(
            isinstance(p, str) and slug(p) for p in (vendor, *prefixes)
        ):
            raise InputError(f"vendors.{vendor} must be a list of what its models' names begin with, got {prefixes!r}")
        for prefix in map(slug, prefixes):
            if (owner := vendors.setdefault(prefix, slug(vendor))) != slug(vendor):
                raise InputError(
                    f"names with {prefix!r} are given to both {owner!r} and {vendor!r}; keep one of the two"
                )
    models: dict[str, dict[str, str]] = {}
    for name, entry in table.get("models", {}).items():
        canonical = canonical_model(name)
        if canonical in models:
            raise InputError(f"model {canonical!r} is described twice, the second time as {name!r}; keep one")
        models[canonical] = _checked_entry(name, entry)
    return vendors, models


def _checked_entry(name: str, entry: object) -> dict[str, str]:
    if not isinstance(entry, Mapping):
        raise InputError(f'models.{name} must be a table like {{ release = "2026-01" }}, got {entry!r}')
    if unknown := sorted(set(entry) - set(KEYS)):
        hint = "; a name with a dot needs quotes" if isinstance(entry[unknown[0]], Mapping) else ""
        raise InputError(f"model {name!r} has no key {unknown[0]!r}; choose from {', '.join(KEYS)}{hint}")
    for key, value in entry.items():
        if not isinstance(value, str) or not slug(value):
            raise InputError(f"{key} of model {name!r} must be a text, got {value!r}")
        if key == "size" and value not in SIZES:
            raise InputError(f"size {value!r} of model {name!r} is not known; choose from {', '.join(SIZES)}")
        if key == "release" and not _MONTH.fullmatch(value):
            raise InputError(f'release {value!r} of model {name!r} is not a month; write it like "2026-01"')
    return {key: value if key == "release" else slug(value) for key, value in entry.items()}


@cache
def _shipped() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    return _checked(read_toml(files("hmrouter.data") / "models.toml"))
