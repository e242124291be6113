"""Which tasks' texts are near-identical: the same template with other numbers, names or dates, or a few other words.

What happened on such a task says something about the next one. Texts that are merely about the same thing are not near,
nor are those that share a long preamble and ask for different things; when in doubt, texts are apart.

Only hashes are kept, never a text or a word of one. They tell someone who guesses a text whether it, or one that
differs in values only, was among the texts, and in about how many words two texts differ; they do not give a text back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hmrouter.features.near.families import MOST_LEADERS, Families, Rows, grouped
from hmrouter.features.near.sketches import Sketches, near, sketch
from hmrouter.persistent import IntMap
from hmrouter.state import Ints, State

Leader = tuple[int, np.uint16, NDArray[np.uint8]]
"""Its group, size and cells."""


@dataclass(frozen=True, slots=True)
class NearTexts:
    """Finds texts that differ in little. Holds hashes only, never a text. It never changes: `with_text` gives another.

    >>> texts = ["Mail Ana the bill for May 3", "Water all of the plants", "Mail Bo the bill for 9/1"]
    >>> index, families = NearTexts.of(texts, [0, 0, 0])
    >>> families.tolist(), index.find("Mail Eve the bill for 4 April")
    ([0, 1, 0], [0])
    """

    _base: Families
    """What was indexed at once."""
    families: int
    """How many there are."""
    _keys: IntMap[tuple[int, ...]] = field(default_factory=IntMap)
    """What came since: hash of a template -> families."""
    _bands: IntMap[tuple[int, ...]] = field(default_factory=IntMap)
    """Band -> families."""
    _leaders: IntMap[Leader] = field(default_factory=IntMap)
    """Family -> its leader; an empty text's has none."""

    @classmethod
    def of(cls, texts: Sequence[str], groups: Sequence[int]) -> tuple[Self, Ints]:
        """Index texts of groups (suites, numbered from 0); also return each text's family, a number from 0.

        Near-identical texts of one group share it, every other text has one of its own; so has an empty one, which is
        near nothing. Which texts share a family does not depend on their order.
        """
        base, families = grouped(sketch(texts), np.asarray(groups, np.uint32).reshape(len(texts)))
        return cls(base, len(base)), families

    def find(self, text: str, group: int | None = None) -> list[int]:
        """Return the families of near-identical texts, the nearest first: in this group only, or in any if None."""
        return self._find(sketch([text]), group)

    def with_text(self, text: str, group: int) -> tuple[Self, int]:
        """Return the index with one more text, and its family: that of its near-identical texts, or a new one.

        What this takes hardly grows with the index, and the index itself stays as it is.
        """
        one = sketch([text])
        if one.empty[0]:
            return replace(self, families=self.families + 1), self.families
        found = self._find(one, group)
        family, key = found[0] if found else self.families, int(one.keys[0])
        keys, bands, leaders = self._keys, self._bands, self._leaders
        if family not in self._equal(key):
            keys = keys.put(key, (*(keys.get(key) or ()), family))
        if not found:
            leaders = leaders.put(family, (group, one.sizes[0], one.cells[0]))
            for band in one.bands[one.bands != 0]:
                there = self._sharing(np.array([band]))
                if sum(g == group for g in self._look(there)[0].tolist()) < MOST_LEADERS:
                    bands = bands.put(int(band), (*(bands.get(int(band)) or ()), family))
        return replace(
            self, families=max(self.families, family + 1), _keys=keys, _bands=bands, _leaders=leaders
        ), family

    def state(self) -> State:
        """Give what is to be saved."""
        keys = [(key, family) for key, families in self._keys.items() for family in families]
        bands = [(band, family) for band, families in self._bands.items() for family in families]
        added = self._look(range(len(self._base), self.families))
        base = self._base
        return Families.sorted(
            np.concatenate((base.keys, np.array([key for key, _ in keys], np.uint64))),
            np.concatenate((base.key_families, np.array([family for _, family in keys], np.uint32))),
            np.concatenate((base.bands, np.array([band for band, _ in bands], np.uint32))),
            np.concatenate((base.band_families, np.array([family for _, family in bands], np.uint32))),
            tuple(np.concatenate(both) for both in zip(base.rows, added, strict=True)),
        ).state()

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Make the index that gave this state."""
        base = Families.from_state(state)
        return cls(base, len(base))

    def _find(self, one: Sketches, group: int | None) -> list[int]:
        equal = self._equal(int(one.keys[0])) if not one.empty[0] else []
        sharing = sorted(set(self._sharing(one.bands[one.bands != 0])) - set(equal))
        families = np.array([*equal, *sharing], np.int64)
        groups, sizes, cells = self._look(families.tolist())
        is_near, apart = near(cells, sizes, one)
        is_near[: len(equal)], apart[: len(equal)] = True, -1
        if group is not None:
            is_near &= groups == group
        found: list[int] = families[is_near][np.lexsort((families[is_near], apart[is_near]))].tolist()
        return found

    def _equal(self, key: int) -> list[int]:
        """Return the families that have this template."""
        return [*self._base.equal(key), *(self._keys.get(key) or ())]

    def _sharing(self, bands: NDArray[np.uint32]) -> list[int]:
        """Return the families whose leader has one of these bands, perhaps several times."""
        added = (self._bands.get(band) or () for band in bands.tolist())
        return [*self._base.sharing(bands), *chain.from_iterable(added)]

    def _look(self, families: Sequence[int]) -> Rows:
        """Return the groups, sizes and cells of families' leaders."""
        numbers = np.asarray(families, np.int64)
        old = numbers < len(self._base)
        rows = tuple(np.zeros((len(numbers), *of.shape[1:]), of.dtype) for of in self._base.rows)
        for row, of in zip(rows, self._base.rows, strict=True):
            row[old] = of[numbers[old]]
        for place in np.flatnonzero(~old).tolist():
            for row, value in zip(rows, self._leaders.get(int(numbers[place])) or (), strict=False):
                row[place] = value
        return rows
