"""Limits what an experiment does with `--quick`. What is left is whole: every benchmark and every method on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hmrouter.evidence.dataset import hash_rank

if TYPE_CHECKING:
    from hmrouter.bench.experiments.base import Unit


@dataclass(frozen=True, slots=True)
class Quick:
    """Cuts a run down: fewer splits, fewer methods, fewer held-out units.

    >>> Quick(without=("irtnet",)).words(splits=5, asked=())
    '2 of 5 splits; without irtnet'
    >>> Quick(without=("irtnet",)).words(splits=1, asked=("irtnet",))
    ''
    """

    splits: int | None = 2
    """At most so many; None: as many as asked for, where a split takes next to no time."""
    without: Sequence[str] = ()
    """Methods that take long and that the paper does not show here; they run if they are asked for by name."""
    held_out: int = 0
    """Of each kind of held-out unit (the first word of a setting), so many per split of a benchmark; 0: all."""

    def most(self, splits: int) -> int:
        """Say how many of so many splits run."""
        return splits if self.splits is None else min(self.splits, splits)

    def methods(self, usual: Sequence[str], asked: Sequence[str]) -> list[str]:
        """List the methods that run: those asked for, else the usual ones but for some."""
        return list(asked) or [m for m in usual if m not in self.without]

    def units(self, units: Sequence[Unit], seed: int) -> list[Unit]:
        """List the units that run. Held-out units are drawn whole, so that every method runs on the same ones."""
        if not self.held_out:
            return list(units)
        groups: dict[tuple[str, int, str], set[str]] = {}
        for u in units:
            groups.setdefault((u.benchmark, u.split, u.setting.partition(" ")[0]), set()).add(u.setting)
        kept = {
            (benchmark, split, setting)
            for (benchmark, split, _), settings in groups.items()
            for setting in sorted(settings, key=lambda s: hash_rank(seed, benchmark, split, s))[: self.held_out]
        }
        return [u for u in units if (u.benchmark, u.split, u.setting) in kept]

    def words(self, splits: int, asked: Sequence[str]) -> str:
        """Say what is less than in a run of so many splits; empty if nothing is."""
        said = [f"{self.most(splits)} of {splits} splits"] if self.most(splits) < splits else []
        said += [f"without {', '.join(self.without)}"] if self.without and not asked else []
        said += [f"at most {self.held_out} held-out units of each kind per split, at random"] if self.held_out else []
        return "; ".join(said)
