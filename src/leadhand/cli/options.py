"""Flags that commands share, as values; what they amount to."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadhand.app.arguments import USUAL_BUDGET, number
from leadhand.domain.errors import UsageError

if TYPE_CHECKING:
    from leadhand.api import Leadhand

YEAR_S = 366 * 24 * 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where runs are kept."""

    home: str | None = None
    """Keep the database and the runs' files in this directory (else LEADHAND_HOME)."""
    database: str | None = None
    """Keep runs in this database: a path or postgresql://… (else LEADHAND_DATABASE_URL)."""
    debug: bool = False
    """Show the traceback of an error, and of what tools raise."""

    def flags(self) -> list[str]:
        """These flags, as another command has to be given them to find the same runs."""
        given = [("--home", self.home), ("--database", _without_password(self.database))]
        return [word for flag, value in given if value is not None for word in (flag, value)]

    def command(self, *words: str, tools: Sequence[str] = ()) -> str:
        """A command line that a person can paste: ``leadhand runs resume ID --home …``."""
        named = [word for path in tools for word in ("--tools", path)]
        return shlex.join(["leadhand", *words, *named, *self.flags()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What goes to stdout."""

    json: bool = False
    """Print the run document, one JSON object, instead of the answer."""
    stream_json: bool = False
    """Print every event as one line of JSON when it happens, and the run document last."""

    def check(self) -> None:
        """Raises UsageError when both are asked for."""
        if self.json and self.stream_json:
            raise UsageError("--json and --stream-json exclude each other", "Give one of them.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFlags:
    """Which models a run uses."""

    model: str | None = None
    """Use this model, as provider:name (else LEADHAND_MODEL, else what is found)."""
    lead_model: str | None = None
    """Plan, review and compose with this model."""
    worker_model: str | None = None
    """Have subtasks carried out by this model."""
    review_model: str | None = None
    """Review with this model."""
    offline: bool = False
    """Use the built-in rule-based model and sample data: no key, no network."""

    def check(self) -> None:
        """Raises UsageError when a model is named although nothing may leave the machine."""
        named = next((name for name in (self.model, self.lead_model, self.worker_model, self.review_model) if name), "")
        if self.offline and named and named != "offline":
            raise UsageError(
                f"--offline allows no other model, and {named} was named", "Give --offline, or a model, not both."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFlags:
    """What a run may use."""

    max_steps: int = 3
    """Work orders at most, the first included."""
    max_workers: int = 32
    """Subtasks carried out at once."""
    batch_size: int | None = None
    """Hand subtasks out in groups of this size instead of all at once."""
    budget: float = USUAL_BUDGET
    """US dollars at most. One that is given must be able to bind: the model's price has to be known."""
    allow_unknown_price: bool = False
    """Allow a model whose price is not known, although the budget cannot bind it."""
    timeout: float = 1_800.0
    """Seconds at most."""
    max_requests: int | None = None
    """Model calls at most (no limit, unless given)."""
    max_tokens: int | None = None
    """Tokens of all model calls together, at most (no limit, unless given)."""
    approval_timeout: float | None = None
    """Seconds that a question to a person stands; then silence is a no (for ever, unless given)."""
    max_output_tokens: int = 2_000
    """Tokens of one reply of a model; one that thinks at length needs more."""

    def check(self) -> None:
        """Raises UsageError for a limit that no run can have."""
        _between("--max-steps", self.max_steps, 1, 100)
        _between("--max-workers", self.max_workers, 1, 10_000)
        _between("--batch-size", self.batch_size, 1, 1_000_000)
        _between("--budget", self.budget, 0, 1_000_000)
        _between("--timeout", self.timeout, 0.001, YEAR_S)
        _between("--max-requests", self.max_requests, 1, 1_000_000_000)
        _between("--max-tokens", self.max_tokens, 1, 1_000_000_000_000)
        _between("--approval-timeout", self.approval_timeout, 0.001, YEAR_S)
        _between("--max-output-tokens", self.max_output_tokens, 16, 1_000_000)


HERE = Place()
ANSWER = Output()
ANY_MODEL = ModelFlags()
USUAL_LIMITS = LimitFlags()
"""The groups as they are when none of their flags is given."""


def _between(flag: str, value: float | None, least: float, most: float) -> None:
    if value is not None and not (math.isfinite(value) and least <= value <= most):
        raise UsageError(f"{flag} is {number(value)}", f"Give a number from {least:g} to {most:,.0f}.")


def _without_password(url: str | None) -> str | None:
    return None if url is None else re.sub(r"(://[^/@:]*):[^/@]*@", r"\1:…@", url)


def open_lead(place: Place, **settings: Any) -> Leadhand:
    """A Leadhand that keeps its runs at this place; ``settings`` are further arguments of its."""
    from leadhand.api import Leadhand

    return Leadhand(home=place.home, database=place.database, **settings)


def open_asked(place: Place, models: ModelFlags, limits: LimitFlags, **settings: Any) -> Leadhand:
    """A Leadhand with the models and limits that these flags ask for; ``settings`` are further arguments of its."""
    return open_lead(
        place,
        model=models.model,
        lead_model=models.lead_model,
        worker_model=models.worker_model,
        review_model=models.review_model,
        offline=models.offline,
        max_steps=limits.max_steps,
        max_workers=limits.max_workers,
        batch_size=limits.batch_size,
        budget=limits.budget,
        timeout=limits.timeout,
        max_requests=limits.max_requests,
        max_tokens=limits.max_tokens,
        max_output_tokens=limits.max_output_tokens,
        allow_unknown_price=limits.allow_unknown_price,
        approval_timeout=limits.approval_timeout,
        **settings,
    )


def open_reader(place: Place, **settings: Any) -> Leadhand:
    """A Leadhand that is only there for its store: no model is looked for."""
    return open_lead(place, model="offline", **settings)
