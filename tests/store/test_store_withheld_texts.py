"""Training on tasks whose texts the store does not keep: their vectors are found by the hash of the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pytest

from hmrouter.evidence.dataset import Dataset
from hmrouter.features.base import Embedder, Vectors
from hmrouter.features.cache import VectorCache, embed_cached, embed_tasks
from hmrouter.router import Router
from hmrouter.state import State
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task, text_hash


class Letters(Embedder):
    """How often some letters occur; it remembers what it was asked for."""

    name: ClassVar[str] = "letters"

    def __init__(self, letters: str = "aeiou") -> None:
        self.letters = letters
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        counts = [[text.count(letter) for letter in self.letters] for text in texts]
        return np.array(counts, dtype=np.float32).reshape(-1, len(self.letters))

    def identity(self) -> dict[str, Any]:
        return {"name": self.name, "letters": self.letters, "dims": len(self.letters)}

    def state(self) -> State:
        return State(meta={"letters": self.letters})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return cls(**state.meta)


class Uncached(Letters):
    cacheable: ClassVar[bool] = False


TEXTS = [f"repair the {word}" for word in ("parser", "invoice", "museum", "robot", "ticket", "weather")]
ROUTES = [Route("gpt-5", "codex"), Route("o3", "aider")]


def world() -> Iterator[Outcome]:
    for i, text in enumerate(TEXTS):
        for j, route in enumerate(ROUTES):
            yield Outcome(Task(f"t{i}", text=text), route, float((i + j) % 2), cost=0.1)


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as opened:
        yield opened


def test_a_router_learns_the_same_from_hashes_as_from_texts(store: OutcomeStore) -> None:
    embed_cached(Letters(), TEXTS, store)  # while the texts are at hand
    store.add(world(), keep_text=False)
    embedder = Letters()
    blind = Router("knn", embedder).fit(Dataset(store.outcomes()), cache=store)
    assert not {*embedder.asked} & {*TEXTS, ""}  # the descriptions of harnesses, and nothing else
    seeing = Router("knn", Letters()).fit(Dataset(world()))
    for text in TEXTS:
        mine, theirs = (
            {candidate.route: candidate.success for candidate in router.route(text).ranked}
            for router in (blind, seeing)
        )
        assert mine == pytest.approx(theirs)


def tasks() -> list[Task]:
    """With a text, with a hash only, and with neither."""
    return [Task("told", text="told"), Task("hashed", text_hash=text_hash("aaa")), Task("empty"),
            Task("again", text_hash=text_hash("aaa")), Task("lost", text_hash=text_hash("never cached"))]  # fmt: skip


def test_texts_and_hashes_may_be_mixed(store: OutcomeStore) -> None:
    store.put_vectors(Letters().fingerprint, {text_hash("aaa"): [3, 0, 0, 0, 0]})
    expected = Letters().embed(["told", "aaa", "", "aaa", ""])
    assert np.array_equal(embed_tasks(Letters(), tasks(), store), expected)


def test_a_text_that_was_never_embedded_is_not_cached_as_an_empty_one(store: OutcomeStore) -> None:
    embed_tasks(Letters(), tasks(), store)
    assert store.vectors(Letters().fingerprint, [text_hash("never cached"), text_hash("aaa")]) == {}


@pytest.mark.parametrize("embedder", [Letters(), Uncached()])
def test_without_a_cache_a_hash_is_an_empty_text(embedder: Embedder, store: OutcomeStore) -> None:
    store.put_vectors(embedder.fingerprint, {text_hash("aaa"): [3, 0, 0, 0, 0]})
    cache: VectorCache | None = None if embedder.cacheable else store
    assert np.array_equal(embed_tasks(embedder, tasks(), cache), Letters().embed(["told", "", "", "", ""]))


def test_no_tasks_are_no_rows(store: OutcomeStore) -> None:
    assert embed_tasks(Letters(), [], store).shape == (0, 5)


def test_an_embedder_is_not_asked_where_the_cache_has_all(store: OutcomeStore) -> None:
    store.put_vectors(Letters().fingerprint, {text_hash("aaa"): [3, 0, 0, 0, 0]})
    embedder = Letters()
    assert embed_tasks(embedder, [tasks()[1]], store).tolist() == [[3, 0, 0, 0, 0]]
    assert embedder.asked == []
