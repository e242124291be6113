"""The default embedder: latent semantic analysis of the user's own tasks.

Character 1-3-gram TF-IDF with rows of unit length, truncated SVD, and two columns for the length of the text. It needs
no downloaded weights, reads whole texts and any script. scikit-learn is imported when it is used, not before.

After the SVD a row is as long as what the topics hold of its text. Stretched to unit length again, texts that were not
in the fit, of which the topics hold less, would lie elsewhere than those that were (docs/decisions/0014).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hmrouter.errors import NotFitted
from hmrouter.features.base import Embedder, Vectors
from hmrouter.state import Array, State
from hmrouter.types import text_hash

LONGEST = 3
"""Characters of the longest terms."""
SPACES = re.compile(r"\s\s+")
# A text far longer than any seen in training says "very long", not a number that drowns the topics.
MAX_DEVIATIONS = 3.0


class LSA(Embedder):
    """Latent semantic analysis, fitted on the training texts.

    >>> vectors = LSA().fit(["fix the bug", "write a test", "deploy the site"]).embed(["fix the test", ""])
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
        length_weight: float = 0.3,
    ) -> None:
        self.dims = dims
        self.max_texts = max_texts
        self.max_terms = max_terms
        self.length_weight = length_weight
        self._ready: TermWeights | None = None

    def fit(self, texts: Sequence[str]) -> Self:
        """Fit on the distinct non-empty texts, at most `max_texts` of them, chosen by their hash."""
        distinct = sorted({t for t in texts if t.strip()}, key=text_hash)[: self.max_texts]
        self._ready = None
        self.terms_: list[str] = []
        self.idf_ = np.zeros(0, dtype=np.float32)
        self.components_ = np.zeros((0, 0), dtype=np.float32)
        self.length_mean_ = np.zeros(2, dtype=np.float32)
        self.length_scale_ = np.ones(2, dtype=np.float32)
        settings = f"{self.dims} {self.max_texts} {self.max_terms} {self.length_weight}"
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
        vectorizer = self._vectorizer()
        counts = vectorizer.fit_transform(distinct)
        self.terms_ = vectorizer.get_feature_names_out().tolist()
        self.idf_ = vectorizer.idf_.astype(np.float32)
        k = max(1, min(self.dims, len(distinct) // 3))
        self.components_ = _leading_directions(counts, min(k, *counts.shape))
        return self

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts: topic columns, of unit length at most, and two length columns; zeros for an empty text."""
        if not hasattr(self, "components_"):
            raise NotFitted("the LSA embedder is not fitted; call fit(texts) first")
        out = np.zeros((len(texts), self.components_.shape[1] + 2), dtype=np.float32)
        rows = [i for i, text in enumerate(texts) if text.strip()]
        if rows and self.terms_:
            written = [texts[i] for i in rows]
            if self._ready is None:  # made once: indexing the vocabulary takes longer than reading a text
                self._ready = TermWeights(self.terms_, self.idf_)
            out[rows, :-2] = np.asarray(self._ready(written) @ self.components_)
            lengths = (_lengths(written) - self.length_mean_) / self.length_scale_
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
        arrays = {
            "idf": self.idf_,
            "components": self.components_,
            "length_mean": self.length_mean_,
            "length_scale": self.length_scale_,
        }
        settings = {
            "dims": self.dims, "max_texts": self.max_texts, "max_terms": self.max_terms,
            "length_weight": self.length_weight,
        }  # fmt: skip
        return State(arrays, {"settings": settings, "revision": identity["revision"], "terms": self.terms_})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the fitted embedder."""
        # Files from before the choice was settled (docs/decisions/0014) also say that they do not stretch.
        self = cls(**{key: value for key, value in state.meta["settings"].items() if key != "stretch"})
        self.terms_ = list(state.meta["terms"])
        self.revision_ = state.meta["revision"]
        self.idf_ = state.arrays["idf"]
        self.components_ = state.arrays["components"]
        self.length_mean_ = state.arrays["length_mean"]
        self.length_scale_ = state.arrays["length_scale"]
        if self.terms_ and not len(self.terms_) == len(self.idf_) == len(self.components_):
            raise ValueError(f"{len(self.terms_)} terms have {len(self.idf_)} weights")
        return self

    def _vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(
            analyzer="char", ngram_range=(1, LONGEST), sublinear_tf=True, dtype=np.float32, max_features=self.max_terms
        )


class TermWeights:
    """Weighs known terms in texts as scikit-learn's TfidfVectorizer does, bit for bit; quick for a single text.

    >>> TermWeights(["a", "ab", "b"], np.ones(3, dtype=np.float32))(["abba"]).toarray().astype(float).round(3).tolist()
    [[0.652, 0.385, 0.652]]
    """

    def __init__(self, terms: Sequence[str], idf: Vectors) -> None:
        self._at = {term: i for i, term in enumerate(terms)}
        self._idf = idf

    def __call__(self, texts: Sequence[str]) -> Any:
        """A sparse matrix (texts, terms) with rows of unit length, zeros for a text without a known term."""
        from scipy.sparse import csr_matrix

        rows = [self._row(text) for text in texts]
        ends = np.cumsum([0, *(len(places) for places, _ in rows)])
        places, weights = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return csr_matrix((weights, places, ends), shape=(len(texts), len(self._at)))

    def _row(self, text: str) -> tuple[Array, Vectors]:
        text = SPACES.sub(" ", text.lower())
        grams = Counter(text[i : i + n] for n in range(1, LONGEST + 1) for i in range(len(text) - n + 1))
        found = sorted((self._at[gram], n) for gram, n in grams.items() if gram in self._at)
        places, counts = np.array(found, dtype=np.int32).reshape(-1, 2).T
        weights = (np.log(counts.astype(np.float32)) + np.float32(1.0)) * self._idf[places]
        # In the order of the terms and in double precision, as there: cumsum adds one after the other.
        squares = np.cumsum((weights * weights).astype(np.float64))
        length = np.sqrt(squares[-1]) if len(squares) else 0.0
        return places, weights if length == 0.0 else (weights.astype(np.float64) / length).astype(np.float32)


def _lengths(texts: Sequence[str]) -> Vectors:
    counts = [(len(t), t.count("\n")) for t in texts]
    return np.log1p(np.array(counts, dtype=np.float32))


def _leading_directions(counts: Any, k: int) -> Vectors:
    """The first k right singular vectors, (terms, k): terms first, as the product with sparse counts wants them."""
    from sklearn.utils.extmath import randomized_svd

    right = randomized_svd(counts, k, n_iter=7, random_state=0)[2]
    return np.ascontiguousarray(right.T, dtype=np.float32)
