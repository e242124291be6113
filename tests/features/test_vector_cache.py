from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.features.base import Embedder, Vectors
from hmrouter.features.cache import VectorCache, embed_cached
from hmrouter.features.lsa import LSA
from hmrouter.state import State
from hmrouter.types import text_hash


class Counting(Embedder):
    """An embedder that remembers what it was asked for."""

    name: ClassVar[str] = "counting"

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return np.array([[self.scale * len(t), t.count("a")] for t in texts], dtype=np.float32).reshape(-1, 2)

    def identity(self) -> dict[str, Any]:
        return {"name": self.name, "scale": self.scale, "dims": 2}

    def state(self) -> State:
        return State(meta={"scale": self.scale})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return cls(**state.meta)


class InMemory:
    """A cache in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Vectors] = {}

    def vectors(self, embedder: str, hashes: Sequence[str]) -> Mapping[str, Vectors]:
        return {h: self.kept[embedder, h] for h in hashes if (embedder, h) in self.kept}

    def put_vectors(self, embedder: str, vectors: Mapping[str, Vectors]) -> None:
        self.kept |= {(embedder, h): v for h, v in vectors.items()}


text_lists = st.lists(st.text(alphabet="ab ", max_size=3), max_size=12)


@given(text_lists, text_lists)
def test_each_distinct_text_is_embedded_once(first: list[str], second: list[str]) -> None:
    embedder, cache = Counting(), InMemory()
    for texts in (first, second, first):
        assert np.array_equal(embed_cached(embedder, texts, cache), Counting().embed(texts))
    assert sorted(embedder.asked) == sorted({*first, *second})


@pytest.mark.parametrize("cache", [None, InMemory()], ids=["no cache", "cache"])
def test_repetitions_are_embedded_once_and_order_is_kept(cache: VectorCache | None) -> None:
    embedder = Counting()
    vectors = embed_cached(embedder, ["aa", "b", "aa", "", "b"], cache)
    assert vectors.tolist() == [[2, 2], [1, 0], [2, 2], [0, 0], [1, 0]]
    assert vectors.dtype == np.float32
    assert embedder.asked == ["aa", "b", ""]


def test_another_embedder_shares_nothing() -> None:
    cache = InMemory()
    embed_cached(Counting(), ["aa"], cache)
    assert embed_cached(Counting(scale=2.0), ["aa"], cache).tolist() == [[4, 2]]
    assert len(cache.kept) == 2


class Cheap(Counting):
    cacheable: ClassVar[bool] = False


def test_vectors_that_are_not_worth_it_are_not_kept() -> None:
    embedder, cache = Cheap(), InMemory()
    for _ in range(2):
        assert embed_cached(embedder, ["aa", "b", "aa"], cache).tolist() == [[2, 2], [1, 0], [2, 2]]
    assert embedder.asked == ["aa", "b"] * 2
    assert not cache.kept
    assert not LSA.cacheable


def test_no_texts_have_the_right_width() -> None:
    assert embed_cached(Counting(), [], InMemory()).shape == (0, 2)


def test_vectors_are_kept_under_the_hash_of_the_text() -> None:
    cache, embedder = InMemory(), Counting()
    embed_cached(embedder, ["aa", "\ud800"], cache)  # half a character is a text, too
    assert list(cache.kept) == [(embedder.fingerprint, text_hash(t)) for t in ("aa", "\ud800")]


def test_a_frozen_embedder_has_nothing_to_learn() -> None:
    embedder = Counting()
    assert embedder.fit(["a"]) is embedder
    assert embedder.fingerprint == Counting().fingerprint != Counting(2.0).fingerprint
