"""One measured ratio and what it should be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio by the name it has in `out/bench.json`."""

    name: str
    value: float
    what: str
    """What is divided by what, in a few words."""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is no target.

        >>> Ratio("speed", 3.0, "theirs / ours", at_least=2.5).met
        True
        """
        if self.at_least is not None:
            return self.value >= self.at_least
        return None if self.at_most is None else self.value <= self.at_most

    @property
    def target(self) -> str:
        """The target as text.

        >>> Ratio("growth", 1.0, "exponent", at_most=1.1).target
        'at most 1.1'
        """
        if self.at_least is not None:
            return f"at least {self.at_least:g}"
        return "" if self.at_most is None else f"at most {self.at_most:g}"
