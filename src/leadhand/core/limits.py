"""The limits of a run, the reservation of one call, and what was spent.

Money is in whole nano-dollars (1e-9 USD), so that sums are exact and fit a database's integer.
"""

import operator
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal

from pydantic import ConfigDict, Field

from .value import Value

NANO = 1_000_000_000
LONGEST_WAIT_S = 24 * 3_600.0
"""The longest wait that a service may ask for, in seconds."""
CONCURRENCY = 1_000
"""Steps that a process carries out at once, of all its runs together, unless a setting says otherwise."""


def nanousd(usd: Decimal | float | str) -> int:
    """Convert dollars to whole nano-dollars, rounded up, since a reservation must never be too small."""
    return int((Decimal(str(usd)) * NANO).to_integral_value(ROUND_CEILING))


def usd(nano: int) -> float:
    """Convert nano-dollars to dollars, for people and documents."""
    return nano / NANO


LARGEST = 2**53
"""The largest amount that is counted, so that sums fit a database's integer. A limit above it limits nothing."""


def smaller(one: int | None, other: int | None) -> int | None:
    """Return the smaller of two limits; None means unlimited."""
    return other if one is None else one if other is None else min(one, other)


_CLOSED = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount of model requests, tokens (in and out) and nano-dollars, each from 0 to :data:`LARGEST`."""

    __pydantic_config__ = _CLOSED

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


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that may be spent of each kind (None: no limit) by all calls together that name ``scope``: the id of a
    step or the name of a shared budget, "" for a run."""

    __pydantic_config__ = _CLOSED

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


class SharedBudget(Value):
    """A budget of all calls of many runs that name ``scope``; if it is ``daily``, each day (UTC) has one of its own."""

    scope: str
    nanousd: int = Field(ge=0)
    daily: bool = False

    def at(self, moment: datetime) -> Ceiling:
        """Return the ceiling of a call at this moment, which is in UTC."""
        return Ceiling(scope=f"{self.scope} {moment:%Y-%m-%d}" if self.daily else self.scope, nanousd=self.nanousd)


class SharedLimit(Value):
    """How many of something go on at once, in all processes of a store together: at most ``most`` of ``scope``."""

    scope: str
    most: int = Field(ge=1)


class Concurrency(Value):
    """The shared limits of a run: calls of each model at once, by its full name, and ``steps`` at once."""

    models: dict[str, int] = {}
    steps: tuple[SharedLimit, ...] = ()

    def of_model(self, model: str) -> SharedLimit | None:
        """Return the limit of the calls of a model, None without one."""
        most = self.models.get(model)
        return None if most is None else SharedLimit(scope=f"the model `{model}`", most=most)

    def __bool__(self) -> bool:
        return bool(self.models or self.steps)


class Usage(Value):
    """The usage of model calls, as the provider counted it. ``nanousd`` is None if the price is unknown.

    Of the input tokens, the provider read ``cached_tokens`` from its cache, and wrote ``cache_write_tokens`` to it.
    """

    requests: int = 1
    input_tokens: int = 0
    cached_tokens: int = Field(default=0, ge=0, exclude_if=operator.not_)
    cache_write_tokens: int = Field(default=0, ge=0, exclude_if=operator.not_)
    output_tokens: int = 0
    nanousd: int | None = None

    def used(self, reserved: Money) -> Money:
        """Return what was used of a reservation; an unknown price counts as all that was reserved."""
        price = reserved.nanousd if self.nanousd is None else self.nanousd
        return Money(self.requests, self.input_tokens + self.output_tokens, price)


class Limits(Value):
    """The limits of a run. By default, every loop and every cost is limited.

    ``max_steps`` counts work orders, ``max_workers`` the steps that run at once, ``max_turns`` the model calls of one
    attempt, ``max_repairs`` the retries after a malformed answer, ``max_retries`` those after a transient failure
    without a tool. ``batch_size`` starts subtasks in groups. ``model_patience_s`` is how long a call waits for a server
    that is away, or does not begin to answer. After ``approval_timeout_s``, an unanswered approval expires.
    """

    max_steps: int = Field(default=3, ge=1, le=100)
    max_workers: int = Field(default=32, ge=1, le=10_000)
    batch_size: int | None = Field(default=None, ge=1)
    budget_nanousd: int | None = Field(default=1 * NANO, ge=0)
    max_requests: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_output_tokens: int = Field(default=2_000, ge=1)
    timeout_s: float | None = Field(default=1_800.0, gt=0)
    attempt_timeout_s: float = Field(default=300.0, gt=0)
    model_patience_s: float = Field(default=300.0, gt=0)
    approval_timeout_s: float | None = Field(default=None, gt=0)
    max_turns: int = Field(default=8, ge=1)
    max_repairs: int = Field(default=2, ge=0)
    max_retries: int = Field(default=2, ge=0)

    def within(self, most: "Limits") -> "Limits":
        """Return the limits that are within both. ``batch_size`` stays as it is: it bounds nothing."""
        names = [name for name in Limits.model_fields if name != "batch_size"]
        return self.evolve(**{name: smaller(getattr(self, name), getattr(most, name)) for name in names})

    @property
    def ceiling(self) -> Ceiling:
        return Ceiling(requests=self.max_requests, tokens=self.max_tokens, nanousd=self.budget_nanousd)
