"""Versions: a new version of a harness or a model is a new route that borrows from the old one.

The rate of a route on its new version is that on the old one plus a Gaussian step. However often the old version was
run, the step leaves it unsure what the new one does: n outcomes of the old version say as much about the new one as
n k / (k + n) outcomes of its own, at most k, where k is the variance of an outcome over that of the step. So outcomes
of older versions fade, all of a version's alike, and by every step that lies between them and the newest version.

Sources write versions as they like. Of a harness version the release counts, major and minor number; of a model
version its date. An outcome that tells neither is taken as one of the newest version.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from hmrouter.errors import UsageError
from hmrouter.state import Floats, Ints
from hmrouter.types import Outcome

USUAL = 15.0
"""A step as large as pairs usually differ from what their model and their harness suggest: noise .58, pair .04."""
_NUMBER = re.compile(r"(\d+)\.(\d+)(?:\.\w+)*(?:[-+][\w.+-]+)?")
_DATE = re.compile(r"(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")


def release_of(harness_version: str) -> str:
    """Cut a harness version down to its release: patches and builds are left out.

    >>> release_of("v2.0.14"), release_of("inspect_ai 0.3.12 (react)"), release_of("0.55.0-rc.1"), release_of("main")
    ('2.0', 'inspect_ai 0.3 (react)', '0.55', 'main')
    """
    text = " ".join(harness_version.split()).lower()
    return _NUMBER.sub(r"\1.\2", re.sub(r"\bv(?=\d)", "", text), count=1)


def date_of_model(model_version: str) -> str:
    """Find the date in a source's spelling of a model, empty if there is none.

    >>> date_of_model("anthropic/claude-3-7-sonnet-20250219"), date_of_model("gpt-5-2025-08-07"), date_of_model("gpt-5")
    ('20250219', '20250807', '')
    """
    found = _DATE.search(model_version)
    return "".join(found.groups()) if found else ""


def version_weights(outcomes: Sequence[float], at_most: float) -> list[float]:
    """Weigh an outcome of each version for the newest one; `outcomes`: how many each has, the oldest first.

    >>> version_weights([15, 4], 15), version_weights([5, 0, 0], 5)
    ([0.5, 1.0], [0.3333333333333333, 0.6666666666666666, 1.0])
    """
    known, steps = 0.0, []
    for n in outcomes[:-1]:
        known += n
        steps.append(at_most / (at_most + known))
        known *= steps[-1]
    return [math.prod(steps[i:], start=1.0) for i in range(len(outcomes))]


class Versions:
    """Collects the versions of outcomes one by one and weighs the outcomes of older ones."""

    def __init__(self, at_most: float) -> None:
        """`at_most`: so many outcomes of the newest version an older one counts for at most."""
        if not (at_most > 0 and math.isfinite(at_most)):
            raise UsageError(f"old versions cannot count for {at_most} outcomes; give more than 0, usually {USUAL:g}")
        self.at_most = at_most
        self._names: dict[str, int] = {"": 0}
        self._of = array("q")

    def add(self, outcome: Outcome) -> None:
        """Note the versions of one more outcome."""
        for name in (date_of_model(outcome.model_version), release_of(outcome.harness_version)):
            self._of.append(self._names.setdefault(name, len(self._names)))

    def remaining_weight(self, task: Ints, route: Ints, days: Floats) -> Floats:
        """Weigh each outcome, in (0, 1]; `days`: its date, NaN if unknown."""
        left = np.ones(len(task))
        names = list(self._names)
        for version in np.array(self._of, dtype=np.int64).reshape(-1, 2).T:
            told = np.flatnonzero(version)  # 0: not told
            groups, at = np.unique(np.column_stack([route, version])[told], axis=0, return_inverse=True)
            at = at.ravel()
            # A task counts once per version, as in the cells.
            cells = np.unique(np.column_stack([at, task[told]]), axis=0)
            n = np.bincount(cells[:, 0], minlength=len(groups))
            newest = np.full(len(groups), -np.inf)
            np.maximum.at(newest, at, np.where(np.isnan(days[told]), np.inf, days[told]))
            share = np.ones(len(groups))
            for _, of_route in groupby(range(len(groups)), key=lambda i: int(groups[i, 0])):
                order = _oldest_first(of_route, newest, [names[v] for v in groups[:, 1].tolist()])
                share[order] = version_weights(n[order].tolist(), self.at_most)
            left[told] *= share[at]
        return left


def _oldest_first(versions: Iterable[int], newest: Floats, names: Sequence[str]) -> list[int]:
    """Sort by the date of each one's newest outcome if all are dated, else by the numbers in their names."""
    found = list(versions)
    if np.isfinite(newest[found]).all():
        return sorted(found, key=lambda i: (newest[i], *_natural(names[i])))
    return sorted(found, key=lambda i: _natural(names[i]))


def _natural(name: str) -> tuple[tuple[int, ...], str]:
    return tuple(int(digits) for digits in re.findall(r"\d+", name)), name
