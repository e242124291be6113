"""Which routes of a pool something is known of: a route is ranked only if its model and its harness are.

Known is what was run here or on other suites, and what the shipped tables describe. Everything else is a name: what a
scorer says about it is what it says about anything.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from hmrouter.errors import NoRoute
from hmrouter.names.models import without_effort
from hmrouter.types import Route, UnknownRoute

ALIKE = 0.6
"""How alike, from 0 to 1, a known name must be spelled to be suggested."""
SHOWN = 3
"""How many routes an error names."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The models and harnesses of which something is known."""

    models: frozenset[str]
    harnesses: frozenset[str]
    described_models: frozenset[str] = frozenset()
    """Known from a table alone: they were run nowhere."""
    described_harnesses: frozenset[str] = frozenset()

    @classmethod
    def of(cls, routes: Iterable[Route], models: Collection[str], harnesses: Collection[str]) -> KnownNames:
        """Take the names of routes that were run, and those that are described."""
        ran = list(routes)
        return cls(
            frozenset(r.model for r in ran), frozenset(r.harness for r in ran), frozenset(models), frozenset(harnesses)
        )

    def divide(self, routes: Sequence[Route]) -> tuple[tuple[Route, ...], tuple[UnknownRoute, ...]]:
        """Divide a pool into what can be ranked and what is unknown; raise `NoRoute` if nothing is left.

        >>> names = KnownNames.of([Route("gpt-5", "codex")], ["claude-sonnet-4-5"], ["claude-code"])
        >>> ranked, unknown = names.divide([Route("gpt-5", "codex"), Route("claude-sonnet-9", "codex")])
        >>> [str(r) for r in ranked], unknown[0].what, unknown[0].near
        (['codex:gpt-5'], 'model', 'claude-sonnet-4-5')
        """
        unknown = {r: self._unknown(r) for r in routes}
        ranked = tuple(r for r in routes if unknown[r] is None)
        left = tuple(u for u in unknown.values() if u is not None)
        if left and not ranked:
            named = "; ".join(in_words(u) for u in left[:SHOWN]) + (" ..." if len(left) > SHOWN else "")
            raise NoRoute(f"nothing is known of any route of the pool ({named})", hint="widen_pool")
        return ranked, left

    def _unknown(self, route: Route) -> UnknownRoute | None:
        parts = {
            "model": (route.model, self.models, self.described_models),
            "harness": (route.harness, self.harnesses, self.described_harnesses),
        }
        missing = [kind for kind, (name, *known) in parts.items() if not any(_has(names, name) for names in known)]
        if not missing:
            return None
        name, ran, described = parts[missing[0]]
        near = difflib.get_close_matches(name, sorted(ran), 1, ALIKE) or difflib.get_close_matches(
            name, sorted(described), 1, ALIKE
        )
        return UnknownRoute(route, " and ".join(missing), near[0] if near else "")


def _has(names: Collection[str], name: str) -> bool:
    """Tell whether a name is among others; a model at another effort is the same model."""
    return name in names or without_effort(name) in names


def in_words(unknown: UnknownRoute) -> str:
    """Say what is unknown of a route.

    >>> in_words(UnknownRoute(Route("claude-sonnet-9", "codex"), "model", "claude-sonnet-4-5"))
    "codex:claude-sonnet-9: nothing is known of its model; did you mean 'claude-sonnet-4-5'?"
    """
    asked = f"; did you mean {unknown.near!r}?" if unknown.near else ""
    return f"{unknown.route}: nothing is known of its {unknown.what}{asked}"
