"""The limits of a run, the reservation of one call, and what was spent.

Money is counted in whole nano-dollars (1e-9 USD), so that sums are exact and fit a database's integer.
"""

import operator
from datetime import datetime
from decimal import ROUND_CEILING, Decimal

from pydantic import Field

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


class Amount(Value):
    """A sum of model requests, tokens (input and output together) and nano-dollars."""

    requests: int = 0
    tokens: int = 0
    nanousd: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            requests=self.requests + other.requests,
            tokens=self.tokens + other.tokens,
            nanousd=self.nanousd + other.nanousd,
        )

    def fits(self, ceiling: "Ceiling") -> bool:
        """Whether this sum is within every limit that is set."""
        return (
            (ceiling.requests is None or self.requests <= ceiling.requests)
            and (ceiling.tokens is None or self.tokens <= ceiling.tokens)
            and (ceiling.nanousd is None or self.nanousd <= ceiling.nanousd)
        )


NOTHING = Amount()


class Ceiling(Value):
    """The maximum that may be spent of each kind; None means unlimited."""

    requests: int | None = None
    tokens: int | None = None
    nanousd: int | None = None

    def within(self, other: "Ceiling") -> "Ceiling":
        """Return the lower of both limits of each kind."""
        return Ceiling(
            requests=smaller(self.requests, other.requests),
            tokens=smaller(self.tokens, other.tokens),
            nanousd=smaller(self.nanousd, other.nanousd),
        )


def smaller(one: int | None, other: int | None) -> int | None:
    """Return the smaller of two limits; None means unlimited."""
    return other if one is None else one if other is None else min(one, other)


class Allowance(Value):
    """The ceiling of one scope: the limit of all calls together that name ``scope`` (a step's id)."""

    scope: str
    ceiling: Ceiling


class SharedBudget(Value):
    """A budget of many runs: all their calls that name ``scope`` together stay below it.

    ``daily``: each day (UTC) has one of its own.
    """

    scope: str
    nanousd: int = Field(ge=0)
    daily: bool = False

    def at(self, moment: datetime) -> Allowance:
        """Return the allowance that a call takes from at this moment, which is in UTC."""
        scope = f"{self.scope} {moment:%Y-%m-%d}" if self.daily else self.scope
        return Allowance(scope=scope, ceiling=Ceiling(nanousd=self.nanousd))


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
    """The usage of one or more model calls, as the provider counted it. ``nanousd`` is None if the price is unknown.

    ``cached_tokens`` are those of the input tokens that the provider read from its cache, ``cache_write_tokens`` those
    that it wrote to its cache.
    """

    requests: int = 1
    input_tokens: int = 0
    cached_tokens: int = Field(default=0, ge=0, exclude_if=operator.not_)
    cache_write_tokens: int = Field(default=0, ge=0, exclude_if=operator.not_)
    output_tokens: int = 0
    nanousd: int | None = None

    @property
    def amount(self) -> Amount:
        return Amount(requests=self.requests, tokens=self.input_tokens + self.output_tokens, nanousd=self.nanousd or 0)


class Limits(Value):
    """The limits of a run. By default, every loop and every cost is limited.

    ``max_steps`` counts work orders, including the first. ``max_workers`` is how many steps run at once,
    ``batch_size`` starts subtasks in groups of that size. ``budget_nanousd`` is in nano-dollars, ``timeout_s`` in
    seconds from the start of the run, ``attempt_timeout_s`` in seconds for one attempt. ``model_patience_s`` is how
    long a call waits for a server that is away, and for one that does not begin to answer. ``max_turns`` limits the
    model calls of one attempt, ``max_repairs`` the retries after a malformed answer or result, ``max_retries`` those
    after a transient failure of a step without a tool. ``approval_timeout_s`` is when an unanswered approval
    expires.
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
        return self.evolve(
            **{name: smaller(getattr(self, name), getattr(most, name)) for name in LIMITING},
        )

    @property
    def ceiling(self) -> Ceiling:
        return Ceiling(requests=self.max_requests, tokens=self.max_tokens, nanousd=self.budget_nanousd)


LIMITING = tuple(name for name in Limits.model_fields if name != "batch_size")
"""The fields of limits of which less is stricter."""
