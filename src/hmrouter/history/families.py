"""Suites that share tasks are one family: what was seen of a task in one of them is no news in the other."""

from __future__ import annotations

from collections.abc import Mapping, Set

SHARED = 0.3
"""From this share of the smaller suite's tasks on, two suites are of one family."""


def family_of_suites(tasks: Mapping[str, Set[str]]) -> dict[str, str]:
    """Suite -> family, named after its first suite; `tasks` holds what identifies each suite's tasks, such as ids.

    >>> family_of_suites({"lite": {"a", "b"}, "full": {"a", "b", "c", "d"}, "other": {"x"}})
    {'full': 'full', 'lite': 'full', 'other': 'other'}
    """
    family: dict[str, str] = {}
    for suite in sorted(tasks):
        near = [other for other in family if _shared(tasks[suite], tasks[other]) >= SHARED]
        joined = min((family[other] for other in near), default=suite)
        for other in [o for o in family if family[o] in {family[n] for n in near}]:
            family[other] = joined
        family[suite] = joined
    return family


def _shared(a: Set[str], b: Set[str]) -> float:
    return len(a & b) / max(1, min(len(a), len(b)))
