"""Vectors cached by content, so that a text is embedded once per embedder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from hmrouter.features.base import Embedder, Vectors
from hmrouter.types import Task, text_hash

KEPT_AT_A_TIME = 512
"""Texts that are embedded before their vectors are kept: what an interruption loses at most."""


class VectorCache(Protocol):
    """A place that keeps vectors; `OutcomeStore` is one."""

    def vectors(self, embedder: str, hashes: Sequence[str]) -> Mapping[str, Vectors]:
        """Look up the cached vectors among these text hashes."""
        ...

    def put_vectors(self, embedder: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep these vectors."""
        ...


def embed_tasks(embedder: Embedder, tasks: Sequence[Task], cache: VectorCache | None) -> Vectors:
    """Embed each task as one row. A text that was not kept is found in the cache by its hash; else it is empty."""
    rows: dict[int, Vectors] = {}
    withheld = {i: task.text_hash for i, task in enumerate(tasks) if task.text_hash and not task.text}
    if withheld and cache is not None and embedder.cacheable:
        found = _cached(cache, embedder, sorted({*withheld.values()}))
        rows = {i: found[key] for i, key in withheld.items() if key in found}
    rest = [i for i in range(len(tasks)) if i not in rows]
    if rest or not rows:  # an embedder is not asked for nothing where the cache had all
        computed = embed_cached(embedder, [tasks[i].text for i in rest], cache)
        if not rows:
            return computed
        rows |= zip(rest, computed, strict=True)
    return np.stack([rows[i] for i in range(len(tasks))])


def embed_cached(embedder: Embedder, texts: Sequence[str], cache: VectorCache | None) -> Vectors:
    """Embed texts, computing only what the cache does not hold, and each distinct text once.

    An embedder that is not `cacheable` computes all of them and nothing is kept.
    """
    if not texts:
        return embedder.embed(texts)
    by_hash = {text_hash(text): text for text in texts}
    if cache is None or not embedder.cacheable:
        found = dict(zip(by_hash, embedder.embed(list(by_hash.values())), strict=True))
    else:
        found = _through(cache, embedder, by_hash)
    return np.stack([found[text_hash(text)] for text in texts])


def _through(cache: VectorCache, embedder: Embedder, by_hash: Mapping[str, str]) -> dict[str, Vectors]:
    found = _cached(cache, embedder, list(by_hash))
    missing = [key for key in by_hash if key not in found]
    for start in range(0, len(missing), KEPT_AT_A_TIME):
        some = missing[start : start + KEPT_AT_A_TIME]
        fresh = dict(zip(some, embedder.embed([by_hash[key] for key in some]), strict=True))
        cache.put_vectors(embedder.fingerprint, fresh)
        found |= fresh
    return found


def _cached(cache: VectorCache, embedder: Embedder, hashes: Sequence[str]) -> dict[str, Vectors]:
    found = dict(cache.vectors(embedder.fingerprint, hashes))
    for dims in sorted({len(vector) for vector in found.values()}):
        embedder.expect(dims)
    return found
