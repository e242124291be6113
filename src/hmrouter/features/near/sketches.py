"""Texts -> a few bytes each, by which it shows how many words two texts differ in.

A text's features are its distinct words and pairs of adjacent words; in a long text, those of its first and last words
count once more, since there it says what it asks for. Two things are made of them:

- **Cells** (a count sketch): each feature adds +1 or -1 to one of 64 counters. The sum of squares of the difference of
  two texts' counters estimates how many features only one of them has, with an error that is relative to *that* number,
  not to the length of the texts (18%). MinHash estimates the share instead: of two texts that share a preamble of 300
  words and end in different sentences it cannot tell more than that they are 95% alike.
- **Bands**: hashes of parts of the vocabulary. If two texts differ in few words then some part is untouched, so texts
  that may be near are those that share a band. A short text's bands are the six halves made of quarters, a long one's
  six overlapping thirds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from hmrouter.features.near.templates import SLOT, Template, template
from hmrouter.state import Bools, Ints

CELLS = 64
BANDS = 6
SHORTEST = 10
"""With fewer words only equal templates are near: one word of nine is too much."""
LONG = 40
"""Words from which a text is long. Short and long ones are not compared."""
ENDS = 12
"""The first and last words of a long text, which count more."""
MOST_DIFFERENT, MOST_DIFFERENT_LONG = 14.0, 20.0
"""Features in which near texts may differ: one word in another's place makes six, at the end of a long text twelve; a
sentence of eight words there makes about fifty."""
SHARE_DIFFERENT = 0.36
"""The same as a share of the shorter text's words and pairs of words: one word of ten, two of twenty."""
AT_ONCE = 2048

Words64 = NDArray[np.uint64]
_THIRDS = np.array([[part % 6 in (band, (band + 1) % 6) for band in range(BANDS)] for part in range(12)], float)
_HALVES = np.array([[part % 4 in two for two in combinations(range(4), 2)] for part in range(12)], float)
_HEAD, _TAIL = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_SQUARES = np.array([min(n, 16 - n) ** 2 for n in range(16)], np.uint8)


@dataclass(frozen=True, slots=True)
class Sketches:
    """What is kept of some texts, one row each."""

    keys: Words64
    """A hash of the template: equal for texts that differ in values only."""
    sizes: NDArray[np.uint16]
    """Words, or 0 if only texts with the same key are near."""
    cells: NDArray[np.uint8]
    """(n, 32): 64 counters of four bits."""
    bands: NDArray[np.uint32]
    """(n, 6): 0 where there is none."""
    empty: Bools

    def __getitem__(self, rows: Ints | slice) -> Sketches:
        return Sketches(self.keys[rows], self.sizes[rows], self.cells[rows], self.bands[rows], self.empty[rows])

    def __len__(self) -> int:
        return len(self.keys)


def sketch(texts: Sequence[str]) -> Sketches:
    """Sketch texts; each one's sketch is the same in whatever company."""
    parts = [_sketch([template(t) for t in texts[k : k + AT_ONCE]]) for k in range(0, len(texts) or 1, AT_ONCE)]
    if len(parts) == 1:
        return parts[0]
    return Sketches(
        np.concatenate([p.keys for p in parts]),
        np.concatenate([p.sizes for p in parts]),
        np.concatenate([p.cells for p in parts]),
        np.concatenate([p.bands for p in parts]),
        np.concatenate([p.empty for p in parts]),
    )


def near(cells: NDArray[np.uint8], sizes: NDArray[np.uint16], other: Sketches) -> tuple[Bools, Ints]:
    """Tell which of some texts are near another (one row), and in about how many features each differs from it."""
    row = other.cells[0]
    low, high = (cells - row) & 15, ((cells >> 4) - (row >> 4)) & 15
    apart = _SQUARES[low].sum(axis=1, dtype=np.int64) + _SQUARES[high].sum(axis=1, dtype=np.int64)
    most = np.where(sizes < LONG, MOST_DIFFERENT, MOST_DIFFERENT_LONG)
    return apart <= np.minimum(most, SHARE_DIFFERENT * 2 * np.minimum(sizes, other.sizes[0])), apart


def _sketch(templates: Sequence[Template]) -> Sketches:
    """Sketch at most `AT_ONCE` texts."""
    n = len(templates)
    keys = np.array([_hash(f"{' '.join(t.words)}\0{t.rest}") for t in templates], np.uint64)
    sizes = np.array([min(len(t.words), 65535) if len(t.words) >= SHORTEST else 0 for t in templates], np.uint16)
    empty = np.array([t.empty for t in templates], bool)
    lists = [t.words if size else [] for t, size in zip(templates, sizes.tolist(), strict=True)]
    lengths = np.array([len(words) for words in lists], np.int64)
    owners = np.repeat(np.arange(n), lengths)
    words = _hashes(chain.from_iterable(lists))
    before = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)  # words of the text before this
    after, long = lengths[owners] - 1 - before, lengths[owners] >= LONG
    pairs = np.flatnonzero(after > 0)  # by the first of the two
    both = np.zeros_like(words)
    both[pairs] = _mixed(words[pairs] * np.uint64(3) + words[pairs + 1])
    in_head, in_tail = long & (before < ENDS), long & (after < ENDS)
    features = [(np.arange(len(words)), words), (pairs, both[pairs])]
    for end, salt in ((in_head, _HEAD), (in_tail, _TAIL)):
        once, twice = np.flatnonzero(end), np.flatnonzero(end[:-1] & end[1:] & (after[:-1] > 0))
        features += [(once, _mixed(words[once] + salt)), (twice, _mixed(both[twice] + salt))]
    places = np.concatenate([at for at, _ in features])
    counters = _counters(owners[places], np.concatenate([values for _, values in features]), n)
    values = _mixed(words) >> np.uint64(32)
    for end, salt in ((in_head, _HEAD), (in_tail, _TAIL)):
        values = values + np.where(end, _mixed(words + salt) >> np.uint64(32), np.uint64(0))
    said = words != _hashes([SLOT])
    bands = _bands(owners[said], words[said], values[said], n, lengths < LONG)
    others = np.array([_hash(t.rest) if t.words and t.rest else 0 for t in templates], np.uint64)
    bands = np.where(bands == 0, 0, _mixed(bands ^ others[:, None]) >> np.uint64(32))
    cells = (counters[:, ::2] | (counters[:, 1::2] << 4)).astype(np.uint8)
    return Sketches(keys, sizes, cells, bands.astype(np.uint32), empty)


def _counters(owners: Ints, features: Words64, n: int) -> NDArray[np.uint8]:
    """Count each text's distinct features into cells, modulo 16: (n, 64)."""
    each = np.sort((owners.astype(np.uint64) << np.uint64(48)) | (features >> np.uint64(16)))
    one_each = each[np.append(True, each[1:] != each[:-1])[: len(each)]]  # np.unique would load numpy.ma
    cells = (one_each >> np.uint64(48)) * np.uint64(CELLS) + one_each % np.uint64(CELLS)
    signs = np.where(one_each & np.uint64(CELLS), 1.0, -1.0)
    counts = np.bincount(cells.astype(np.int64), signs, n * CELLS).astype(np.int64)
    return (counts & 15).astype(np.uint8).reshape(n, CELLS)


def _bands(owners: Ints, words: Words64, values: Words64, n: int, short: Bools) -> Words64:
    """Hash parts of each text's vocabulary, by what its words are worth: (n, 6), 0 for a part without words."""
    cells = owners * 12 + (words % np.uint64(12)).astype(np.int64)
    sums = np.bincount(cells, values.astype(float), n * 12).reshape(n, 12)  # exact: whole numbers below 2**53
    joined = np.where(short[:, None], sums @ _HALVES, sums @ _THIRDS).astype(np.uint64)
    which = np.arange(1, BANDS + 1, dtype=np.uint64) + np.where(short, BANDS, 0).astype(np.uint64)[:, None]
    return np.where(joined == 0, np.uint64(0), _mixed(joined * np.uint64(16) + which))


def _hashes(words: Iterator[str] | Sequence[str]) -> Words64:
    """Hash words, each distinct one once."""
    listed = list(words)
    hashed = {word: _hash(word) for word in set(listed)}
    return np.fromiter(map(hashed.__getitem__, listed), np.uint64, len(listed))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _mixed(x: Words64) -> Words64:
    """Spread what distinguishes numbers over all their bits (the finaliser of MurmurHash3)."""
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))
