"""The limits of a run, the reservation of one call, and what was spent.

Money is in whole nano-dollars (1e-9 USD), so that sums are exact and fit a database's integer.
"""

import operator
import re
from collections.abc import Collection
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from .errors import UsageError
from .money import NOTHING as NOTHING
from .money import Ceiling as Ceiling
from .money import Money as Money
from .money import smaller as smaller
from .text import did_you_mean
from .value import Value, shown, unset

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


# --- the limits of a run ---------------------------------------------------------------------------------------------

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
"""The units of durations, in seconds."""


def seconds(given: Any) -> Any:
    """Return a duration with a unit, such as ``90s``, ``5m``, ``2h``, ``30d`` or ``8w``, in seconds; else what is
    ``given``."""
    text = given.strip().lower() if isinstance(given, str) else ""
    found = re.fullmatch(r"([0-9]{1,100}(?:\.[0-9]{1,9})?) ?([smhdw])", text)
    return given if found is None else float(found[1]) * UNITS[found[2]]


_LONGEST_S = 366 * 86_400
_NUMBER = {"type": "number", "minimum": 0.001, "maximum": _LONGEST_S}
_FRACTION = r"(\.[0-9]{1,9})?"
_MOST_DIGITS = {"s": "{0,6}", "m": "{0,4}", "h": "{0,2}", "d": "?"}
_FORMS = [f"[1-9][0-9]{digits}{_FRACTION} ?{unit}" for unit, digits in _MOST_DIGITS.items()]
_TEXT = {"type": "string", "pattern": f"^({'|'.join([*_FORMS, f'([1-4][0-9]|[1-9]){_FRACTION} ?w'])})$"}
_DURATION = WithJsonSchema({"anyOf": [_NUMBER, _TEXT], "examples": [90, "5m"]}, mode="validation")
Seconds = Annotated[float, Field(ge=0.001, le=_LONGEST_S), BeforeValidator(seconds), _DURATION]
"""A time in seconds. Every door takes a number, or a text with a unit."""
Dollars = Annotated[float, Field(ge=0, le=1_000_000)]


BUDGETS = ("budget", "budget_per_day", "budget_total")
"""The limits in money."""
OF_MONEY = (*BUDGETS, "allow_unknown_price")


def without_defaults(schema: dict[str, Any]) -> None:
    """Remove the defaults from a JSON schema of requests: generated clients would send them, or ask for them."""
    for field in schema.get("properties", {}).values():
        field.pop("default", None)


class Limits(Value):
    """Limits of a run, and of runs that share a budget. By default, every loop and every cost is limited.

    Money is in US dollars. A time is a number of seconds, or a text with a unit: ``"90s"``, ``"5m"``, ``"2h"``,
    ``"30d"``. None removes a limit. A run that is given limits keeps its others: each that you set replaces one. Raises
    UsageError for an invalid value.
    """

    model_config = ConfigDict(strict=True, json_schema_extra=without_defaults)

    budget: Dollars | None = Field(
        default=1.0, description="Most that a run may cost. If you set it, prices must be known."
    )
    budget_per_day: Dollars | None = Field(
        default=None, exclude_if=unset, description="Most that all runs with this limit may cost on one day (UTC)."
    )
    budget_total: Dollars | None = Field(
        default=None, exclude_if=unset, description="Most that all runs with this limit may cost together."
    )
    allow_unknown_price: bool = Field(
        default=False, exclude_if=operator.not_, description="Allow models of unknown price, which no budget limits."
    )
    timeout: Seconds | None = Field(default=1_800.0, description="Longest time that a run may take.")
    attempt_timeout: Seconds = Field(default=300.0, description="Longest time of one attempt at a step.")
    model_patience: Seconds = Field(
        default=300.0,
        description="How long a call waits for a model server that is away, or that does not begin to answer.",
    )
    approval_timeout: Seconds | None = Field(
        default=None, description="When an approval that nobody answers is denied."
    )
    max_steps: int = Field(default=3, ge=1, le=100, description="Most work orders: the first plan, and repairs.")
    max_workers: int = Field(
        default=32, ge=1, le=10_000, description="Most steps of a run that are carried out at once."
    )
    batch_size: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Start subtasks in groups of this size instead of all at once."
    )
    max_requests: int | None = Field(default=None, ge=1, le=1_000_000_000, description="Most model calls of a run.")
    max_tokens: int | None = Field(
        default=None, ge=1, le=1_000_000_000_000, description="Most tokens of all model calls of a run together."
    )
    max_output_tokens: int = Field(
        default=2_000, ge=1, le=1_000_000, description="Most tokens of one reply; reasoning has 8,000 more."
    )
    max_turns: int = Field(
        default=8, ge=1, le=1_000, description="Most model calls of one attempt; of a run that continues, of its lead."
    )
    max_repairs: int = Field(default=2, ge=0, le=100, description="Most retries after a malformed reply.")
    max_retries: int = Field(
        default=2, ge=0, le=100, description="Most retries after a temporary failure without a tool."
    )

    if not TYPE_CHECKING:  # type checkers read the fields

        def __init__(self, **given: Any) -> None:
            try:
                super().__init__(**given)
            except ValidationError as error:
                raise refused_limit(error) from error

        __init__.__pydantic_base_init__ = True  # within other values, pydantic's own errors have the place

    def patched(self, patch: "Limits | None") -> "Limits":
        """Return these limits with those that are set in ``patch``."""
        if patch is None or not patch.model_fields_set:
            return self
        return self.model_copy(update={name: value for name, value in patch if name in patch.model_fields_set})

    @property
    def changed(self) -> "Limits":
        """The same limits, of which those that differ from the defaults are set."""
        usual = dict(Limits())
        return Limits().model_copy(update={name: value for name, value in self if value != usual[name]})

    def within(self, most: "Limits") -> "Limits":
        """Return the limits that are within both. ``batch_size`` stays as it is: it bounds nothing."""
        lower = {name: smaller(value, getattr(most, name)) for name, value in self if name != "batch_size"}
        asked = {name for name in most.model_fields_set if lower.get(name) == getattr(most, name)}
        return self.model_copy(
            update={n: value for n, value in lower.items() if n in asked or value != getattr(self, n)}
        )

    def only(self, names: Collection[str]) -> "Limits":
        """Return those of these names that are set."""
        return Limits().model_copy(
            update={name: value for name, value in self if name in self.model_fields_set & {*names}}
        )

    @property
    def has_budget(self) -> bool:
        """Whether there is a limit in money."""
        return not (self.budget is self.budget_per_day is self.budget_total is None)

    @property
    def needs_prices(self) -> bool:
        """Whether somebody set a limit in money, so that the price of every model must be known."""
        return self.has_budget and bool(self.model_fields_set & {*BUDGETS}) and not self.allow_unknown_price

    @cached_property
    def ceiling(self) -> Ceiling:
        """The most that the model calls of a run may use."""
        dollars = None if self.budget is None else nanousd(self.budget)
        return Ceiling(requests=self.max_requests, tokens=self.max_tokens, nanousd=dollars)

    @property
    def shared(self) -> tuple[SharedBudget, ...]:
        """The budgets of all runs with this limit."""
        amounts = ((self.budget_per_day, True), (self.budget_total, False))
        return tuple(
            SharedBudget(scope="all runs", nanousd=nanousd(most), daily=daily)
            for most, daily in amounts
            if most is not None
        )


def schema_of(name: str, kind: type[Value] = Limits) -> dict[str, Any]:
    """Return the JSON schema of the values that a limit can have if it is set: their type, minimum and maximum."""
    schema = _schemas(kind)[name]
    return next((each for each in schema.get("anyOf", ()) if each["type"] != "null"), schema)


@cache
def _schemas(kind: type[Value]) -> dict[str, Any]:
    return kind.model_json_schema(mode="serialization")["properties"]


@cache
def highest_limits() -> Limits:
    """Return the highest value of each limit, as if nobody had set one."""
    schemas = ((name, schema_of(name)) for name in Limits.model_fields if getattr(Limits(), name) is not None)
    values = {name: schema.get("maximum", True) for name, schema in schemas if name not in ("budget", "timeout")}
    return Limits().model_copy(update={**values, "budget": None, "timeout": None})


def refused_limit(error: ValidationError, kind: type[Value] = Limits) -> UsageError:
    """Return the first fault of limits as an error that names the limit and the values that it may have."""
    fault = error.errors(include_url=False)[0]
    name, known = str(fault["loc"][0]), list(kind.model_fields)
    if name not in known:
        how = f"Choose from: {', '.join(known)}.{did_you_mean(name, known)}"
        return UsageError(f"there is no limit {name!r}", how, field=name)
    what, schema = f"invalid value for {name}: {shown(fault['input'])}", schema_of(name, kind)
    if schema["type"] == "boolean":
        return UsageError(what, "Pass true or false.", field=name)
    least, most = (format(schema[each], ",.15g") for each in ("minimum", "maximum"))
    number = "a whole number" if schema["type"] == "integer" else "a number"
    time = ", or a time such as 90s, 5m or 2h" if least == "0.001" else ""
    return UsageError(what, f"Pass {number} from {least} to {most}{time}.", field=name)
