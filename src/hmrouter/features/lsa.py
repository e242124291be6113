"""The default embedder: latent semantic analysis of the user's own tasks.

Character 1-3-gram TF-IDF with rows of unit length, truncated SVD, and two columns for the length of the text. It needs
no downloaded weights, reads whole texts and any script. Only the fit needs SciPy.

Only terms that occur in several texts are kept: a router file must not hold what only one task says, such as a key, and
forecasts are no worse without the others (docs/decisions/0019).

After the SVD a row is as long as what the topics hold of its text. Stretched to unit length again, texts that were not
in the fit, of which the topics hold less, would lie elsewhere than those that were (docs/decisions/0014).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hmrouter.errors import NotFitted
from hmrouter.features.base import Embedder, Vectors
from hmrouter.features.directions import leading_directions
from hmrouter.features.ngrams import TermWeights, inverse_frequencies, shared_terms, terms_of
from hmrouter.state import Array, State
from hmrouter.types import text_hash

# A text far longer than any seen in training says "very long", not a number that drowns the topics.
MAX_DEVIATIONS = 3.0


class LSA(Embedder):
    """Latent semantic analysis, fitted on the training texts.

    >>> vectors = LSA().fit(["fix the bug", "write the test", "deploy the site"]).embed(["fix the test", ""])
    >>> vectors.shape, float(np.abs(vectors[1]).max())
    ((2, 3), 0.0)
    """

    name: ClassVar[str] = "lsa"
    cacheable: ClassVar[bool] = False  # each fit has columns of its own, and a text takes less than a look-up

    def __init__(
        self,
        dims: int = 128,
        *,
        max_texts: int = 20_000,
        max_terms: int = 65_536,
        min_texts: int = 3,
        length_weight: float = 0.3,
    ) -> None:
        """`min_texts`: the least number of different texts that a term must occur in to be kept."""
        self.dims = dims
        self.max_texts = max_texts
        self.max_terms = max_terms
        self.min_texts = min_texts
        self.length_weight = length_weight

    def fit(self, texts: Sequence[str]) -> Self:
        """Fit on the distinct non-empty texts, at most `max_texts` of them, chosen by their hash."""
        distinct = sorted({t for t in texts if t.strip()}, key=text_hash)[: self.max_texts]
        self.terms_ = np.zeros(0, dtype=np.uint64)
        self.idf_ = np.zeros(0, dtype=np.float32)
        self.components_ = np.zeros((0, 0), dtype=np.float32)
        self.length_mean_ = np.zeros(2, dtype=np.float32)
        self.length_scale_ = np.ones(2, dtype=np.float32)
        settings = f"{self.dims} {self.max_texts} {self.max_terms} {self.min_texts} {self.length_weight}"
        digest = hashlib.sha256(settings.encode())
        for text in distinct:
            digest.update(text_hash(text).encode())
        self.revision_ = digest.hexdigest()[:16]
        if not distinct:
            return self
        lengths = _lengths(distinct)
        self.length_mean_ = lengths.mean(axis=0)
        spread = lengths.std(axis=0)
        self.length_scale_ = np.where(spread > 1e-3, spread, np.float32(1.0))
        self.terms_, in_texts = shared_terms(distinct, self.min_texts, self.max_terms)
        self.idf_ = inverse_frequencies(in_texts, len(distinct))
        k = min(max(1, min(self.dims, len(distinct) // 3)), len(self.terms_))
        if k:
            self.components_ = leading_directions(self._counts(distinct), k)
        return self

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts: topic columns, of unit length at most, and two length columns; zeros for an empty text."""
        if not hasattr(self, "components_"):
            raise NotFitted("the LSA embedder is not fitted; call fit(texts) first")
        out = np.zeros((len(texts), self.components_.shape[1] + 2), dtype=np.float32)
        rows = [i for i, text in enumerate(texts) if text.strip()]
        if not rows or not len(self.terms_):
            return out
        weights = TermWeights(self.terms_, self.idf_)
        for i in rows:
            places, of_text = weights(texts[i])
            # One term after the other: the same to the last bit in any batch, and on any machine.
            out[i, :-2] = np.add.reduce(of_text[:, None] * self.components_[places], axis=0)
        lengths = (_lengths([texts[i] for i in rows]) - self.length_mean_) / self.length_scale_
        out[rows, -2:] = self.length_weight * np.clip(lengths, -MAX_DEVIATIONS, MAX_DEVIATIONS)
        return out

    def identity(self) -> dict[str, Any]:
        """Name the texts, as a hash with the settings, that the columns come from."""
        if not hasattr(self, "revision_"):
            raise NotFitted("the LSA embedder is not fitted; call fit(texts) first")
        return {"name": self.name, "revision": self.revision_, "dims": self.components_.shape[1] + 2}

    def state(self) -> State:
        """Save the vocabulary, the directions and the settings."""
        identity = self.identity()
        arrays: dict[str, Array] = {
            "terms": self.terms_,
            "idf": self.idf_,
            "components": self.components_,
            "length_mean": self.length_mean_,
            "length_scale": self.length_scale_,
        }
        settings = {
            "dims": self.dims, "max_texts": self.max_texts, "max_terms": self.max_terms,
            "min_texts": self.min_texts, "length_weight": self.length_weight,
        }  # fmt: skip
        return State(arrays, {"settings": settings, "revision": identity["revision"]})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the fitted embedder."""
        # Files from before the choice was settled (docs/decisions/0014) also say that they do not stretch.
        self = cls(**{key: value for key, value in state.meta["settings"].items() if key != "stretch"})
        # Files of format 1 hold terms as strings, also those of a single text.
        self.terms_ = terms_of(state.meta["terms"]) if "terms" in state.meta else state.arrays["terms"]
        self.revision_ = state.meta["revision"]
        self.idf_ = state.arrays["idf"]
        self.components_ = state.arrays["components"]
        self.length_mean_ = state.arrays["length_mean"]
        self.length_scale_ = state.arrays["length_scale"]
        if not len(self.terms_) == len(self.idf_) == len(self.components_):
            raise ValueError(f"{len(self.terms_)} terms have {len(self.idf_)} weights")
        return self

    def _counts(self, texts: Sequence[str]) -> Any:
        """Weigh the terms of texts into a sparse matrix, (texts, terms)."""
        from scipy.sparse import csr_matrix

        weigh = TermWeights(self.terms_, self.idf_)
        rows = [weigh(text) for text in texts]
        ends = np.cumsum([0, *(len(places) for places, _ in rows)])
        places, weights = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return csr_matrix((weights, places, ends), shape=(len(texts), len(self.terms_)))


def _lengths(texts: Sequence[str]) -> Vectors:
    counts = [(len(t), t.count("\n")) for t in texts]
    return np.log1p(np.array(counts, dtype=np.float32))
