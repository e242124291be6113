"""Tokens -> US dollars at list prices, from the `genai-prices` package as installed: nothing is ever downloaded.

What a source reports (`Outcome.cost`) and what its tokens cost by the list (`Outcome.token_cost`) are two numbers and
stay apart. The list price is an estimate, see docs/prices.md for what it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hmrouter.names import canonical_model
from hmrouter.types import Outcome

if TYPE_CHECKING:
    from genai_prices.types import MatchLogic, ModelInfo, ModelPrice

MAKERS = (
    "anthropic", "openai", "google", "x-ai", "deepseek", "moonshotai", "zai", "minimax", "mistral", "meta", "cohere",
    "arcee", "perplexity",
)  # fmt: skip
"""Providers that sell what they made. One that also resells (Google: Claude) stands behind the maker."""
FIRST_RESELLER = "openrouter"
"""Whose price counts where no maker sells the model: the one with the longest list. The others follow by name."""

# The effort or mode of a model changes how many tokens it takes, not what one costs.
_MODE = re.compile(r"[-:](?:minimal|low|medium|high|xhigh|thinking|reasoner)$")
# For an outcome without a date: the newest price, at an hour of the day that no surcharge applies to.
_NEWEST = datetime(9999, 12, 31, 12, tzinfo=UTC)
_MILLION = 1_000_000


def token_cost(
    model: str,
    input_tokens: int | None,
    cached_tokens: int | None,
    output_tokens: int | None,
    when: datetime | None = None,
) -> float | None:
    """Price the tokens of one execution in US dollars; None without a list price of the model or without token counts.

    `input_tokens` include `cached_tokens`, those read from a cache (None: none were). `when` picks the price of that
    time; without it the newest price counts.

    >>> token_cost("claude-opus-4-5", 1_000_000, 400_000, 10_000)  # 600,000 at $5, 400,000 at $0.50, 10,000 at $25
    3.45
    >>> token_cost("our-own-model", 1_000_000, 0, 10_000) is None
    True
    """
    cached = cached_tokens or 0
    if input_tokens is None or output_tokens is None or not 0 <= cached <= input_tokens or output_tokens < 0:
        return None
    if not input_tokens + output_tokens:
        return None  # no execution takes none: this is how some sources write "not measured"
    offer = _offer(model)
    rates = offer.rates(when or _NEWEST) if offer else None
    if rates is None:
        return None
    dollars = (input_tokens - cached) * rates.input + cached * rates.cached + output_tokens * rates.output
    return dollars / _MILLION


def with_token_cost(outcome: Outcome) -> Outcome:
    """Fill in the outcome's `token_cost`, if that is missing and its tokens and its model's prices are known.

    >>> from hmrouter.types import Route, Task
    >>> ran = Outcome(Task("t1"), Route("gpt-5", "codex"), score=1.0, input_tokens=200_000, output_tokens=10_000)
    >>> with_token_cost(ran).token_cost
    0.35
    """
    if outcome.token_cost is not None or outcome.input_tokens is None or outcome.output_tokens is None:
        return outcome
    tokens = (outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens, outcome.when)
    dollars = token_cost(outcome.route.model, *tokens)
    if dollars is None and outcome.model_version:  # a user's own name for a model that the source calls by another
        dollars = token_cost(outcome.model_version, *tokens)
    return outcome if dollars is None else replace(outcome, token_cost=dollars)


class _Rates(NamedTuple):
    """Dollars per million tokens."""

    input: float
    cached: float
    output: float


class _Offer:
    """A model as one provider sells it."""

    def __init__(self, info: ModelInfo, rank: tuple[int, str, int]) -> None:
        self._info = info
        self._known: dict[int, _Rates | None] = {}
        self.rank = rank
        """Lower is better: whose price it is, then how far the spelling is from the plain name."""

    def rates(self, when: datetime) -> _Rates | None:
        """Look up the rates of that time. A million outcomes ask: the few prices of a model are converted once each."""
        prices = self._info.get_prices(when)
        if id(prices) not in self._known:  # they cannot be hashed; the package keeps each of them for good
            self._known[id(prices)] = _rates(prices)
        return self._known[id(prices)]


def _rates(prices: ModelPrice) -> _Rates | None:
    paid, cached, written = (_base(prices, key) for key in ("input_mtok", "cache_read_mtok", "output_mtok"))
    if paid is None or written is None or not paid + written:
        return None  # priced by the page or the hour, or a free trial: no list price of tokens
    return _Rates(paid, paid if cached is None else cached, written)


def _base(prices: ModelPrice, key: str) -> float | None:
    from genai_prices.types import TieredPrices

    price = getattr(prices, key)
    # Tiers go by the size of one request, and an outcome has the sum of many: the first tier is the honest one.
    base = price.base if isinstance(price, TieredPrices) else price
    return None if base is None else float(base)


@lru_cache(maxsize=4096)  # the names come from logs, so their number has no limit
def _offer(model: str) -> _Offer | None:
    name = canonical_model(model)
    plain = _MODE.sub("", name)
    found = [_offers()[spelling] for spelling in (name, plain) if spelling in _offers()]
    if found:  # a maker's price of the plain model comes before a reseller's of this very mode
        return min(found, key=lambda offer: offer.rank[0])
    return _offers().get(f"{plain}-preview")  # most logs call what exists as a preview only by its final name


@cache
def _offers() -> dict[str, _Offer]:
    """The best offer for each canonical name."""
    from genai_prices.data import providers  # 0.3 s, so only when a price is asked for

    best: dict[str, _Offer] = {}
    for provider in providers:
        place = MAKERS.index(provider.id) if provider.id in MAKERS else len(MAKERS)
        seller = "" if provider.id == FIRST_RESELLER else provider.id
        for info in provider.models:
            if _Offer(info, (0, "", 0)).rates(_NEWEST) is None:
                continue
            for spelling in {info.id, *_spellings(info.match)}:
                # Of gpt-4o and gpt-4o-2024-05-13, which share a canonical name, the shorter is the plain one.
                offer = _Offer(info, (place, seller, len(spelling)))
                name = canonical_model(spelling)
                if name not in best or offer.rank < best[name].rank:
                    best[name] = offer
    return best


def _spellings(match: MatchLogic) -> Iterator[str]:
    """The names that a rule of the package spells out; patterns that only narrow a name down are left aside."""
    from genai_prices.types import ClauseEquals, ClauseOr, ClauseStartsWith

    if isinstance(match, ClauseOr):
        for clause in match.or_:
            yield from _spellings(clause)
    elif isinstance(match, ClauseEquals):
        yield match.equals
    elif isinstance(match, ClauseStartsWith):
        yield match.starts_with
