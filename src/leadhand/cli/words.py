"""How times, money, counts and subtasks are put into words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from leadhand.cli.console import shortened
from leadhand.domain.value import Json

LABEL_WIDTH = 60


def duration(seconds: float) -> str:
    """A duration: ``0.9 s``, ``42 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def age(then: datetime, now: datetime) -> str:
    """How long ago something was, in one unit."""
    seconds = max(0, int((now - then).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def money(usd: float | None) -> str:
    """US dollars: ``$1.50``, and small sums to two significant digits, ``$0.0042``."""
    if usd is None:
        return "cost unknown"
    if usd == 0:
        return "$0"
    if usd >= 0.1:
        return f"${usd:,.2f}"
    digits = max(2, min(9, 1 - int(f"{usd:e}".rpartition("e")[2])))
    whole, _, rest = f"{usd:.{digits}f}".partition(".")
    return f"${whole}.{rest.rstrip('0').ljust(2, '0')}"


def count(number: int, thing: str, things: str = "") -> str:
    """A number and what it counts: ``1 order``, ``3 orders``."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def spent(requests: int, tokens: int, cost_usd: float | None) -> str:
    """What model calls used."""
    if not requests:
        return "no model requests"
    used = [count(requests, "model request")]
    if tokens:
        used.append(count(tokens, "token"))
    return ", ".join([*used, money(cost_usd)])


def label(name: str, args: Mapping[str, Json]) -> str:
    """A subtask for people: its name and its arguments, so that siblings can be told apart."""
    told = ", ".join(_argument(value) for value in args.values() if value not in (None, "", [], {}))
    return shortened(f"{name} · {told}" if told else name, LABEL_WIDTH)


def child_label(name: str, whose: str) -> str:
    """What a worker asked another worker for, and whose it is."""
    return f"{name} (for {whose})"


def _argument(value: Json) -> str:
    match value:
        case {"$result": {"subtask": str() as subtask}}:
            return f"from {subtask}"
        case dict():
            return ", ".join(_argument(inner) for inner in cast("dict[str, Json]", value).values())
        case list():
            return ", ".join(_argument(inner) for inner in cast("list[Json]", value))
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
