"""Families of texts as arrays, and how texts are put into families all at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hmrouter.features.near.sketches import Sketches, near
from hmrouter.state import Array, Ints, State

MOST_LEADERS = 32
"""Families of a group that one band leads to; it bounds the cost where thousands of texts share most of their words."""
Rows = tuple[Array, ...]
"""Groups, sizes and cells of some leaders."""


@dataclass(frozen=True, slots=True)
class Families:
    """Which template and which bands lead to which family, and what each family's leader looks like.

    The leader is the one text of a family that others are compared with: so all are near one text, and a family cannot
    drift from text to text.
    """

    keys: NDArray[np.uint64]
    """Sorted: each distinct template's hash."""
    key_families: NDArray[np.uint32]
    bands: NDArray[np.uint32]
    """Sorted: the bands of leaders."""
    band_families: NDArray[np.uint32]
    groups: NDArray[np.uint32]
    """By family, as are the next two. An empty text's family has nothing there that counts."""
    sizes: NDArray[np.uint16]
    cells: NDArray[np.uint8]

    @classmethod
    def sorted(
        cls,
        keys: NDArray[np.uint64],
        key_families: NDArray[np.uint32],
        bands: NDArray[np.uint32],
        band_families: NDArray[np.uint32],
        rows: Rows,
    ) -> Self:
        """Take keys and bands in any order."""
        by_key, by_band = np.lexsort((key_families, keys)), np.lexsort((band_families, bands))
        return cls(keys[by_key], key_families[by_key], bands[by_band], band_families[by_band], *rows)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def rows(self) -> Rows:
        """What is kept by family."""
        return self.groups, self.sizes, self.cells

    def equal(self, key: int) -> list[int]:
        """Return the families that have this template, of any group."""
        sought = np.uint64(key)
        start, end = self.keys.searchsorted(sought), self.keys.searchsorted(sought, "right")
        found: list[int] = self.key_families[start:end].tolist()
        return found

    def sharing(self, bands: NDArray[np.uint32]) -> list[int]:
        """Return the families whose leader has one of these bands, of any group, perhaps several times."""
        starts, ends = self.bands.searchsorted(bands), self.bands.searchsorted(bands, "right")
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        return list(chain.from_iterable(self.band_families[start:end].tolist() for start, end in spans))

    def state(self) -> State:
        """Give what is to be saved."""
        return State({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Make the families that gave this state."""
        return cls(**{name: state.arrays[name] for name in cls.__slots__})


def grouped(sketches: Sketches, groups: NDArray[np.uint32]) -> tuple[Families, Ints]:
    """Put texts into families, which are numbered as they first appear; return each text's, too.

    Texts are taken by the hash of their template, not as they come. Each joins the nearest leader of its group, or
    becomes one. So their order decides nothing but numbers.
    """
    n = len(sketches)
    order = np.lexsort((groups, sketches.keys, sketches.empty))[: n - int(sketches.empty.sum())]
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(sketches.keys[order]) != 0) | (np.diff(groups[order]) != 0)
    of_text = np.cumsum(new) - 1
    distinct, distinct_groups = sketches[order[new]], groups[order[new]]
    bands = _shared_bands(distinct, distinct_groups)
    leaders = _leaders(distinct, bands)
    labels = len(distinct) + np.arange(n)  # an empty text's own
    labels[order] = leaders[of_text]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    families: Ints = number[inverse.reshape(-1)]
    family_of = np.zeros(len(distinct), np.uint32)
    family_of[of_text] = families[order]
    leads = np.flatnonzero(leaders == np.arange(len(distinct)))
    of_leaders = (distinct_groups[leads], distinct.sizes[leads], distinct.cells[leads])
    rows = tuple(np.zeros((len(first), *of.shape[1:]), of.dtype) for of in of_leaders)
    for row, of in zip(rows, of_leaders, strict=True):
        row[family_of[leads]] = of
    place, band = np.nonzero(distinct.bands[leads])
    kept = _first_of_each(bands[leads][place, band], MOST_LEADERS)
    band_families = family_of[leads][place]
    return Families.sorted(
        distinct.keys, family_of, distinct.bands[leads][place, band][kept], band_families[kept], rows
    ), families


def _shared_bands(sketches: Sketches, groups: NDArray[np.uint32]) -> Ints:
    """Number the bands that several texts of a group share: (n, 6), -1 where a text has none or is alone with it."""
    both = (sketches.bands.astype(np.uint64) << np.uint64(32)) | groups[:, None]
    _, inverse, counts = np.unique(both, return_inverse=True, return_counts=True)
    numbers: Ints = inverse.reshape(both.shape).astype(np.int64)
    numbers[(counts[numbers] < 2) | (sketches.bands == 0)] = -1
    return numbers


def _leaders(sketches: Sketches, bands: Ints) -> Ints:
    """Choose each text's leader, itself or an earlier one."""
    leaders = np.arange(len(sketches))
    led: dict[int, list[int]] = {}
    shared = np.flatnonzero((bands >= 0).any(axis=1))
    for i, own in zip(shared.tolist(), bands[shared].tolist(), strict=True):
        candidates = sorted({j for band in own if band >= 0 for j in led.get(band, ())})
        if candidates:
            is_near, apart = near(sketches.cells[candidates], sketches.sizes[candidates], sketches[i : i + 1])
            if is_near.any():
                leaders[i] = candidates[int(np.where(is_near, apart, np.iinfo(np.int64).max).argmin())]
                continue
        for band in own:
            if band >= 0 and len(there := led.setdefault(band, [])) < MOST_LEADERS:
                there.append(i)
    return leaders


def _first_of_each(numbers: Ints, most: int) -> Ints:
    """Find where the first few of each number are; -1 counts as different each time."""
    order = np.argsort(numbers, kind="stable")
    ranked = numbers[order]
    rank = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    kept: Ints = order[(rank < most) | (ranked < 0)]
    return kept
