"""The pool: which routes may be used now. A TOML file, a product of components, allow and deny rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, NoRoute, UnknownName, UsageError
from hmrouter.names import canonical_harness, canonical_model
from hmrouter.toml import TOML_LIMIT, parse_toml
from hmrouter.types import Route


def canonical_route(text: str) -> Route:
    """Read `harness:model` with canonical names.

    >>> str(canonical_route("Claude Code:anthropic/claude-opus-4.5"))
    'claude-code:claude-opus-4-5'
    """
    route = Route.parse(text)
    return Route(model=canonical_model(route.model), harness=canonical_harness(route.harness))


def read_pool(path: str | Path) -> tuple[Route, ...]:
    """Read a pool file: `routes = [...]`, or `models`, `harnesses` and `except` for a product."""
    try:
        with open(path, "rb") as f:
            content = f.read(TOML_LIMIT + 1)
    except OSError as e:
        raise InputError(f"cannot read the pool file {path}: {e.strerror or e}") from e
    document = parse_toml(content, f"the pool file {path}")
    try:
        return parse_pool(document)
    except (InputError, UsageError) as e:
        raise InputError(f"the pool file {path}: {e}") from e


def parse_pool(content: dict[str, Any]) -> tuple[Route, ...]:
    """List the routes that a pool file's content describes, each once.

    >>> [str(r) for r in parse_pool({"models": ["gpt-5"], "harnesses": ["Codex", "aider"], "except": ["aider:gpt-5"]})]
    ['codex:gpt-5']
    """
    valid = ("routes", "models", "harnesses", "except")
    for key, value in content.items():
        if key not in valid:
            raise UnknownName("key", key, valid, "a pool file")
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InputError(f"{key!r} must be a list of strings")
    routes = [canonical_route(r) for r in content.get("routes", [])]
    if ("models" in content) != ("harnesses" in content):
        raise InputError("'models' and 'harnesses' go together: the pool is their product")
    harnesses = [canonical_harness(h) for h in content.get("harnesses", [])]
    routes += [Route(canonical_model(m), h) for m in content.get("models", []) for h in harnesses]
    left_out = {canonical_route(r) for r in content.get("except", [])}
    for route in sorted(left_out - set(routes)):
        raise UnknownName("route", str(route), map(str, routes), "the pool, so it cannot be excepted")
    pool = tuple(r for r in dict.fromkeys(routes) if r not in left_out)
    if not pool:
        raise InputError("the pool is empty; give 'routes', or 'models' and 'harnesses'")
    return pool


@dataclass(frozen=True, slots=True)
class Rule:
    """One allow or deny rule: models, harnesses or a whole route."""

    kind: str
    names: frozenset[str]
    """The names as they were written, not yet canonical."""

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read `model=a,b`, `harness=a,b` or `harness:model`."""
        kind, equals, names = text.partition("=")
        values = {n.strip() for n in names.split(",") if n.strip()}
        if equals and kind.strip() in ("model", "harness") and values:
            return cls(kind.strip(), frozenset(values))
        try:
            return cls("route", frozenset({str(Route.parse(text))}))
        except UsageError:
            raise UsageError(f"{text!r} is not a rule; write model=NAME, harness=NAME,NAME or harness:model") from None

    def within(self, pool: Iterable[Route]) -> frozenset[Route]:
        """Find the routes that the rule names; a name that the pool does not have is refused, as it may be a slip."""
        by_name: dict[str, set[Route]] = {}
        for route in pool:
            by_name.setdefault(self._name(route), set()).add(route)
        found: set[Route] = set()
        for name in sorted(self.names):
            # As written first: names that did not come through a log need not be canonical.
            match = by_name.get(name) or by_name.get(self._canonical(name))
            if match is None:
                raise UnknownName(self.kind, name, by_name, "the pool")
            found |= match
        return frozenset(found)

    def _name(self, route: Route) -> str:
        return str(route) if self.kind == "route" else str(getattr(route, self.kind))

    def _canonical(self, name: str) -> str:
        if self.kind == "route":
            return str(canonical_route(name))
        return canonical_model(name) if self.kind == "model" else canonical_harness(name)


def select(pool: Sequence[Route], allow: Iterable[str] = (), deny: Iterable[str] = ()) -> tuple[Route, ...]:
    """Select the routes of a pool that the rules leave.

    Allow rules of one kind add up, those of different kinds must all hold; deny always wins.

    >>> pool = [Route("gpt-5", "codex"), Route("gpt-5", "aider"), Route("o3", "codex")]
    >>> [str(r) for r in select(pool, allow=["model=gpt-5"], deny=["harness=aider"])]
    ['codex:gpt-5']
    """
    if not pool:
        raise NoRoute("the pool is empty; give at least one route")
    allowed: dict[str, set[Route]] = {}
    for rule in map(Rule.parse, allow):
        allowed.setdefault(rule.kind, set()).update(rule.within(pool))
    denied: set[Route] = set().union(*(Rule.parse(text).within(pool) for text in deny))
    if not allowed and not denied:
        return tuple(pool)
    left = tuple(r for r in pool if r not in denied and all(r in routes for routes in allowed.values()))
    if not left:
        raise NoRoute(f"none of the {len(pool)} routes of the pool is left by the allow and deny rules; loosen them")
    return left
