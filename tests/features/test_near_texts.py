"""Texts that differ in little are found; texts that merely sound alike are not."""

from __future__ import annotations

import json
import random as random_
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.features.near.templates import HEAD, TAIL
from hmrouter.features.near_texts import NearTexts
from hmrouter.state import State

WORDS = re.findall(
    r"\w+",
    "open close river stone amber violet gather settle window ladder market winter copper basket signal harbour meadow"
    " thunder pencil ribbon",
)
PREAMBLE = " ".join(f"{a} {b} the {c} of" for a in WORDS for b, c in zip(WORDS[::3], WORDS[1::3], strict=False))
sentences = st.lists(st.sampled_from([*WORDS, "the", "of", "Maria", "17", "三月"]), max_size=60).map(" ".join)
texts_of_groups = st.lists(st.tuples(sentences, st.integers(0, 2)), max_size=25)


def alike(*texts: str) -> bool:
    families = NearTexts.of(texts, [0] * len(texts))[1]
    return len(set(families.tolist())) == 1


def partition(families: Sequence[int]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(np.asarray(families) == family).tolist()) for family in families}


@pytest.mark.parametrize(
    "texts",
    [
        ("Send Maria the report for March", "Send Ahmed the report for June"),
        ("Restart job 17 of the nightly batch at 03:00", "restart job 2041 of  the nightly batch, at 23:59:10"),
        (
            "Copy /data/in.csv to s3://a/b and tell ana@example.org",
            "Copy /tmp/x/y.csv to s3://q/r and tell bo@example.com",
        ),
        ("Undo commit 3f2a9bc in the 'billing' service", "Undo commit 00d1e77 in the 'search index' service"),
        (
            "implement the library babel from its specification so that its tests pass",
            "implement the library jinja from its specification so that its tests pass",
        ),
        ("请把3月的销售报表发给《张伟》并抄送财务部门", "请把12月的销售报表发给《李娜》并抄送财务部门"),
        (
            "请根据四份合同整理华东地区的付款条件并写成一份说明文件",
            "请根据四份合同整理华南地区的付款条件并写成一份说明文件",
        ),
        (f"{PREAMBLE} write it down in 5 lines", f"{PREAMBLE} write it down in 17 lines"),
    ],
)
def test_a_template_with_other_values_is_one_family(texts: tuple[str, str]) -> None:
    assert alike(*texts)


@pytest.mark.parametrize(
    "texts",
    [
        ("Fix the failing CI job", "Fix the flaky CI job on main"),
        ("Delete the old logs", "Rotate the old logs"),
        ("Find the Interaction Report for Viagra", "Find the HGX Driver for Ubuntu"),
        ("17 4 2041", "17 4 2042"),
        ("Schreibe einen Brief für die Mutter und den Vater", "Schreibe einen Test für die Klasse und den Server"),
        (
            'Answer this question: "who was first on the moon then"',
            'Answer this question: "what does a pound of tea cost"',
        ),
        ("整合四份文件的内容并梳理出完整的主持手册", "整理一份面向全公司的办公成本节约规范汇总"),
        (f"{PREAMBLE} now write a parser for invoices in rust", f"{PREAMBLE} then translate that poem for my old aunt"),
        (f"Write a parser for invoices in rust. {PREAMBLE}", f"Translate this poem for my old aunt. {PREAMBLE}"),
    ],
)
def test_what_merely_sounds_alike_is_apart(texts: tuple[str, str]) -> None:
    assert not alike(*texts)


def test_the_same_text_in_two_groups_is_two_families_and_any_group_finds_both() -> None:
    text = "Summarise the open tickets of the week"
    index, families = NearTexts.of([text, text, text], [0, 1, 0])
    assert families.tolist() == [0, 1, 0]
    assert (index.find(text, 0), index.find(text, 1), index.find(text, 2)) == ([0], [1], [])
    assert index.find(text) == [0, 1]


def test_an_empty_text_is_near_nothing() -> None:
    index, families = NearTexts.of(["", " \n", ""], [0, 0, 0])
    assert families.tolist() == [0, 1, 2]
    assert index.find("") == []
    later, family = index.with_text("", 0)
    assert (family, later.families, index.families, later.find("")) == (3, 4, 3, [])
    assert NearTexts.of([], [])[0].with_text("Water the plants now", 0)[1] == 0


def test_only_numbers_must_be_the_same_numbers() -> None:
    index, _ = NearTexts.of(["1 2 3"], [0])
    assert index.find("1  2 3") == [0]
    assert index.find("1 2 4") == []


def test_the_nearest_comes_first() -> None:
    words = " ".join(WORDS)
    near, further = words.replace("stone", "chalk"), words.replace("stone", "chalk").replace("pencil", "crayon")
    index, families = NearTexts.of([further, near], [0, 1])
    assert index.find(near) == [families[1], families[0]]


def test_a_very_long_text_is_read_at_its_ends_and_its_middle_must_be_equal() -> None:
    def long(start: str, middle: str, end: str) -> str:
        return f"{start} {PREAMBLE}".ljust(HEAD, ".") + middle * 100_000 + f"{PREAMBLE} {end}".rjust(TAIL, ".")

    index, _ = NearTexts.of([long("Run 5 jobs", "a b ", "by 9:00")], [0])
    assert index.find(long("Run 6 jobs", "a b ", "by 8:30")) == [0]
    assert index.find(long("Run 6 jobs", "a c ", "by 8:30")) == []


def test_a_family_does_not_drift() -> None:
    """Every text differs from the next in a word, the first from the last in all: not one family."""
    steps = [" ".join(["other" + word for word in WORDS[:k]] + WORDS[k:]) for k in range(len(WORDS) + 1)]
    index, families = NearTexts.of(steps, [0] * len(steps))
    assert 1 < len(set(families.tolist())) < len(steps)
    assert families[0] != families[-1]
    for text, family in zip(steps, families.tolist(), strict=True):
        assert index.find(text)[0] == family


@given(texts_of_groups, st.randoms(use_true_random=False))
def test_order_does_not_decide_who_shares_a_family(pairs: list[tuple[str, int]], random: random_.Random) -> None:
    order = list(range(len(pairs)))
    random.shuffle(order)
    there = NearTexts.of([text for text, _ in pairs], [group for _, group in pairs])[1]
    shuffled = NearTexts.of([pairs[i][0] for i in order], [pairs[i][1] for i in order])[1]
    back = np.empty(len(pairs), int)
    back[order] = shuffled
    assert partition(there.tolist()) == partition(back.tolist())
    seen = list(dict.fromkeys(there.tolist()))
    assert seen == list(range(len(seen)))


@given(texts_of_groups, texts_of_groups)
def test_what_was_indexed_is_found_first_and_saved_and_old_indexes_stay(
    first: list[tuple[str, int]], then: list[tuple[str, int]]
) -> None:
    index, families = NearTexts.of([text for text, _ in first], [group for _, group in first])
    known = [(text, group, family) for (text, group), family in zip(first, families.tolist(), strict=True) if text]
    asked = [text for text, _ in first + then]
    before = ([index.find(text) for text in asked], index.families)
    grown = index
    for text, group in then:
        grown, family = grown.with_text(text, group)
        if text:
            known.append((text, group, family))
    for text, group, family in known:
        assert grown.find(text, group)[0] == family
    assert ([index.find(text) for text in asked], index.families) == before
    state = grown.state()
    loaded = NearTexts.from_state(State(state.arrays, json.loads(json.dumps(state.meta))))
    assert loaded.families == grown.families
    assert [loaded.find(text) for text in asked] == [grown.find(text) for text in asked]
    assert [loaded.with_text(text, 0)[1] for text in asked] == [grown.with_text(text, 0)[1] for text in asked]


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 99), st.integers(0, 1)), max_size=20))
def test_one_by_one_gives_what_all_at_once_gives(picked: list[tuple[int, int, int]]) -> None:
    """Of separated texts: each template has words of its own."""
    texts = [f"{WORDS[t]} {WORDS[t - 1]}x {WORDS[t - 2]}y of all {WORDS[t - 3]}z up to {n}" for t, n, _ in picked]
    groups = [group for _, _, group in picked]
    grown, one_by_one = NearTexts.of([], [])[0], []
    for text, group in zip(texts, groups, strict=True):
        grown, family = grown.with_text(text, group)
        one_by_one.append(family)
    index, families = NearTexts.of(texts, groups)
    assert one_by_one == families.tolist()
    assert [index.find(text) for text in texts] == [grown.find(text) for text in texts]
    for name, array in index.state().arrays.items():
        assert array.tolist() == grown.state().arrays[name].tolist(), name


def test_many_texts_of_one_preamble_stay_bounded_and_apart() -> None:
    """Where a band would lead to more leaders than are kept, equal templates are still found."""
    letters = "bcdfghklmnprst"
    asks = [" ".join(f"{a}o{b}{vowel}l" for vowel in "aeiouyw") for a in letters for b in letters]
    texts = [f"{PREAMBLE[:600]} so please {ask} and take 5 minutes" for ask in asks]
    index, families = NearTexts.of(texts, [0] * len(texts))
    assert len(set(families.tolist())) == len(texts)
    assert all(index.find(t.replace("5", "6"))[0] == f for t, f in zip(texts, families.tolist(), strict=True))


def test_hashes_are_the_same_on_every_machine() -> None:
    texts = ["Send Maria the report for March", " ".join(WORDS), f"{PREAMBLE} 三月"]
    arrays = NearTexts.of(texts, [0, 0, 3])[0].state().arrays
    sums = {name: int(arrays[name].astype(np.uint64).sum() % 2**32) for name in ("keys", "bands", "sizes", "cells")}
    assert sums == {"keys": 1003620550, "bands": 1359389239, "sizes": 722, "cells": 5741}
