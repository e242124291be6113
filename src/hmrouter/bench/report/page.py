"""Holds a report: what was run, what was left out, and the tables and figures of each experiment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hmrouter.bench.report.parts import Figure, ReportTable

BESIDE = ("random", "fixed", "oracle")
"""What a number is held against."""
MEANINGS = (
    "Random picks any route. Fixed is the one route that did best on the training tasks, used for every task: a router "
    "that does not beat it is worse than no router. Oracle knows every outcome before it chooses: no method can do "
    "better."
)


def reading_hint(absent: Sequence[str] = ()) -> str:
    """How to read a report, from which some of Random, Fixed and Oracle may be absent.

    >>> reading_hint().partition(". ")[0]
    'Random, Fixed and Oracle stand beside every method whose choices are judged'
    >>> reading_hint(["random", "oracle"]).partition(". ")[0]
    'Not in this report, or not in all of it, as the methods were chosen: Random and Oracle'
    """
    if absent:
        missing = " and ".join(method.capitalize() for method in absent)
        beside = f"Not in this report, or not in all of it, as the methods were chosen: {missing}."
    else:
        beside = "Random, Fixed and Oracle stand beside every method whose choices are judged."
    return f"{beside} {MEANINGS}"


@dataclass(frozen=True, slots=True)
class Section:
    """One experiment's part of the report."""

    name: str
    title: str
    tables: Sequence[ReportTable] = ()
    figures: Sequence[Figure] = ()
    line: str = ""
    """The main finding in one sentence, if there is one."""


@dataclass(frozen=True, slots=True)
class Page:
    """Everything a report shows; the writers add nothing of their own."""

    title: str
    command: str
    """The exact command line that makes this report again."""
    created: str
    """Date and time, as they shall be read."""
    settings: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    """Per benchmark, the hash of what was read."""
    left_out: Sequence[str] = ()
    """What did not run, or is not shown, and why."""
    sections: Sequence[Section] = ()
    absent: Sequence[str] = ()
    """Those of Random, Fixed and Oracle without which an experiment was run."""


def figure_files(page: Page) -> list[list[str]]:
    """Per section, the names of its figures' files without ending: safe as file names, no two alike.

    >>> from hmrouter.bench.report.parts import Figure
    >>> curve = Figure("curve of a/b", "", "lines", "", "", [])
    >>> figure_files(Page("", "", "", sections=[Section("cost", "", figures=[curve, curve])]))
    [['curve-of-a-b', 'curve-of-a-b-2']]
    """
    taken: set[str] = set()
    return [[_unused(_safe(figure.name), taken) for figure in section.figures] for section in page.sections]


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip(".-")[:80] or "figure"


def _unused(name: str, taken: set[str]) -> str:
    # Compared in lower case: some file systems do not tell the cases apart.
    unused, n = name, 1
    while unused.lower() in taken:
        n += 1
        unused = f"{name}-{n}"
    taken.add(unused.lower())
    return unused
