"""The cache of embedding vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from sqlalchemy import Engine

from hmrouter.errors import StoreError, UsageError
from hmrouter.store import OutcomeStore
from hmrouter.types import text_hash


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as opened:
        yield opened


def test_vectors_come_back_exactly(store: OutcomeStore) -> None:
    rng = np.random.default_rng(0)
    vectors = {text_hash(str(i)): rng.normal(size=5).astype(np.float32) for i in range(1203)}
    store.put_vectors("lsa/1", vectors)
    found = store.vectors("lsa/1", [*vectors, text_hash("never seen")])
    assert found.keys() == vectors.keys()
    for key, vector in found.items():
        assert vector.dtype == np.float32
        assert np.array_equal(vector, vectors[key])


def test_a_vector_that_is_cached_stays(store: OutcomeStore) -> None:
    store.put_vectors("e", {"a": [1.0, 2.0]})
    store.put_vectors("e", {"a": [9.0, 9.0], "b": [3.0]})
    found = store.vectors("e", ["a", "b"])
    assert {key: vector.tolist() for key, vector in found.items()} == {"a": [1.0, 2.0], "b": [3.0]}


def test_embedders_do_not_mix(store: OutcomeStore) -> None:
    store.put_vectors("one", {"a": [1.0]})
    store.put_vectors("two", {"a": [2.0]})
    assert store.vectors("two", ["a"])["a"].tolist() == [2.0]
    assert store.vectors("three", ["a"]) == {}
    assert store.vectors("one", []) == {}


def test_a_vector_of_another_shape_is_refused_and_nothing_kept(store: OutcomeStore) -> None:
    with pytest.raises(UsageError, match=r"shape \(1, 2\)"):
        store.put_vectors("e", {"a": [1.0], "b": [[1.0, 2.0]]})
    assert store.vectors("e", ["a", "b"]) == {}


def test_a_damaged_vector_is_reported(engine: Engine, store: OutcomeStore) -> None:
    store.put_vectors("e", {"a": [1.0, 2.0]})
    with engine.begin() as conn:
        conn.exec_driver_sql("UPDATE embeddings SET dims = 3")
    with pytest.raises(StoreError, match="8 bytes for 3 numbers"):
        store.vectors("e", ["a"])
