"""The embedder contract: text -> vectors, with an identity that is saved with the router."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hmrouter.plugins import Registry
from hmrouter.state import State

Vectors = NDArray[np.float32]

EMBEDDERS = Registry(
    "embedder",
    "hmrouter.embedders",
    {
        "lsa": "hmrouter.features.lsa:LSA",
        "openai": "hmrouter.features.openai:OpenAIEmbedder",
        "sentence-transformers": "hmrouter.features.sentence:SentenceEmbedder",
    },
)


class Embedder(ABC):
    """Turns texts into vectors. Constructor arguments are the configuration; `fit` learns, if anything."""

    name: ClassVar[str]
    cacheable: ClassVar[bool] = True
    """Whether a vector costs enough to be kept: a request, or a pass through a large model."""

    @classmethod
    def from_environment(cls) -> Self:
        """Make the embedder with its defaults, or as environment variables say."""
        return cls()

    def fit(self, texts: Sequence[str]) -> Self:
        """Learn from the training texts; a frozen embedder has nothing to learn."""
        return self

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed each text as one row; an empty text gets a row of zeros."""

    def expect(self, dims: int) -> Self:
        """Accept that vectors kept from earlier have this length, or refuse if its own have another."""
        return self

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Say what shapes the vectors (name, revision, dims, ...): equal identities give equal vectors."""

    @abstractmethod
    def state(self) -> State:
        """Save everything that `from_state` needs; never a secret."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self:
        """Restore the embedder that `state` saved."""

    @property
    def fingerprint(self) -> str:
        """Hash the identity; vectors are cached under it."""
        return hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()[:16]


def embedder_named(name: str) -> Embedder:
    """Make the embedder of this name, with its defaults or as the environment says.

    >>> embedder_named("lsa").name
    'lsa'
    """
    embedder: Embedder = EMBEDDERS.load(name).from_environment()
    return embedder
