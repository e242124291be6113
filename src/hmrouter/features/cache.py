"""Vectors cached by content, so that a text is embedded once per embedder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from hmrouter.features.base import Embedder, Vectors, text_hash


class VectorCache(Protocol):
    """Where vectors are kept; `OutcomeStore` is one."""

    def vectors(self, embedder: str, hashes: Sequence[str]) -> Mapping[str, Vectors]:
        """The cached vectors among these text hashes."""
        ...

    def put_vectors(self, embedder: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep these vectors."""
        ...


def embed_cached(embedder: Embedder, texts: Sequence[str], cache: VectorCache | None) -> Vectors:
    """`embedder.embed(texts)`, computing only what the cache does not hold and each distinct text once."""
    if not texts:
        return embedder.embed(texts)
    by_hash = {text_hash(text): text for text in texts}
    found = {} if cache is None else dict(cache.vectors(embedder.fingerprint, list(by_hash)))
    missing = [key for key in by_hash if key not in found]
    if missing:
        fresh = dict(zip(missing, embedder.embed([by_hash[key] for key in missing]), strict=True))
        if cache is not None:
            cache.put_vectors(embedder.fingerprint, fresh)
        found |= fresh
    return np.stack([found[text_hash(text)] for text in texts])
