"""Which suites share tasks: they are one family, because a task seen in one of them is no news in the other.

Suites whose tasks are known are compared by these. A published table has no tasks: it is known by its suite's name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from hmrouter.history.records import Record
from hmrouter.types import Task, text_hash

SHARED = 0.3
"""From this share of the smaller suite's tasks on, two suites are of one family."""


def families_of_suites(tasks: Mapping[str, Iterable[Task]], published: Iterable[Record] = ()) -> dict[str, str]:
    """Group suites by the tasks they share: suite -> family, named as a published one that is named like a member.

    Tasks are the same where their ids are, unless those are bare numbers, or where their texts are.
    """
    known = {suite: list(of) for suite, of in tasks.items()}
    by_id = families_by_overlap({s: {t.id for t in of if not t.id.isdigit()} for s, of in known.items()})
    by_text = families_by_overlap({s: {_text(t) for t in of} - {""} for s, of in known.items()})
    # One of the two in common is half of what there is to share, which is enough.
    joined = families_by_overlap({s: {f"id {by_id[s]}", f"text {by_text[s]}"} for s in known})
    names = sorted({(r.suite, r.family) for r in published})
    members: dict[str, list[str]] = {}
    for suite, family in joined.items():
        members.setdefault(family, []).append(suite)
    for group in members.values():
        like = [f for s, f in names if any(_named_alike(own, s) or _named_alike(own, f) for own in group)]
        joined |= dict.fromkeys(group, like[0]) if like else {}
    return joined


def own_families(suites: Collection[str], records: Sequence[Record]) -> frozenset[str]:
    """Find the families that these suites belong to: results of those are no news about them.

    Records of own outcomes say of which family a suite is. A published table is known by its name: `swe-bench-lite`
    is of the family swe-bench, and `gaia` is what some `gaia_hal` reports.

    >>> from hmrouter.history.public import shipped
    >>> sorted(own_families(["SWE-bench Lite", "Mind2Web"], shipped()))
    ['online_mind2web', 'swe-bench']
    """
    own = {r.family for r in records if not r.source and r.suite in suites}
    names = {*suites, *(r.suite for r in records if not r.source and r.family in own)}
    published = {(r.suite, r.family) for r in records if r.source}
    return frozenset(own | {f for s, f in published if any(_named_alike(n, s) or _named_alike(n, f) for n in names)})


def families_by_overlap(tasks: Mapping[str, Set[str]]) -> dict[str, str]:
    """Group suites by shared identities of tasks, such as ids: suite -> family, named after its first suite.

    >>> families_by_overlap({"lite": {"a", "b"}, "full": {"a", "b", "c", "d"}, "other": {"x"}})
    {'full': 'full', 'lite': 'full', 'other': 'other'}
    """
    family: dict[str, str] = {}
    for suite in sorted(tasks):
        near = [other for other in family if _overlap(tasks[suite], tasks[other]) >= SHARED]
        joined = min((family[other] for other in near), default=suite)
        for other in [o for o in family if family[o] in {family[n] for n in near}]:
            family[other] = joined
        family[suite] = joined
    return family


def _overlap(a: Set[str], b: Set[str]) -> float:
    return len(a & b) / max(1, min(len(a), len(b)))


def _text(task: Task) -> str:
    return task.text_hash or (text_hash(task.text) if task.text else "")


def _named_alike(own: str, other: str) -> bool:
    """Whether a suite is named like a published one: it contains the name, or is most of it in whole words."""
    mine, theirs = _words(own), _words(other)
    name, published = "".join(mine), "".join(theirs)
    if published in name:
        return len(published) >= 4 or published == name
    most = 2 * len(name) > len(published)
    return most and any(theirs[i : i + len(mine)] == mine for i in range(len(theirs)))


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", name.lower())
