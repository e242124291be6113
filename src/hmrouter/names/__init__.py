"""Canonical names: one model or harness written in ten ways is one thing.

A canonical name is lower case words joined by dashes (`claude-opus-4-1`, `mini-swe-agent`). A model's may also hold a
colon in front of a variant or size tag (`claude-sonnet-3-7:thinking`, `qwen-3:8b`), because the tag tells models
apart; a harness's never does, because the colon separates harness and model in a route.

    rules.py     the rules: providers and release dates are dropped, Claude's family precedes its version
    aliases.py   the exceptions: reads `data/aliases.toml`, and a user's file of the same layout
    spellings.py both put together: any spelling -> canonical name, and whether it is known
    similar.py   names that may be two spellings of one thing, for a person to decide

A name that no table knows is kept in its regular form and counted, never dropped.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from hmrouter.names.aliases import Aliases, build_from_toml
from hmrouter.names.rules import harness_forms, model_forms, slug
from hmrouter.names.spellings import Spellings

__all__ = ["Names", "canonical_harness", "canonical_model", "edition"]


def canonical_model(name: str) -> str:
    """Give the canonical name of a model, by the rules and the shipped aliases.

    >>> canonical_model("anthropic/claude-3-7-sonnet-20250219"), canonical_model("Claude 3.7 Sonnet (February 2025)")
    ('claude-sonnet-3-7', 'claude-sonnet-3-7')
    """
    return _shipped_tables()[0].resolve(name)[0]


def canonical_harness(name: str) -> str:
    """Give the canonical name of a harness, by the rules and the shipped aliases.

    >>> canonical_harness("HAL Generalist"), canonical_harness("Terminus 2")
    ('hal-generalist-agent', 'terminus-2')
    """
    return _shipped_tables()[1].resolve(name)[0]


@cache
def edition() -> str:
    """Identify the rules and the shipped aliases: whoever keeps names that they made knows when to make them anew."""
    parts = (files("hmrouter.data") / "aliases.toml", files("hmrouter.names") / "rules.py")
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:16]


class Names:
    """Canonical names with a user's own aliases, and a count of every name that no table knows.

    >>> names = Names({"models": {"our-llama": ["llama-ft-v3"]}})
    >>> names.model("Llama_FT-v3"), names.model("GPT-5.5"), names.model("llama-ft-v4")
    ('our-llama', 'gpt-5-5', 'llama-ft-v4')
    >>> names.unknown_models
    Counter({'llama-ft-v4': 1})
    """

    def __init__(self, extra: Mapping[str, Any] | None = None) -> None:
        """`extra` has the layout of an alias file and wins over the shipped one."""
        self._models, self._harnesses = (
            _shipped_tables() if extra is None else _tables(Aliases.shipped(), Aliases.of(extra))
        )
        self.unknown_models: Counter[str] = Counter()
        """How often `model` met a name that is in no table, by its canonical form."""
        self.unknown_harnesses: Counter[str] = Counter()
        """How often `harness` met a name that is in no table, by its canonical form."""

    @classmethod
    def from_toml(cls, path: str | Path) -> Names:
        """Lay the aliases of a TOML file over the shipped ones."""
        return build_from_toml(path, cls)

    @property
    def known_models(self) -> frozenset[str]:
        """The canonical names of all models in the tables."""
        return self._models.known

    @property
    def known_harnesses(self) -> frozenset[str]:
        """The canonical names of all harnesses in the tables."""
        return self._harnesses.known

    def model(self, name: str) -> str:
        """Give the canonical name of a model; one that is not known is counted in `unknown_models`."""
        canonical, known = self._models.resolve(name)
        if not known:
            self.unknown_models[canonical] += 1
        return canonical

    def harness(self, name: str) -> str:
        """Give the canonical name of a harness; one that is not known is counted in `unknown_harnesses`."""
        canonical, known = self._harnesses.resolve(name)
        if not known:
            self.unknown_harnesses[canonical] += 1
        return canonical


def _tables(*layers: Aliases) -> tuple[Spellings, Spellings]:
    """The tables of models and of harnesses; a later layer wins over an earlier one."""
    providers = frozenset(slug(provider) for layer in layers for provider in layer.providers)
    return (
        Spellings("model", partial(model_forms, providers=providers), [layer.models for layer in layers]),
        Spellings("harness", harness_forms, [layer.harnesses for layer in layers]),
    )


@cache
def _shipped_tables() -> tuple[Spellings, Spellings]:
    return _tables(Aliases.shipped())
