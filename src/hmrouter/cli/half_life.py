"""The option `--half-life`: how fast evidence fades, as the command line says or as set in the store."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from hmrouter.evidence.fading import HalfLife

Option = Annotated[
    str | None,
    typer.Option(
        "--half-life",
        metavar="DAYS|SUITE=DAYS,...|off",
        help="Days after which an outcome counts half. Default: what `hmrouter store set` says for each suite.",
    ),
]


def chosen(option: str | None, in_store: Mapping[str, float]) -> HalfLife:
    """Return the half-lives to learn with: as the option says; for suites that it does not name, as set in the store.

    >>> chosen(None, {"a": 90.0}), chosen("30", {"a": 90.0}), chosen("off", {"a": 90.0})
    ({'a': 90.0}, 30.0, None)
    >>> chosen("b=7,a=off", {"a": 90.0, "c": 365.0})
    {'c': 365.0, 'b': 7.0}
    """
    if option is None:
        return dict(in_store)
    if "=" not in option:
        return _days(option)
    named = _by_suite(option)
    return {suite: days for suite, days in {**in_store, **named}.items() if days is not None}


def require_suites(option: str | None, suites: Collection[str]) -> None:
    """Refuse an option that names a suite of which there is no outcome."""
    for suite in _by_suite(option) if option is not None and "=" in option else ():
        if suite not in suites:
            raise UnknownName("suite", suite, suites, "the outcomes")


def lines(half_life: Mapping[str, float]) -> Iterator[str]:
    """Say the half-life of each suite, a line for each."""
    for suite, days in half_life.items():
        yield f"Evidence of suite {suite} fades: half-life {days:g} days."


def _by_suite(option: str) -> dict[str, float | None]:
    out = {}
    for part in option.split(","):
        suite, _, days = part.rpartition("=")
        if not suite.strip():
            raise UsageError(f"--half-life {part!r} is not SUITE=DAYS; write for example our-repo=90,other=off")
        out[suite.strip()] = _days(days)
    return out


def _days(text: str) -> float | None:
    if text.strip().lower() == "off":
        return None
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not (days > 0 and math.isfinite(days)):
        raise UsageError(f"--half-life {text!r} is not a number of days above 0; give one, SUITE=DAYS,... or off")
    return days
