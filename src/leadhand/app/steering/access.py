"""Scopes, and the records of API keys that a service stores (never the keys themselves)."""

from collections.abc import Collection
from enum import StrEnum

from pydantic import Field

from leadhand.core.limits import Concurrency, Dollars, Limits, SharedBudget, SharedLimit, nanousd, smaller
from leadhand.core.value import Moment, Value


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
    """The limits of a key, money in US dollars; null where only the server's limits apply."""

    budget: Dollars | None = Field(default=None, description="The most that one run may spend.")
    budget_per_day: Dollars | None = Field(
        default=None, description="The most that all its runs may spend on one day (UTC)."
    )
    budget_total: Dollars | None = Field(default=None, description="The most that all its runs may spend.")
    max_runs: int | None = Field(
        default=None, ge=1, le=10_000, description="The most runs at once, including those that wait for approval."
    )
    max_workers: int | None = Field(default=None, ge=1, le=10_000, description="The most steps of one run at once.")
    max_running_steps: int | None = Field(
        default=None, ge=1, le=10_000, description="The most steps of all its runs at once, on all hosts."
    )

    @property
    def in_money(self) -> bool:
        """Whether one of the ceilings is in money, so that the price of every call must be known."""
        return any(each is not None for each in (self.budget, self.budget_per_day, self.budget_total))

    def budgets(self, key_id: str) -> tuple[SharedBudget, ...]:
        """Return the budgets that all runs of the key share."""
        amounts = ((self.budget_per_day, True), (self.budget_total, False))
        return tuple(
            SharedBudget(scope=f"key {key_id}", nanousd=nanousd(most), daily=daily)
            for most, daily in amounts
            if most is not None
        )

    def shared(self, key_id: str) -> Concurrency:
        """Return the limit at once that all runs of the key share."""
        most = self.max_running_steps
        return Concurrency(steps=() if most is None else (SharedLimit(scope=f"the key `{key_id}`", most=most),))

    def narrow(self, limits: Limits) -> Limits:
        """Return the limits of a run within these ceilings."""
        lower = {
            "budget": smaller(limits.budget, self.budget),
            "max_workers": smaller(limits.max_workers, self.max_workers),
        }
        own = {name: value for name, value in lower.items() if getattr(self, name) is not None}
        return limits.patched(Limits(**own, **({"allow_unknown_price": False} if self.in_money else {})))


UNBOUNDED = KeyCeilings()


class KeyDocument(Value):
    """An API key, without the secret."""

    key_id: str
    name: str
    prefix: str = Field(description="The first characters of the secret.")
    scopes: tuple[Scope, ...]
    ceilings: KeyCeilings = UNBOUNDED
    created_at: Moment
    revoked_at: Moment | None = None
    last_used_at: Moment | None = None


class ApiKey(KeyDocument):
    """The stored record of an API key: everything but the key itself, of which ``digest`` is the SHA-256 (hex).

    A key with ``revoked_at`` no longer grants access. No two keys that are not revoked have the same ``name``.
    """

    digest: str

    @property
    def shown(self) -> KeyDocument:
        """The key as people see it."""
        return KeyDocument.model_validate(self.model_dump(exclude={"digest"}))


def allows(scopes: Collection[Scope], wanted: Scope) -> bool:
    """Whether these scopes include ``wanted``."""
    return any(wanted in INCLUDED[scope] for scope in scopes)
