"""Evidence fades with age: the weight that an outcome keeps after some days.

An outcome of age a counts 2^(-a / half-life) of a fresh one. Suites without a half-life and outcomes without a date
do not fade.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import numpy as np

from hmrouter.errors import UsageError
from hmrouter.state import Floats

HalfLife = Mapping[str, float] | float | None
"""Days: of each suite, or of all of them; None where nothing fades."""

MOST = 60.0
"""After so many half-lives nothing fades further: next to nothing, but still a number to divide by."""
DAY = 86_400.0


def half_lives(given: HalfLife, suites: Collection[str]) -> dict[str, float]:
    """Find the half-lives of those suites that have one.

    >>> half_lives(90, ["a", "b"]), half_lives({"b": 30, "c": 7}, ["a", "b"]), half_lives(None, ["a"])
    ({'a': 90.0, 'b': 90.0}, {'b': 30.0}, {})
    """
    if given is None:
        return {}
    by_suite = given if isinstance(given, Mapping) else dict.fromkeys(suites, given)
    for suite, days in by_suite.items():
        if not (days > 0 and math.isfinite(days)):
            raise UsageError(f"half-life {days} of suite {suite!r} is not a number of days; give more than 0")
    return {suite: float(by_suite[suite]) for suite in suites if suite in by_suite}


def days_of(when: datetime | None) -> float:
    """Count a date in days since 1970, NaN if there is none; one without a zone is taken as UTC.

    >>> days_of(datetime(1970, 1, 2, 12)), days_of(None)
    (1.5, nan)
    """
    if when is None:
        return math.nan
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() / DAY


def remaining_weight(age: Floats, half_life: Floats) -> Floats:
    """Weigh outcomes by their age, in (0, 1]; an unknown age and one in the future count in full.

    >>> remaining_weight(np.array([0.0, 90.0, 180.0, np.nan, -5.0]), np.full(5, 90.0)).tolist()
    [1.0, 0.5, 0.25, 1.0, 1.0]
    """
    return np.asarray(np.exp2(-np.clip(np.where(np.isnan(age), 0.0, age) / half_life, 0.0, MOST)))
