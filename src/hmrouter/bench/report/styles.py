"""How a series looks: one colour, line and marker per method, the same in every figure, and different in grey.

Ours are blue, Fixed dark grey, Random light grey, Oracle black. Colour never carries a meaning alone: line and marker
differ too, and neighbouring colours differ in lightness.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Final

Dash = tuple[int, tuple[float, ...]]

SOLID: Final[Dash] = (0, ())
DASHED: Final[Dash] = (0, (5, 2))
DOTTED: Final[Dash] = (0, (1.2, 1.6))
DASH_DOT: Final[Dash] = (0, (6, 1.8, 1.4, 1.8))
SHORT: Final[Dash] = (0, (2.6, 1.6))


@dataclass(frozen=True, slots=True)
class Style:
    """The look of one series."""

    colour: str
    dash: Dash
    marker: str
    """As matplotlib names it."""
    width: float = 1.7
    filled: bool = True
    """Whether the marker is solid; hollow ones tell variants of a method apart."""
    front: int = 2
    """What is drawn later covers what is drawn before: ours in front, references behind."""


METHODS: Final[dict[str, Style]] = {
    "safe": Style("#123F66", SOLID, "D", 2.6, front=4),
    "safe_alone": Style("#4F7396", SHORT, "D", 1.9, filled=False, front=3),
    "hm": Style("#2878B5", SOLID, "o", 2.6, front=4),
    "component_only": Style("#7DB4DE", DASHED, "v", 2.0, front=3),
    "random": Style("#B5B5B5", DOTTED, "x", 2.0, front=1),
    "fixed": Style("#4A4A4A", DASHED, "s", 2.0, front=1),
    "oracle": Style("#000000", DASH_DOT, "*", 1.6, front=1),
    "component_average": Style("#8C6D46", SHORT, "^"),
    "knn": Style("#D9A514", DASH_DOT, "P"),
    "mirt": Style("#A569A0", DOTTED, "<"),
    "irtnet": Style("#6B3A75", SHORT, ">"),
    "avengers": Style("#2F8F6B", DASHED, "p", filled=False),
    "avengers_pro": Style("#7CC29A", DASH_DOT, "d", filled=False),
    "embedllm": Style("#C8402F", DASHED, "X"),
}
ALIASES: Final[dict[str, str]] = {"comp_avg": "component_average", "hm_router": "hm", "ours": "hm", "irt": "mirt"}

# For names that are not methods: benchmarks, settings, families, plug-in scorers.
OTHERS: Final[tuple[Style, ...]] = (
    Style("#1B5E8C", SOLID, "o"),
    Style("#E07B39", DASHED, "s"),
    Style("#3A7D44", DASH_DOT, "^"),
    Style("#8E4585", SHORT, "D"),
    Style("#C9A227", DOTTED, "v"),
    Style("#5C5C5C", SOLID, "P"),
    Style("#D1495B", DASHED, "X"),
    Style("#66A5AD", DASH_DOT, "h"),
)
VARIANTS: Final = (SOLID, SHORT, DOTTED, DASH_DOT, DASHED)


def styles_of(names: Sequence[str]) -> list[Style]:
    """A style for each series of a figure, no two alike; a method's variants share its colour.

    >>> safe, full, seen = styles_of(["safe", "HM (all)", "HM (observed)"])
    >>> full.colour == seen.colour, full.dash == seen.dash, full.filled, seen.filled
    (True, False, True, False)
    """
    known = [i for i, name in enumerate(names) if _method(name) in METHODS]
    others = [i for i in range(len(names)) if i not in known]
    out: dict[int, Style] = {}
    # Methods first: what else is in a figure must not change how they look.
    for i in known:
        out[i] = _unlike(METHODS[_method(names[i])], out.values())
    for i, style in zip(others, cycle(OTHERS), strict=False):
        out[i] = _unlike(style, out.values())
    return [out[i] for i in range(len(names))]


def _unlike(style: Style, others: Iterable[Style]) -> Style:
    """The style itself, or its first variant that differs from all others in more than colour."""
    taken = {(s.dash, s.marker, s.filled) for s in others}
    variants = [replace(style, dash=dash, filled=filled) for filled in (not style.filled, style.filled)
                for dash in VARIANTS if dash != style.dash]  # fmt: skip
    return next((s for s in (style, *variants) if (s.dash, s.marker, s.filled) not in taken), style)


def _method(name: str) -> str:
    """`HM (all)` -> `hm`, `Avengers-Pro` -> `avengers_pro`."""
    plain = re.sub(r"\W+", "_", name.partition("(")[0].casefold()).strip("_")
    return ALIASES.get(plain, plain)
