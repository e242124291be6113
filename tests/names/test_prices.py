"""Token prices against the package's own calculation, and the names that find them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from genai_prices import Usage, calc_price
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.names.prices import token_cost, with_token_cost
from hmrouter.types import Outcome, Route, Task

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)

# Our canonical name -> how the maker spells it.
SOLD_BY_THE_MAKER = {
    "claude-opus-4-5": ("anthropic", "claude-opus-4-5-20251101"),
    "claude-sonnet-3-7": ("anthropic", "claude-3-7-sonnet-20250219"),
    "claude-haiku-4-5": ("anthropic", "claude-haiku-4-5"),
    "claude-opus-4": ("anthropic", "claude-opus-4-20250514"),
    "gpt-5-5": ("openai", "gpt-5.5"),
    "gpt-5-1-codex-max": ("openai", "gpt-5.1-codex-max"),
    "gpt-4o": ("openai", "gpt-4o"),
    "gpt-4": ("openai", "gpt-4"),
    "gemini-2-5-flash": ("google", "gemini-2.5-flash"),
    "gemini-3-pro-preview": ("google", "gemini-3-pro-preview"),
    "grok-4": ("x-ai", "grok-4-0709"),
    "glm-4-7": ("zai", "glm-4.7"),
    "kimi-k2-thinking": ("moonshotai", "kimi-k2-thinking"),
    "minimax-m2-5": ("minimax", "MiniMax-M2.5"),
    "deepseek-v3-2": ("deepseek", "deepseek-v3.2"),
    "devstral-2512": ("mistral", "devstral-2512"),
}


def by_the_package(
    provider: str, model: str, input_tokens: int, cached: int, output_tokens: int, when: datetime = NOON
) -> float:
    usage = Usage(input_tokens=input_tokens, cache_read_tokens=cached, output_tokens=output_tokens)
    return float(calc_price(usage, model, provider_id=provider, genai_request_timestamp=when).total_price)


@pytest.mark.parametrize("model", SOLD_BY_THE_MAKER)
def test_the_price_is_the_makers(model: str) -> None:
    # Small enough for the first tier, so that the package's own calculation is the right answer.
    expected = by_the_package(*SOLD_BY_THE_MAKER[model], 90_000, 70_000, 5_000)
    assert expected > 0
    assert token_cost(model, 90_000, 70_000, 5_000, NOON) == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 100_000), st.integers(0, 100_000), st.integers(1, 100_000))
def test_any_tokens_below_the_first_tier_cost_what_the_package_says(fresh: int, cached: int, output: int) -> None:
    expected = by_the_package("anthropic", "claude-sonnet-4-5", fresh + cached, cached, output)
    assert token_cost("claude-sonnet-4-5", fresh + cached, cached, output, NOON) == pytest.approx(expected, rel=1e-12)


def test_the_sum_of_many_requests_stays_in_the_first_tier() -> None:
    one = token_cost("claude-sonnet-4-5", 100_000, 50_000, 1_000, NOON)
    many = token_cost("claude-sonnet-4-5", 5_000_000, 2_500_000, 50_000, NOON)
    assert one is not None
    assert many == pytest.approx(50 * one)
    # The package takes such a sum for one large request, which costs more.
    assert by_the_package("anthropic", "claude-sonnet-4-5", 5_000_000, 2_500_000, 50_000) > 1.4 * 50 * one


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("claude-opus-4-5-high", "claude-opus-4-5"),
        ("claude-sonnet-3-7:thinking", "claude-sonnet-3-7"),
        ("o4-mini-low", "o4-mini"),
        ("deepseek-v3-2-reasoner", "deepseek-v3-2"),
        ("anthropic/claude-opus-4.5-20251101", "claude-opus-4-5"),
        ("GPT-5.5", "gpt-5-5"),
        ("gemini-3-pro", "gemini-3-pro-preview"),
    ],
)
def test_effort_spelling_and_preview_do_not_change_the_price(name: str, same: str) -> None:
    expected = token_cost(same, 10_000, 2_000, 1_000, NOON)
    assert expected
    assert token_cost(name, 10_000, 2_000, 1_000, NOON) == expected


def test_a_mode_that_is_a_model_of_its_own_keeps_its_price() -> None:
    expected = by_the_package("moonshotai", "kimi-k2-thinking", 1_000_000, 0, 0)
    assert expected != by_the_package("moonshotai", "kimi-k2", 1_000_000, 0, 0)
    assert token_cost("kimi-k2-thinking", 1_000_000, 0, 0, NOON) == pytest.approx(expected)


def test_a_price_change_counts_from_its_date() -> None:
    for when in (datetime(2026, 4, 29, tzinfo=UTC), datetime(2026, 4, 30, tzinfo=UTC)):
        expected = by_the_package("x-ai", "grok-4.20", 100_000, 0, 10_000, when)
        assert token_cost("grok-4-20", 100_000, 0, 10_000, when) == pytest.approx(expected)
    before = token_cost("grok-4-20", 100_000, 0, 10_000, datetime(2026, 4, 29))
    after = token_cost("grok-4-20", 100_000, 0, 10_000)
    assert before is not None
    assert after is not None
    assert before > after


def test_a_night_tariff_counts_by_the_hour() -> None:
    for hour in (3, 12):
        when = datetime(2026, 11, 1, hour, tzinfo=UTC)
        expected = by_the_package("deepseek", "deepseek-v4-pro", 100_000, 50_000, 10_000, when)
        assert token_cost("deepseek-v4-pro", 100_000, 50_000, 10_000, when) == pytest.approx(expected)


def test_without_a_cache_price_cached_tokens_cost_as_much_as_others() -> None:
    expected = by_the_package("openai", "gpt-4", 1_000, 900, 10)
    assert token_cost("gpt-4", 1_000, 900, 10, NOON) == pytest.approx(expected)
    assert token_cost("gpt-4", 1_000, None, 10, NOON) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("tokens", "why"),
    [
        ((None, 0, 10), "no input"),
        ((10, 0, None), "no output"),
        ((0, 0, 0), "not measured"),
        ((10, 11, 5), "more cached than there were"),
        ((10, -1, 5), "negative"),
        ((10, 0, -5), "negative"),
    ],
)
def test_unknown_tokens_have_no_price(tokens: tuple[int | None, int | None, int | None], why: str) -> None:
    assert token_cost("gpt-5", *tokens) is None, why


@pytest.mark.parametrize("model", ["", "our-own-model", "multiple-ob1", "mistral-nemo:free", "whisper-1"])
def test_a_model_without_a_list_price_has_none(model: str) -> None:
    assert token_cost(model, 1_000, 0, 10) is None


def test_an_updated_list_in_the_same_process_changes_nothing() -> None:
    before = token_cost("gpt-5", 1_000, 0, 10, NOON)
    set_custom_snapshot(DataSnapshot(providers=[], from_auto_update=True))
    try:
        with pytest.raises(LookupError):
            calc_price(Usage(input_tokens=1_000), "gpt-5")
        assert before == token_cost("gpt-5", 1_000, 0, 10, NOON)
    finally:
        set_custom_snapshot(None)


def test_filled_keeps_what_is_there_and_adds_what_is_missing() -> None:
    outcome = Outcome(
        Task("t1"), Route("gpt-5", "codex"), 1.0, cost=9.0, input_tokens=10_000, cached_tokens=4_000,
        output_tokens=500, when=NOON,
    )  # fmt: skip
    priced = with_token_cost(outcome)
    assert priced.token_cost == token_cost("gpt-5", 10_000, 4_000, 500, NOON)
    assert priced.cost == 9.0
    assert (priced.key, priced.input_tokens, priced.when) == (outcome.key, 10_000, NOON)
    assert with_token_cost(priced) is priced
    unpriced = Outcome(Task("t1"), Route("our-own-model", "codex"), 1.0, input_tokens=10, output_tokens=5)
    assert with_token_cost(unpriced) is unpriced
    unmeasured = Outcome(Task("t1"), Route("gpt-5", "codex"), 1.0)
    assert with_token_cost(unmeasured) is unmeasured


def test_a_users_own_name_is_priced_by_the_sources_name() -> None:
    outcome = Outcome(
        Task("t1"), Route("prod", "codex"), 1.0, input_tokens=10_000, output_tokens=500, model_version="openai/gpt-5"
    )
    assert with_token_cost(outcome).token_cost == token_cost("gpt-5", 10_000, 0, 500)


def test_importing_the_module_does_not_import_the_package() -> None:
    program = "import sys, hmrouter.names.prices; print('genai_prices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False"]
