"""The cache of embedding vectors, by embedder and by the hash of the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select

from hmrouter.errors import StoreError, UsageError
from hmrouter.store.database import insert
from hmrouter.store.schema import embeddings

Vector = npt.NDArray[np.float32]

_STORED = np.dtype("<f4")  # the same bytes on every machine
_ASKED = 500


def get(conn: Connection, embedder: str, hashes: Sequence[str]) -> dict[str, Vector]:
    """Look up the vectors that the cache has, by text hash."""
    table, found = embeddings.c, {}
    for some in _parts(hashes):
        asked = select(table.text_hash, table.dims, table.vector).where(
            table.embedder == embedder, table.text_hash.in_(some)
        )
        for text_hash, dims, data in conn.execute(asked):
            if len(data) != dims * _STORED.itemsize:
                raise StoreError(
                    f"the cached vector of text {text_hash} is damaged: {len(data)} bytes for {dims} numbers"
                )
            found[text_hash] = np.frombuffer(data, _STORED).astype(np.float32)
    return found


def put(conn: Connection, embedder: str, vectors: Mapping[str, npt.ArrayLike]) -> None:
    """Keep vectors; those that the cache has stay as they are."""
    statement = insert(conn, embeddings).on_conflict_do_nothing()
    for some in _parts(sorted(vectors)):  # sorted: two writers meet in the same order and cannot block each other
        conn.execute(statement, [_row(embedder, text_hash, vectors[text_hash]) for text_hash in some])


def _row(embedder: str, text_hash: str, vector: npt.ArrayLike) -> dict[str, object]:
    array = np.asarray(vector, dtype=_STORED)
    if array.ndim != 1:
        raise UsageError(f"the vector of text {text_hash} has shape {array.shape}; one dimension is expected")
    return {"embedder": embedder, "text_hash": text_hash, "dims": array.size, "vector": array.tobytes()}


def _parts(hashes: Sequence[str]) -> Iterator[list[str]]:
    iterator = iter(hashes)
    while some := list(islice(iterator, _ASKED)):
        yield some
