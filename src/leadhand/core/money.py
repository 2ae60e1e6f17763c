"""What model calls use: requests, tokens, and whole nano-dollars, so that sums are exact."""

from dataclasses import dataclass
from typing import TypeVar

from pydantic import ConfigDict

LARGEST = 2**53
"""The largest amount that is counted, so that sums fit a database's integer. A limit above it limits nothing."""
CLOSED = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount of model requests, tokens (in and out) and nano-dollars, each from 0 to :data:`LARGEST`."""

    __pydantic_config__ = CLOSED

    requests: int = 0
    tokens: int = 0
    nanousd: int = 0

    @property
    def row(self) -> tuple[int, int, int]:
        """Return the amounts in their order."""
        return self.requests, self.tokens, self.nanousd

    def __post_init__(self) -> None:
        if not (0 <= self.requests <= LARGEST and 0 <= self.tokens <= LARGEST and 0 <= self.nanousd <= LARGEST):
            for name, each in zip(("requests", "tokens", "nanousd"), self.row, strict=True):
                object.__setattr__(self, name, min(max(each, 0), LARGEST))

    def __add__(self, other: "Money") -> "Money":
        return Money(self.requests + other.requests, self.tokens + other.tokens, self.nanousd + other.nanousd)

    def __sub__(self, other: "Money") -> "Money":
        return Money(self.requests - other.requests, self.tokens - other.tokens, self.nanousd - other.nanousd)

    def fits(self, ceiling: "Ceiling") -> bool:
        """Whether this amount is within every limit that is set."""
        return all(most is None or each <= most for each, most in zip(self.row, ceiling.row, strict=True))


NOTHING = Money()


_Number = TypeVar("_Number", int, float)


def smaller(one: _Number | None, other: _Number | None) -> _Number | None:
    """Return the smaller of two limits; None means unlimited."""
    return other if one is None else one if other is None else min(one, other)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that may be spent of each kind (None: no limit) by all calls together that name ``scope``: the id of a
    step or the name of a shared budget, "" for a run."""

    __pydantic_config__ = CLOSED

    requests: int | None = None
    tokens: int | None = None
    nanousd: int | None = None
    scope: str = ""

    @property
    def row(self) -> tuple[int | None, int | None, int | None]:
        """Return the limits in the order of :attr:`Money.row`; one above :data:`LARGEST` is None."""
        return _limit(self.requests), _limit(self.tokens), _limit(self.nanousd)

    def within(self, other: "Ceiling") -> "Ceiling":
        """Return the lower of both limits of each kind."""
        requests, tokens, nanousd = map(smaller, self.row, other.row)
        return Ceiling(requests, tokens, nanousd, self.scope)

    def less(self, amount: Money) -> "Ceiling":
        """Return what is left of each limit besides an amount; negative if it exceeds the limit."""
        left = (None if most is None else most - each for most, each in zip(self.row, amount.row, strict=True))
        requests, tokens, nanousd = left
        return Ceiling(requests, tokens, nanousd)


def _limit(most: int | None) -> int | None:
    return None if most is None or most > LARGEST else most
