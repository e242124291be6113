from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from hmrouter.errors import NotFitted
from hmrouter.features.lsa import LSA
from hmrouter.features.ngrams import Terms, terms_of
from hmrouter.state import State

WORDS = ["fix", "write", "deploy", "the", "failing", "flaky", "test", "job", "site", "build", "parser", "docs", "cache"]


def texts(n: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return [f"{i}: " + " ".join(rng.choices(WORDS, k=rng.randint(3, 12))) + "\n" * rng.randint(0, 2) for i in range(n)]


def through_a_file(state: State) -> State:
    assert all(a.flags.c_contiguous for a in state.arrays.values())
    return State(load(save(dict(state.arrays))), json.loads(json.dumps(state.meta)))


def test_the_same_texts_give_the_same_vectors() -> None:
    first, second = LSA().fit(texts(40)), LSA().fit(texts(40))
    assert np.array_equal(first.embed(texts(10, seed=1)), second.embed(texts(10, seed=1)))
    assert first.identity() == second.identity()
    assert first.fingerprint == second.fingerprint


def test_order_and_repetition_of_training_texts_do_not_matter() -> None:
    given_texts = texts(30)
    first, second = LSA().fit(given_texts), LSA().fit(given_texts[::-1] + given_texts[:7] + ["", " \n"])
    assert np.array_equal(first.embed(given_texts), second.embed(given_texts))
    assert first.identity() == second.identity()


@pytest.mark.parametrize(
    ("n", "columns"), [(0, 0), (1, 0), (2, 0), (3, 1), (5, 1), (6, 2), (60, 20), (384, 128), (420, 128)]
)
def test_columns_are_a_third_of_the_texts_and_two_more(n: int, columns: int) -> None:
    lsa = LSA().fit(texts(n))
    assert lsa.embed(["anything"]).shape == (1, columns + 2)
    assert lsa.identity()["dims"] == columns + 2


def test_dims_can_be_fewer() -> None:
    assert LSA(dims=4).fit(texts(60)).embed(["x"]).shape == (1, 6)


def test_topics_are_as_long_as_what_they_hold_of_a_text() -> None:
    lsa = LSA().fit(texts(60))
    seen, unseen, foreign = (
        np.linalg.norm(lsa.embed(asked)[:, :-2], axis=1) for asked in (texts(60), texts(20, seed=1), ["修复错误"])
    )
    assert 1.0 >= seen.mean() > unseen.mean() > foreign[0]


def test_a_file_that_says_how_long_rows_are_still_loads() -> None:
    lsa, asked = LSA().fit(texts(40)), texts(5, seed=1)
    state = lsa.state()
    state.meta["settings"]["stretch"] = False
    assert np.array_equal(LSA.from_state(state).embed(asked), lsa.embed(asked))


def test_similar_texts_are_near() -> None:
    lsa = LSA().fit(
        [f"fix the failing parser test {i}" for i in range(30)] + [f"部署网站到生产环境 {i}" for i in range(30)]
    )
    english, other_english, chinese = lsa.embed(["fix the parser", "failing test", "部署环境"])[:, :-2]
    assert english @ other_english > 0.5 > abs(english @ chinese)


@pytest.mark.parametrize("empty", ["", " ", "\n\t"])
def test_an_empty_text_is_a_row_of_zeros(empty: str) -> None:
    vectors = LSA().fit(texts(20)).embed([texts(1)[0], empty])
    assert not vectors[1].any()
    assert vectors[0].any()


@pytest.mark.parametrize(
    "training",
    [
        [],
        ["", "  "],
        ["only one text"],
        ["the same text"] * 9,
        ["a", "b", "c"],
        ["x"],
        ["修复错误", "编写测试", "部署网站", "写文档", "检查日志", "升级依赖"],
        ["\x00", "\x01\x02", "🙂 🙂"],
        ["ab c\n" * 100_000, "short", "shorter"],
    ],
    ids=["none", "empty", "one", "same", "letters", "letter", "chinese", "odd characters", "very long"],
)
def test_any_texts_will_do(training: list[str]) -> None:
    lsa = LSA().fit(training)
    asked = [*training, "Fix the failing CI job", "修复测试", "", "z" * 50_000, "\n" * 3 + "x"]
    vectors = lsa.embed(asked)
    assert np.isfinite(vectors).all()
    assert np.array_equal(vectors, LSA.from_state(through_a_file(lsa.state())).embed(asked))
    assert lsa.embed([]).shape == (0, vectors.shape[1])


@settings(max_examples=25)
@given(st.lists(st.text(max_size=30), max_size=8), st.lists(st.text(max_size=30), max_size=4))
def test_vectors_are_bounded(training: list[str], asked: list[str]) -> None:
    # A length that training never saw must not drown the topics.
    vectors = LSA().fit(training).embed(asked)
    assert vectors.shape[0] == len(asked)
    assert (np.linalg.norm(vectors[:, :-2], axis=1) <= 1 + 1e-5).all()
    assert (np.abs(vectors[:, -2:]) <= 0.9 + 1e-6).all()


def test_length_columns_tell_long_from_short() -> None:
    lengths = LSA().fit(texts(40)).embed(["fix", "fix " * 40, "fix\nthe\nparser\n"])[:, -2:]
    assert lengths[1, 0] > lengths[2, 0] > lengths[0, 0]
    assert lengths[2, 1] > lengths[0, 1] == lengths[1, 1]
    assert not LSA(length_weight=0.0).fit(texts(40)).embed(["fix " * 40])[:, -2:].any()


def test_a_batch_equals_single_texts() -> None:
    lsa, asked = LSA().fit(texts(40)), texts(10, seed=1)
    assert np.array_equal(lsa.embed(asked), np.concatenate([lsa.embed([t]) for t in asked]))


def test_a_sample_of_many_texts_does_not_depend_on_their_order() -> None:
    many = texts(90)
    first, second = LSA(max_texts=30).fit(many), LSA(max_texts=30).fit(many[::-1])
    assert first.identity() == second.identity()
    assert first.identity()["dims"] == 12
    assert np.array_equal(first.embed(many), second.embed(many))


def test_max_terms_bounds_the_vocabulary() -> None:
    assert len(LSA(max_terms=50).fit(texts(40)).terms_) == 50


def test_identity_changes_with_texts_and_settings() -> None:
    base = LSA().fit(texts(20))
    others = [LSA().fit(texts(21)), LSA().fit(texts(20, seed=1)), LSA(length_weight=0.2).fit(texts(20))]
    assert len({base.fingerprint, *(o.fingerprint for o in others)}) == 4
    assert base.identity()["name"] == "lsa"


def test_state_keeps_everything() -> None:
    lsa = LSA(dims=7, max_texts=50, max_terms=400, length_weight=0.1).fit(texts(60))
    loaded = LSA.from_state(through_a_file(lsa.state()))
    assert loaded.identity() == lsa.identity()
    assert np.array_equal(loaded.embed(texts(9, seed=2)), lsa.embed(texts(9, seed=2)))
    assert loaded.fit(texts(30)).identity() == lsa.fit(texts(30)).identity()  # the settings, too


def test_a_refit_forgets() -> None:
    lsa = LSA().fit(texts(30))
    lsa.embed(["fix"])
    assert np.array_equal(lsa.fit(texts(40, seed=3)).embed(["fix"]), LSA().fit(texts(40, seed=3)).embed(["fix"]))


def test_an_unfitted_embedder_says_so() -> None:
    for use in (lambda: LSA().embed(["x"]), lambda: LSA().identity(), lambda: LSA().state()):
        with pytest.raises(NotFitted, match="call fit"):
            use()


def test_a_file_of_format_1_has_its_terms_as_strings_also_those_of_one_text() -> None:
    lsa, asked = LSA(min_texts=1).fit(texts(40)), texts(5, seed=1)
    state = lsa.state()
    assert (terms_of(as_texts(state.arrays["terms"])) == state.arrays["terms"]).all()
    old: dict[str, Any] = {
        "settings": {"dims": 128, "max_texts": 20_000, "max_terms": 65_536, "length_weight": 0.3, "stretch": False}
    }
    old |= {"revision": "0123456789abcdef", "terms": as_texts(state.arrays["terms"])}
    arrays = {name: array for name, array in state.arrays.items() if name != "terms"}
    loaded = LSA.from_state(State(arrays, old))
    assert np.array_equal(loaded.embed(asked), lsa.embed(asked))
    assert loaded.identity()["revision"] == "0123456789abcdef"


# -- what a file gives away -------------------------------------------------------------------------------------------

KEY = "sk-Zq7Xw2Jv9Kp4Rt6Ym8Bn3"


def as_texts(terms: Terms) -> list[str]:
    """What the terms are the n-grams of, as whoever has the file can find out."""
    codes = [[int(term) >> shift & 0x1FFFFF for shift in (42, 21, 0)] for term in terms]
    return ["".join(chr(code - 1) for code in term if code) for term in codes]


def longest_known(key: str, terms: set[str]) -> int:
    """The most characters of a key that can be followed from term to term."""
    run = best = 2
    for i in range(len(key) - 2):
        run = run + 1 if key[i : i + 3] in terms else 2
        best = max(best, run)
    return best


@pytest.mark.parametrize("tasks", [1, 2])
def test_a_key_in_one_or_two_of_40_tasks_is_not_in_the_state(tasks: int) -> None:
    told = texts(40)
    for i in range(tasks):
        told[i] += f" export TOKEN={KEY}"
    kept, all_terms = (
        set(as_texts(LSA(min_texts=least).fit(told).state().arrays["terms"])) for least in (LSA().min_texts, 1)
    )
    assert longest_known(KEY.lower(), all_terms) == len(KEY)  # what the state would hold
    assert longest_known(KEY.lower(), kept) <= 3
    assert not {term for term in kept if sum(term in text.lower() for text in told) < 3}


def test_only_repetition_of_a_text_does_not_make_its_terms_common() -> None:
    told = [*texts(30), *[f"the key is {KEY}"] * 10]
    assert longest_known(KEY.lower(), set(as_texts(LSA().fit(told).terms_))) <= 3
