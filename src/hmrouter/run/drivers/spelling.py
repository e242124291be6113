"""The way back from canonical model names to those that services and harnesses use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from hmrouter.names import canonical_model
from hmrouter.names.prices import MAKERS

EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
"""What users write behind a model's name, as in `gpt-5 (high)`; least first."""

_EFFORT = re.compile(rf"^(.+?)[-:]({'|'.join(EFFORTS)})$")
_DOTTED = re.compile(r"(?<=\d)-(?=\d+(?:-|$))")


def split_effort(model: str) -> tuple[str, str | None]:
    """Part a canonical name from the effort at its end, unless that belongs to the name of a model on sale.

    >>> split_effort("gpt-5-high"), split_effort("gpt-5"), split_effort("qwen-max")
    (('gpt-5', 'high'), ('gpt-5', None), ('qwen-max', None))
    """
    name = canonical_model(model)
    found = _EFFORT.match(name)
    if found is None or maker_of(name):
        return name, None
    # A name that ends so by chance stays whole: only a model that is known without it has an effort.
    return (found[1], found[2]) if maker_of(found[1]) else (name, None)


def maker_of(model: str) -> str | None:
    """The service that sells a model which it made; None where no price list has the model.

    >>> maker_of("claude-sonnet-4-5"), maker_of("gpt-5"), maker_of("our-own")
    ('anthropic', 'openai', None)
    """
    name = canonical_model(model)
    return next((maker for maker in MAKERS if name in _sold_by(maker)), None)


def maker_spelling(model: str, maker: str) -> str | None:
    """What a maker calls a model; None where it is none of its models.

    >>> maker_spelling("claude-sonnet-3-7", "anthropic"), maker_spelling("gpt-5-1-codex", "openai")
    ('claude-3-7-sonnet-latest', 'gpt-5.1-codex')
    >>> maker_spelling("gpt-5", "anthropic") is None
    True
    """
    name = canonical_model(model)
    listed = _sold_by(maker).get(name)
    if listed:
        return listed
    # Newer than the price list: the maker's way to write its names.
    if maker == "anthropic" and name.startswith("claude-"):
        return name
    if maker == "openai" and re.match(r"gpt-\d|o\d|codex-", name):
        return dotted(name)
    return None


def plain_spelling(model: str) -> str:
    """What its maker calls a model; as it is written where no price list has it.

    >>> plain_spelling("kimi-k2-5"), plain_spelling("our-own")
    ('kimi-k2.5', 'our-own')
    """
    maker = maker_of(model)
    return (maker_spelling(model, maker) if maker else None) or model


def provider_spelling(model: str, providers: Mapping[str, str]) -> str | None:
    """Spell a model as `provider/name`; None where none of the providers (maker -> its name there) made it.

    >>> provider_spelling("gemini-2-5-pro", {"google": "gemini"}), provider_spelling("gpt-5", {"google": "gemini"})
    ('gemini/gemini-2.5-pro', None)
    """
    maker = maker_of(model)
    return f"{providers[maker]}/{plain_spelling(model)}" if maker and maker in providers else None


def dotted(name: str) -> str:
    """Write a version with a dot, as OpenAI and GitHub do.

    >>> dotted("gpt-5-1-codex-max"), dotted("claude-opus-4-5"), dotted("gpt-5-mini")
    ('gpt-5.1-codex-max', 'claude-opus-4.5', 'gpt-5-mini')
    """
    return _DOTTED.sub(".", name, count=1)


@cache
def _sold_by(maker: str) -> dict[str, str]:
    """Canonical name -> the maker's id; of several ids the shortest, which is the one without a date."""
    from genai_prices.data import providers

    ids = [info.id for provider in providers if provider.id == maker for info in provider.models]
    found: dict[str, str] = {}
    for name in sorted(ids, key=len, reverse=True):
        found[canonical_model(name)] = name
    return found
