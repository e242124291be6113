"""Terms and weights are those of scikit-learn's TfidfVectorizer, to the last bit."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from hmrouter.features import ngrams
from hmrouter.features.ngrams import TermWeights, grams, inverse_frequencies, shared_terms, terms_of

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
REAL = SHARED / "corpus" / "terminalbench_2" / "queries.jsonl"
WORDS = ["fix", "write", "the", "failing", "Größe", "naïve", "部署", "网站", "🙂", "İzmir", "\t\n", "\ud800", "x\x00"]
odd_texts = st.lists(st.text(st.sampled_from("aAbé \n\tß字İ1\u2003\x00\ud800🙂"), max_size=30), min_size=1, max_size=6)


def texts(n: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for _ in range(n)]


def theirs(least: int = 1, most: int | None = None) -> TfidfVectorizer:
    return TfidfVectorizer(
        analyzer="char", ngram_range=(1, 3), sublinear_tf=True, dtype=np.float32, min_df=least, max_features=most
    )


@given(odd_texts, odd_texts, st.integers(1, 3))
def test_terms_and_weights_are_those_of_scikit_learn(corpus: list[str], asked: list[str], least: int) -> None:
    corpus = ["a b", "a b c", "ab", *corpus]
    wanted = theirs(least).fit(corpus)
    terms, in_texts = shared_terms(corpus, least, 10**6)
    idf = inverse_frequencies(in_texts, len(corpus))
    assert np.array_equal(terms, terms_of(wanted.get_feature_names_out().tolist()))
    assert np.array_equal(idf, wanted.idf_)
    rows = wanted.transform(asked)
    rows.sort_indices()
    for i, text in enumerate(asked):
        places, weights = TermWeights(terms, idf)(text)
        assert np.array_equal(places, rows[i].indices)
        assert np.array_equal(weights, rows[i].data)


@pytest.mark.skipif(not REAL.is_file(), reason="no shared data; set HMROUTER_SHARED_DATA to its folder")
def test_real_texts_have_the_terms_and_weights_of_scikit_learn() -> None:
    corpus = [json.loads(line)["text"] for line in REAL.read_text(encoding="utf-8").splitlines()]
    wanted = theirs(3).fit(corpus)
    terms, in_texts = shared_terms(corpus, 3, 10**6)
    weigh = TermWeights(terms, inverse_frequencies(in_texts, len(corpus)))
    rows = wanted.transform(corpus)
    rows.sort_indices()
    ours = [weigh(text) for text in corpus]
    assert np.array_equal(np.concatenate([places for places, _ in ours]), rows.indices)
    assert np.abs(np.concatenate([weights for _, weights in ours]) - rows.data).max() <= 1e-12


def test_the_most_frequent_terms_are_kept_in_their_order() -> None:
    corpus = texts(60)
    every, _ = shared_terms(corpus, 1, 10**6)
    total = np.zeros(len(every), dtype=np.int64)
    for text in corpus:
        found, counts = grams(text)
        total[np.searchsorted(every, found)] += counts
    some, _ = shared_terms(corpus, 1, 50)
    assert len(some) == 50
    assert (np.diff(some.astype(object)) > 0).all()
    left_out = ~np.isin(every, some)
    assert total[~left_out].min() >= total[left_out].max()


def test_counting_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shared_terms(texts(50), 2, 400)
    monkeypatch.setattr(ngrams, "BLOCK", 100)
    parts = shared_terms(texts(50), 2, 400)
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))


def test_no_texts_have_no_terms() -> None:
    terms, in_texts = shared_terms([], 1, 10)
    assert len(terms) == len(in_texts) == 0
    places, weights = TermWeights(terms, inverse_frequencies(in_texts, 0))("anything")
    assert len(places) == len(weights) == 0


def test_every_term_has_a_number_of_its_own_in_the_order_of_texts() -> None:
    some = sorted(
        {a + b + c for a in "\x00a\U0010ffff" for b in ("", "\x00", "b") for c in ("", "\x00", "z") if b or not c}
    )
    numbers = terms_of(some).tolist()
    assert numbers == sorted(set(numbers))
