"""Character 1-3-grams of texts as numbers, which terms of a corpus are kept, and their TF-IDF weights.

A term is one number: 21 bits for each of its characters (its code point plus 1), the first one highest, zeros for those
that a shorter term does not have. So numbers sort as texts do, and no table of strings is needed to look one up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hmrouter.state import Ints

Terms = NDArray[np.uint64]
Weights = NDArray[np.float32]

LONGEST = 3
"""Characters of the longest terms."""
BITS = np.uint64(21)
"""Room for one character: code points end at 0x10FFFF."""
SPACES = re.compile(r"\s\s+")
BLOCK = 2**20
"""Terms that are collected before they are counted together: what counting a corpus needs beside the result."""


def terms_of(texts: Iterable[str]) -> Terms:
    """Number terms that are given as strings of 1 to 3 characters.

    >>> terms_of(["a", "ab"]).tolist() == [98 << 42, 98 << 42 | 99 << 21]
    True
    """
    padded = "".join(text.ljust(LONGEST, "\0") for text in texts)
    characters = _characters(padded).reshape(-1, LONGEST)
    absent = np.arange(LONGEST) >= np.array([len(text) for text in texts], dtype=np.int64).reshape(-1, 1)
    a, b, c = np.where(absent, np.uint64(0), characters).T
    return np.asarray(a << BITS << BITS | b << BITS | c)


def grams(text: str) -> tuple[Terms, Ints]:
    """Count the terms of a text, case and runs of white space aside: distinct terms in order, and how often each.

    >>> terms, counts = grams("ABba")
    >>> (terms == terms_of(["a", "ab", "abb", "b", "ba", "bb", "bba"])).all(), counts.tolist()
    (np.True_, [2, 1, 1, 2, 1, 1, 1])
    """
    a = _characters(SPACES.sub(" ", text.lower())) << BITS << BITS
    ab = a[:-1] | a[1:] >> BITS
    abc = ab[:-1] | a[2:] >> BITS >> BITS
    return np.unique(np.concatenate((a, ab, abc)), return_counts=True)


def shared_terms(texts: Sequence[str], least: int, most: int) -> tuple[Terms, Ints]:
    """Find the terms that occur in at least `least` texts, and in how many: the `most` frequent, in order.

    >>> terms, texts = shared_terms(["ab", "abb", "c"], least=2, most=2)
    >>> (terms == terms_of(["a", "b"])).all(), texts.tolist()
    (np.True_, [2, 2])
    """
    terms, in_texts, in_all = np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    for block in _blocks(texts):
        found = np.concatenate((terms, *(some for some, _ in block)))
        terms, place = np.unique(found, return_inverse=True)
        ones = np.ones(len(found) - len(in_texts), dtype=np.int64)
        in_texts = _summed(place, np.concatenate((in_texts, ones)), len(terms))
        in_all = _summed(place, np.concatenate((in_all, *(counts for _, counts in block))), len(terms))
    kept = np.flatnonzero(in_texts >= least)
    kept = np.sort(kept[np.argsort(-in_all[kept], kind="stable")[:most]])
    return terms[kept], in_texts[kept]


def inverse_frequencies(in_texts: Ints, texts: int) -> Weights:
    """Weigh terms by how few of the texts they occur in, as scikit-learn does (`smooth_idf`), to the last bit."""
    few = np.full(len(in_texts), texts + 1, dtype=np.float32) / (in_texts.astype(np.float32) + np.float32(1.0))
    return np.asarray(np.log(few) + np.float32(1.0))


class TermWeights:
    """Weighs known terms in texts as scikit-learn's TfidfVectorizer does (`sublinear_tf`), to the last bit.

    >>> places, weights = TermWeights(terms_of(["a", "ab", "b"]), np.ones(3, dtype=np.float32))("abba")
    >>> places.tolist(), weights.astype(float).round(3).tolist()
    ([0, 1, 2], [0.652, 0.385, 0.652])
    """

    def __init__(self, terms: Terms, idf: Weights) -> None:
        self._terms = terms
        self._idf = idf

    def __call__(self, text: str) -> tuple[NDArray[np.int32], Weights]:
        """Return the places of a text's known terms, in order, and weights of unit length."""
        terms, counts = grams(text)
        places = np.searchsorted(self._terms, terms)
        known = places < len(self._terms)
        known[known] = self._terms[places[known]] == terms[known]
        places, counts = places[known], counts[known]
        weights = (np.log(counts.astype(np.float32)) + np.float32(1.0)) * self._idf[places]
        # In the order of the terms and in double precision, as there: cumsum adds one after the other.
        squares = np.cumsum((weights * weights).astype(np.float64))
        length = np.sqrt(squares[-1]) if len(squares) else 0.0
        scaled = weights if length == 0.0 else weights.astype(np.float64) / length
        return places.astype(np.int32), scaled.astype(np.float32)


def _characters(text: str) -> Terms:
    """List the code points, each plus 1."""
    raw = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return np.asarray(raw.astype(np.uint64) + np.uint64(1))


def _blocks(texts: Sequence[str]) -> Iterator[list[tuple[Terms, Ints]]]:
    """Count the terms of each text, and hand them on when there are `BLOCK` of them."""
    block, size = list[tuple[Terms, Ints]](), 0
    for text in texts:
        block.append(grams(text))
        size += len(block[-1][0])
        if size >= BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _summed(place: Ints, values: Ints, n: int) -> Ints:
    return np.bincount(place, weights=values, minlength=n).astype(np.int64)
