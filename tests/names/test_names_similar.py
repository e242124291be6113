import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.names.aliases import Aliases
from hmrouter.names.similar import SUSPICIOUS, distance, look_alikes


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("claude-sonnet-45", "claude-sonnet-4-5"),
        ("kimi-2-5", "kimi-k2-5"),
        ("qwen-3:8b", "qwen-3-8b"),
        ("gtp-5", "gpt-5"),
        ("cladue-code", "claude-code"),
        ("agent-swe", "swe-agent"),
        ("openhand", "openhands"),
        ("OpenHands", "open-hands"),
        ("terminus-2", "terminus2"),
        ("通义千问-max", "通义千问max"),
    ],
)
def test_a_slip_is_suspicious(a: str, b: str) -> None:
    assert distance(a, b) <= SUSPICIOUS


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("gpt-5", "gpt-5-1"),
        ("gpt-5", "gpt-5-mini"),
        ("gpt-5-mini", "gpt-5-nano"),
        ("gpt-4", "gpt-4o"),
        ("claude-opus-4-5", "claude-opus-4-6"),
        ("claude-opus-4-5", "claude-sonnet-4-5"),
        ("o3-mini-low", "o3-mini-high"),
        ("qwen-3-coder-480b-a35b-instruct", "qwen-3-coder-480b-a35b-instruct-high"),
        ("deepseek-r1", "deepseek-r1-0528"),
        ("terminus-1", "terminus-2"),
        ("openclaw", "openclaw-local"),
        ("pi", "rag"),
        ("a" * 40, "a" * 37 + "bcd"),
    ],
)
def test_versions_variants_and_strangers_are_not(a: str, b: str) -> None:
    assert distance(a, b) > SUSPICIOUS


NAMES = st.text("abk-:25", min_size=1, max_size=8)


@given(NAMES, NAMES)
def test_a_distance_is_one(a: str, b: str) -> None:
    assert distance(a, a) == 0.0
    assert distance(a, b) == distance(b, a)
    assert 0.0 <= distance(a, b) <= 1.0


@given(st.text("abk", min_size=10, max_size=20), st.integers(0, 9), st.sampled_from("xyz"))
def test_one_letter_changed_is_one_edit(name: str, at: int, letter: str) -> None:
    assert distance(name, name[:at] + letter + name[at + 1 :]) == 1 / len(name)


@given(st.lists(NAMES, max_size=12), st.lists(NAMES, max_size=12))
def test_look_alikes_are_all_pairs_within_the_distance(names: list[str], known: list[str]) -> None:
    expected = {
        name: {other for other in {*names, *known} - {name} if distance(name, other) <= SUSPICIOUS} for name in names
    }
    assert {name: set(others) for name, others in look_alikes(names, known).items()} == {
        name: others for name, others in expected.items() if others
    }


def test_the_nearest_comes_first() -> None:
    assert look_alikes(["openhandss"], ["openhands", "open-hand-ss"]) == {"openhandss": ["open-hand-ss", "openhands"]}


def test_among_the_shipped_names_only_the_two_that_the_paper_counts_apart_look_alike() -> None:
    shipped = Aliases.shipped()
    assert look_alikes(shipped.models) == {"kimi-2-5": ["kimi-k2-5"], "kimi-k2-5": ["kimi-2-5"]}
    assert look_alikes(shipped.harnesses) == {}
