"""How often a tool is called: at once, in a span of time, and not at all while an earlier result is still good."""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from leadhand.core.limits import Seconds, seconds
from leadhand.core.tool import MOST_AT_ONCE, OF_RUN, RATE_SPANS_S, Effect, ToolSpec
from leadhand.core.value import Value, shown

FASTEST = 1_000.0
"""Calls a second: a higher rate limits nothing that a process can do."""
_RATE = re.compile(rf"([0-9]{{1,9}}) ?/ ?({'|'.join(RATE_SPANS_S)})", re.ASCII)


def checked_rate(rate: object) -> str:
    """Return a rate such as ``10/s`` without spaces around it. Raises ValueError."""
    found = _RATE.fullmatch(rate.strip()) if isinstance(rate, str) else None
    if found is None or not 0 < int(found[1]) / RATE_SPANS_S[found[2]] <= FASTEST:
        how = f'use calls per s, min, h or day, such as "10/s" or "100/min", at most {FASTEST:,.0f} a second'
        raise ValueError(f"{shown(rate)} is not a rate: {how}.")
    return found[0]


def duration_s(given: object) -> object:
    """Return a timedelta, or a text such as ``30m``, in seconds; any number as it is. Raises ValueError."""
    found = given.total_seconds() if isinstance(given, timedelta) else seconds(given)
    if isinstance(found, str):
        raise ValueError('Use seconds, or a number with s, m, h, d or w, such as "30m" or "7d".')
    return found


class ToolSettings(Value):
    """What a project sets for a tool, in place of what its code says.

    ``concurrency`` is how many calls go on at once, ``rate`` how many begin in a span of time, in all processes of a
    store together; ``cache`` is how long a result is used again.
    """

    concurrency: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    rate: Annotated[str, AfterValidator(checked_rate)] | None = Field(default=None, examples=["10/s", "100/min"])
    cache: Seconds | None = None


def applied(spec: ToolSpec, given: ToolSettings) -> ToolSpec:
    """Return a tool with a project's settings in place of its own."""
    changes = {name: value for name, value in given if value is not None}
    return spec.model_copy(update={"cache_s" if name == "cache" else name: changes[name] for name in changes})


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
