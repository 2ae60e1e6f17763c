"""Context windows and prices of known models, from the genai-prices package if it is installed."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Any

from leadhand.domain.conversation import ModelProfile
from leadhand.domain.limits import Usage, nanousd

_PROVIDER_IDS = {"xai": "x-ai", "google-cloud": "google", "bedrock": "aws"}  # under other names than ours
_NANO_PER_MILLION = 1_000  # dollars a million tokens, as nano-dollars a token


def known_profile(model: str) -> ModelProfile | None:
    """What is known of ``provider:name``: its window in tokens, and the most a token may cost at any hour of the day.

    Prices that rise with the length of the input are taken at their highest, since a reservation must never be too
    small. None for a model that is not in the table, or if there is no table.
    """
    return _profile(model)


def known_cost(model: str, usage: Usage, *, cache_read: int = 0, cache_written: int = 0) -> int | None:
    """What ``usage`` of ``provider:name`` costs now, in nano-dollars; None if its price is unknown.

    ``cache_read`` and ``cache_written`` are how many of the input tokens the provider took from its cache and put into
    it, which have prices of their own.
    """
    if _profile(model) is None:
        return None
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    provider, _, name = model.partition(":")
    counted = Counted(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_written,
    )
    try:
        price = calc_price(counted, name, provider_id=_PROVIDER_IDS.get(provider, provider))
    except (LookupError, ValueError):
        return None
    return nanousd(price.total_price)


@lru_cache(maxsize=256)
def _profile(model: str) -> ModelProfile | None:
    provider, _, name = model.partition(":")
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    from datetime import UTC, datetime

    today = datetime.now(UTC)
    try:
        _, info = get_snapshot().find_provider_model(name, None, _PROVIDER_IDS.get(provider, provider), None)
        by_hour = [info.get_prices(today.replace(hour=hour)) for hour in range(24)]
    except (LookupError, ValueError):
        return None
    sent = [_highest(price.input_mtok) for price in by_hour]
    written = [_highest(price.output_mtok) for price in by_hour]
    most_sent, most_written = max(sent, key=_or_zero), max(written, key=_or_zero)
    if most_sent is None or most_written is None:
        return None
    return ModelProfile(name=model, window=info.context_window, input_nanousd=most_sent, output_nanousd=most_written)


def _or_zero(price: int | None) -> int:
    return price or 0


def _highest(price: Any) -> int | None:
    """Nano-dollars a token, rounded up, of a price or of its dearest tier."""
    if price is None:
        return None
    tiers = [price.base, *(tier.price for tier in price.tiers)] if hasattr(price, "tiers") else [price]
    return int((max(Decimal(str(tier)) for tier in tiers) * _NANO_PER_MILLION).to_integral_value(ROUND_CEILING))
