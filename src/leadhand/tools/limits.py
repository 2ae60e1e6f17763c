"""How often a tool is called: at once, in a span of time, and not at all while an earlier result is still good."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from leadhand.core.tool import MOST_AT_ONCE, OF_RUN, RATE_SPANS_S, Effect, ToolSpec
from leadhand.core.value import Value

LIFETIMES_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
FASTEST = 1_000.0
"""Calls a second: a higher rate limits nothing that a process can do."""
LONGEST_LIFETIME_S = 366 * 86_400.0
_RATE = re.compile(rf"([0-9]{{1,9}}) ?/ ?({'|'.join(RATE_SPANS_S)})", re.ASCII)
_LIFETIME = re.compile(rf"([0-9]{{1,9}}) ?({'|'.join(LIFETIMES_S)})", re.ASCII)
_HOW_RATE = f'Use calls per s, min, h or day, such as "10/s" or "100/min", at most {FASTEST:,.0f} a second.'
_HOW_CACHE = 'Use seconds, or a number with s, m, h, d or w, such as "30m" or "7d", at most 366 days.'


def checked_rate(rate: object) -> str:
    """Return a rate such as ``10/s`` without spaces around it. Raises ValueError."""
    found = _RATE.fullmatch(rate.strip()) if isinstance(rate, str) else None
    if found is None or not 0 < int(found[1]) / RATE_SPANS_S[found[2]] <= FASTEST:
        raise ValueError(_HOW_RATE)
    return found[0]


def lifetime_s(lifetime: object) -> float:
    """Return the seconds of a lifetime such as ``30m``, ``1800`` or a timedelta. Raises ValueError."""
    seconds = lifetime.total_seconds() if isinstance(lifetime, timedelta) else lifetime
    if isinstance(seconds, str) and (found := _LIFETIME.fullmatch(seconds.strip())):
        seconds = int(found[1]) * LIFETIMES_S[found[2]]
    if not isinstance(seconds, int | float) or seconds is True or not 0 < seconds <= LONGEST_LIFETIME_S:
        raise ValueError(_HOW_CACHE)
    return float(seconds)


def _checked(read: Callable[[object], object]) -> AfterValidator:
    def check(value: object) -> object:
        read(value)
        return value

    return AfterValidator(check)


class ToolSettings(Value):
    """What a project sets for a tool, in place of what its code says.

    ``concurrency`` is how many calls go on at once, ``rate`` how many begin in a span of time, in all processes of a
    store together; ``cache`` is how long a result is used again.
    """

    concurrency: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    rate: Annotated[str, AfterValidator(checked_rate)] | None = Field(default=None, examples=["10/s", "100/min"])
    cache: Annotated[str | float, _checked(lifetime_s)] | None = Field(default=None, examples=["30m", "7d", 1800])


def applied(spec: ToolSpec, given: ToolSettings) -> ToolSpec:
    """Return a tool with a project's settings in place of its own."""
    changes = given.model_dump(exclude_none=True, exclude={"cache"})
    return spec.model_copy(update=changes if given.cache is None else {**changes, "cache_s": lifetime_s(given.cache)})


def flaw(spec: ToolSpec) -> tuple[str, str, str] | None:
    """Return which setting a tool cannot have, why not, and what to do instead; None if it can have all of its own."""
    limited = next((name for name in ("concurrency", "rate") if getattr(spec, name)), "")
    of_others = "delegate" if spec.delegate else "parallel" if spec.parallel else ""
    if of_others and (limited or spec.cache_s is not None):
        how = "Limit the tools that it leads to, or leave this setting out."
        return limited or "cache", f"it is a {of_others} tool, whose function is not called", how
    if spec.cache_s is None:
        return None
    if spec.effect is Effect.ONCE:
        how = "Leave cache out, or declare the effect as pure or idempotent if that is true."
        return "cache", "its effect is once, so each of its calls has to be made", how
    if spec.polling:
        return "cache", "it is a polling tool, whose result may change", "Leave cache or polling out."
    if spec.toolset in OF_RUN:
        return "cache", f"the tools of the toolset {spec.toolset} depend on the state of their run", "Leave cache out."
    return None
