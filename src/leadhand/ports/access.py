"""Scopes, and the records of API keys that a service stores (never the keys themselves)."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from leadhand.core.errors import UsageError
from leadhand.core.limits import Concurrency, Limits, SharedBudget, SharedLimit, smaller, usd
from leadhand.core.value import Value, unset


class Scope(StrEnum):
    """What the holder of a key may do: read its own runs, read all runs, start and steer runs, answer approvals of the
    runs that it may read, everything."""

    READ = "read"
    READ_ALL = "read:all"
    RUN = "run"
    APPROVE = "approve"
    ADMIN = "admin"


INCLUDED: dict[Scope, frozenset[Scope]] = {
    Scope.READ: frozenset({Scope.READ}),
    Scope.READ_ALL: frozenset({Scope.READ, Scope.READ_ALL}),
    Scope.RUN: frozenset({Scope.READ, Scope.RUN}),
    Scope.APPROVE: frozenset({Scope.READ, Scope.APPROVE}),
    Scope.ADMIN: frozenset(Scope),
}
"""What each scope allows. Every scope includes read access."""


class KeyCeilings(Value):
    """The most that a key may ask for; None: what the server allows.

    ``budget_nanousd`` is for one run, ``daily_nanousd`` for all its runs on one day (UTC), ``total_nanousd`` for all
    its runs ever; ``max_runs`` is how many run at once, ``max_workers`` how many steps of one run,
    ``max_running_steps`` how many of all its runs together.
    """

    budget_nanousd: int | None = Field(default=None, ge=0)
    daily_nanousd: int | None = Field(default=None, ge=0)
    total_nanousd: int | None = Field(default=None, ge=0)
    max_runs: int | None = Field(default=None, ge=1)
    max_workers: int | None = Field(default=None, ge=1)
    max_running_steps: int | None = Field(default=None, ge=1, exclude_if=unset)

    @property
    def in_money(self) -> bool:
        """Whether one of the ceilings is in money, so that the price of every call must be known."""
        return any(each is not None for each in (self.budget_nanousd, self.daily_nanousd, self.total_nanousd))

    def document(self) -> dict[str, float | int | None]:
        """Return the ceilings as people see them, money in US dollars."""
        money = {
            "budget": self.budget_nanousd,
            "budget_per_day": self.daily_nanousd,
            "budget_total": self.total_nanousd,
        }
        dollars = {name: None if each is None else usd(each) for name, each in money.items()}
        return {
            **dollars,
            "max_runs": self.max_runs,
            "max_workers": self.max_workers,
            "max_running_steps": self.max_running_steps,
        }

    def budgets(self, key_id: str) -> tuple[SharedBudget, ...]:
        """Return the budgets that all runs of the key share."""
        scope, daily, total = f"key {key_id}", self.daily_nanousd, self.total_nanousd
        of_day = () if daily is None else (SharedBudget(scope=scope, nanousd=daily, daily=True),)
        return of_day if total is None else (*of_day, SharedBudget(scope=scope, nanousd=total))

    def shared(self, key_id: str) -> Concurrency:
        """Return the limit at once that all runs of the key share."""
        most = self.max_running_steps
        return Concurrency(steps=() if most is None else (SharedLimit(scope=f"the key `{key_id}`", most=most),))

    def narrow(self, limits: Limits) -> Limits:
        """Return the limits of a run within these ceilings."""
        return limits.evolve(
            budget_nanousd=smaller(limits.budget_nanousd, self.budget_nanousd),
            max_workers=smaller(limits.max_workers, self.max_workers),
        )


UNBOUNDED = KeyCeilings()


class ApiKey(Value):
    """The stored record of an API key: everything but the key itself.

    ``key_id`` identifies the key, ``prefix`` is its first characters, which its holder can recognise, ``digest`` the
    SHA-256 (hex) of the whole key. A key with ``revoked_at`` no longer grants access. No two keys that are not revoked
    have the same ``name``. ``ceilings`` are the most that its holder may ask for.
    """

    key_id: str
    name: str
    prefix: str
    digest: str
    scopes: tuple[Scope, ...]
    ceilings: KeyCeilings = UNBOUNDED
    created_at: datetime
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


def allows(scopes: Collection[Scope], wanted: Scope) -> bool:
    """Whether these scopes include ``wanted``."""
    return any(wanted in INCLUDED[scope] for scope in scopes)


def no_such_key(key_id: str) -> UsageError:
    """Return the error of a key id that a store does not know."""
    return UsageError(f"there is no key {key_id}", "`leadhand keys list` shows the keys of this database")


def key_exists(key: ApiKey) -> UsageError:
    """Return the error of adding a key twice, or another one with the name of a key that is in use."""
    return UsageError(
        f"a key named {key.name}, or with the id {key.key_id}, already exists",
        "choose another name, or revoke that key first: leadhand keys list",
    )
