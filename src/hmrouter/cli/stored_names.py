"""The names that a store was told, for an import that is given none."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress

from hmrouter.errors import HMRouterError
from hmrouter.names import Names
from hmrouter.store import OutcomeStore

SECTIONS = {"model": "models", "harness": "harnesses"}


def names_of(store: str) -> Names:
    """Return the package's names with those that a person gave to the store; a store that is not there is not made."""
    given: dict[str, dict[str, list[str]]] = {section: defaultdict(list) for section in SECTIONS.values()}
    with suppress(HMRouterError), OutcomeStore(store, create=False) as kept:
        for each in kept.spellings():
            if each.given:
                given[SECTIONS[each.kind]][each.name].append(each.spelling)
        return Names(given)  # refused where two names claim one spelling in different letters: then the store decides
    return Names()
