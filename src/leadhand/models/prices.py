"""Context windows and prices of models, from the genai-prices package."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Any

from leadhand.core.limits import Usage, nanousd
from leadhand.ports.models import ModelProfile

_PROVIDER_IDS = {"xai": "x-ai", "google-cloud": "google", "bedrock": "aws"}  # under other names than ours
_NANO_PER_MILLION = 1_000  # dollars a million tokens, as nano-dollars a token
_DEAREST = 1_000_000  # dollars a million tokens
_REASONING = re.compile(
    r"gpt-(?:[5-9]|oss)|\bo[1-9]\b|gemini-(?:2\.5|[3-9])|grok-[3-9]|deepseek|qwen-?3|magistral|glm-[4-9]|think|reason"
)
"""Families of models that think before they answer unless a request forbids it."""


def reasons(model: str) -> bool:
    """Return whether a model of this name is known to think before it answers."""
    return _REASONING.search(model.casefold()) is not None


@lru_cache(maxsize=256)
def known_profile(model: str) -> ModelProfile | None:
    """Return the context window of ``provider:name`` in tokens, and the highest price of a token at any time of day.

    For prices that rise with the length of the input, the highest applies, since a reservation must never be too small.
    Returns None for a model that is not in the table.
    """
    from datetime import UTC, datetime

    from genai_prices.data_snapshot import get_snapshot

    provider, _, name = model.partition(":")
    today = datetime.now(UTC)
    try:
        _, info = get_snapshot().find_provider_model(name, None, _PROVIDER_IDS.get(provider, provider), None)
        by_hour = [info.get_prices(today.replace(hour=hour)) for hour in range(24)]
    except (LookupError, ValueError):
        return None
    sent = _highest(price.input_mtok for price in by_hour)
    written = _highest(price.output_mtok for price in by_hour)
    if sent is None or written is None:
        return None
    return ModelProfile(
        name=model,
        window=info.context_window,
        input_nanousd=sent,
        output_nanousd=written,
        cached_nanousd=_highest(price.cache_read_mtok for price in by_hour),
        cache_write_nanousd=_highest(price.cache_write_mtok for price in by_hour),
        reasons=reasons(name),
    )


def near_model(written: str, providers: Iterable[str]) -> str:
    """Return the model that a name without one of these ``providers`` may mean: one of that name, or one of a provider
    with a similar name. "" if none is near.
    """
    from difflib import get_close_matches

    from genai_prices.data_snapshot import get_snapshot

    provider, colon, name = written.partition(":")
    if colon:
        return next((f"{near}:{name}" for near in get_close_matches(provider, list(providers), 1)), "")
    known: dict[str, str] = {}
    snapshot = {each.id: each.models for each in get_snapshot().providers}
    for ours in providers:
        for model in snapshot.get(_PROVIDER_IDS.get(ours, ours), ()):
            known.setdefault(model.id, f"{ours}:{model.id}")
    return next((known[near] for near in get_close_matches(written, known, 1)), "")


def _highest(prices: Iterable[Any]) -> int | None:
    """Nano-dollars a token, rounded up, of the highest price or tier."""
    amounts: list[Any] = []
    for price in prices:
        amounts += [price.base, *(tier.price for tier in price.tiers)] if hasattr(price, "tiers") else [price]
    highest = max((Decimal(str(amount)) for amount in amounts if amount is not None), default=None)
    return None if highest is None else _a_token(highest)


def _a_token(dollars: Decimal) -> int:
    """Nano-dollars a token, rounded up, of a price per million tokens."""
    return int((dollars * _NANO_PER_MILLION).to_integral_value(ROUND_CEILING))


def price_of_a_token(written: str) -> int:
    """Nano-dollars a token of a price in dollars per million tokens. Raises ValueError if it is not an amount."""
    try:
        dollars = Decimal(written.strip())
        if 0 <= dollars <= _DEAREST:
            return _a_token(dollars)
    except ArithmeticError:  # it is not a number
        pass
    raise ValueError(f"{written!r} is not a price")


def known_cost(model: str, usage: Usage) -> int | None:
    """Return the current cost of ``usage`` of ``provider:name``, in nano-dollars; None if the price is unknown."""
    if known_profile(model) is None:
        return None
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    provider, _, name = model.partition(":")
    counted = Counted(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        price = calc_price(counted, name, provider_id=_PROVIDER_IDS.get(provider, provider))
    except (LookupError, ValueError):
        return None
    return nanousd(price.total_price)
