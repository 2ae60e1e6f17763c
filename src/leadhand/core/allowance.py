"""The arithmetic of allowances: what a model call reserves before it is made, and how the reservation is settled.

Every call reserves an upper bound in the transaction that writes ``ModelCallBegan``: from the run, and from each scope
that the event names (a step and its ancestors). Parallel attempts therefore cannot exceed any of these ceilings
together. The only exception is a provider that reports more than was reserved; its report is counted, since the money
is spent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .errors import AllowanceRefused
from .events import AnyEvent, AttemptParked, AttemptReturned, ModelCallBegan, ModelCallReturned, RunChanged
from .limits import NANO, Amount, Ceiling, Usage, smaller
from .run import RunDefinition

Sum = tuple[int, int, int]
"""Requests, tokens, nano-dollars."""
Ceilings = tuple[int | None, int | None, int | None]
"""The maximum of each kind; None means unlimited."""

ZERO: Sum = (0, 0, 0)
UNLIMITED: Ceilings = (None, None, None)
FLAGS = ("--max-requests", "--max-tokens", "--budget")
"""The options that set the ceilings of a run, in the order of their amounts."""
LARGEST = 2**53
"""The largest amount that is counted, so that sums fit a database's integer."""

METERED = (ModelCallBegan, ModelCallReturned, AttemptReturned, AttemptParked, RunChanged)
"""The events that change a budget: of an attempt, or :class:`~leadhand.core.events.RunChanged`."""


def counted(amount: Amount) -> Sum:
    """Return an amount as budgets count it: neither negative nor above :data:`LARGEST`."""
    return (
        min(max(amount.requests, 0), LARGEST),
        min(max(amount.tokens, 0), LARGEST),
        min(max(amount.nanousd, 0), LARGEST),
    )


def ceilings(ceiling: Ceiling) -> Ceilings:
    """Return a ceiling as budgets count it; a limit above :data:`LARGEST` counts as unlimited."""

    def bounded(limit: int | None) -> int | None:
        return None if limit is None or limit > LARGEST else limit

    return bounded(ceiling.requests), bounded(ceiling.tokens), bounded(ceiling.nanousd)


class Account(NamedTuple):
    """One ceiling, of a run or of a scope, with what was spent and reserved below it."""

    ceiling: Ceilings
    spent: Sum = ZERO
    reserved: Sum = ZERO

    def fits(self, amount: Sum, kept: Sum = ZERO) -> bool:
        """Whether ``amount`` can be reserved and ``kept`` still remains."""
        return all(left is None or more <= left for more, left in zip(amount, self.left(kept), strict=True))

    def left(self, kept: Sum = ZERO) -> Ceilings:
        """What can still be reserved if ``kept`` has to remain; negative if less than ``kept`` is left."""
        requests, tokens, nanousd = (
            None if most is None else most - keep - spent - reserved
            for most, keep, spent, reserved in zip(self.ceiling, kept, self.spent, self.reserved, strict=True)
        )
        return requests, tokens, nanousd

    def reserve(self, amount: Sum) -> Account:
        return Account(self.ceiling, self.spent, _plus(self.reserved, amount))

    def settle(self, reserved: Sum, used: Sum) -> Account:
        return Account(self.ceiling, _plus(self.spent, used), _minus(self.reserved, reserved))


class Reservation(NamedTuple):
    """The amount that an open call has reserved, and its scopes and shared accounts besides the run."""

    amount: Sum
    scopes: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


class Budget:
    """The budget of one run: its own account, the accounts of its scopes, and the open reservations.

    ``open`` holds the reservations by attempt and call. A store that keeps budgets in a database loads what an append
    needs (:meth:`load`, :meth:`load_scope`), applies the events, and then writes what :meth:`closed`, :meth:`opened`
    and :meth:`changed_scopes` return. A store in memory only calls :meth:`apply`. ``shared`` holds accounts of many
    runs: one dictionary for all of them, which the store loads and writes. Their ceilings are those of each call.
    """

    __slots__ = ("held_back", "loaded", "loaded_scopes", "open", "run", "scopes", "shared")

    def __init__(self, run: Account, held_back: Sum = ZERO, shared: dict[str, Account] | None = None) -> None:
        self.shared: dict[str, Account] = {} if shared is None else shared
        self.run: Account = run
        self.held_back = held_back
        self.scopes: dict[str, Account] = {}
        self.open: dict[str, dict[str, Reservation]] = {}
        self.loaded: dict[str, dict[str, Reservation]] = {}
        self.loaded_scopes: dict[str, Account] = {}

    @classmethod
    def of(cls, definition: RunDefinition, shared: dict[str, Account] | None = None) -> Budget:
        """Return the budget of a new run."""
        return cls(Account(ceilings(definition.limits.ceiling)), counted(definition.held_back), shared)

    def load(self, attempt: str, call_id: str, reservation: Reservation) -> None:
        """Add an open reservation from the database. Its scopes must be loaded too."""
        self.open.setdefault(attempt, {})[call_id] = reservation
        self.loaded.setdefault(attempt, {})[call_id] = reservation

    def load_scope(self, scope: str, account: Account) -> None:
        """Add the account of a scope from the database."""
        self.scopes[scope] = self.loaded_scopes[scope] = account

    def apply(self, events: Iterable[AnyEvent]) -> None:
        """Apply the reservations and settlements of ``events``, all or none. Raises AllowanceRefused."""
        trial, held_back = _Trial(self), self.held_back
        for event in events:
            match event:
                case ModelCallBegan():
                    trial.reserve(event, _kept(event, held_back))
                case ModelCallReturned():
                    trial.settle(event.attempt, event.call_id, event.usage)
                case AttemptReturned() | AttemptParked():
                    # Calls that are still open will never return, so their cost is unknown.
                    for call_id in list(trial.calls(event.attempt)):
                        trial.settle(event.attempt, call_id, None)
                case RunChanged() if event.limits is not None:
                    trial.run = trial.run._replace(ceiling=ceilings(event.limits.ceiling))
                    held_back = counted(event.held_back)
                case _:
                    pass
        self.run, self.held_back = trial.run, held_back
        self.scopes.update(trial.scopes)
        self.shared.update(trial.shared)
        self.open.update(trial.open)

    def closed(self) -> list[tuple[str, str]]:
        """Return attempt and call of each loaded reservation that is settled or replaced."""
        return [
            (attempt, call_id)
            for attempt, calls in self.loaded.items()
            for call_id, reservation in calls.items()
            if self.open[attempt].get(call_id) != reservation
        ]

    def opened(self) -> list[tuple[str, str, Reservation]]:
        """Return attempt, call and content of each reservation that is new or replaced."""
        return [
            (attempt, call_id, reservation)
            for attempt, calls in self.open.items()
            for call_id, reservation in calls.items()
            if self.loaded.get(attempt, {}).get(call_id) != reservation
        ]

    def changed_scopes(self) -> list[tuple[str, Account]]:
        """Return each scope whose account is new or changed."""
        return [(scope, account) for scope, account in self.scopes.items() if self.loaded_scopes.get(scope) != account]


class _Trial:
    """A draft of a budget after some events; discarded unless all of them fit."""

    __slots__ = ("_of", "open", "run", "scopes", "shared")

    def __init__(self, budget: Budget) -> None:
        self._of = budget
        self.run: Account = budget.run
        self.scopes: dict[str, Account] = {}
        self.shared: dict[str, Account] = {}
        self.open: dict[str, dict[str, Reservation]] = {}

    def calls(self, attempt: str) -> dict[str, Reservation]:
        """Return the open calls of an attempt, a copy that may be changed."""
        calls = self.open.get(attempt)
        if calls is None:
            calls = self.open[attempt] = dict(self._of.open.get(attempt, {}))
        return calls

    def reserve(self, event: ModelCallBegan, kept: Sum) -> None:
        # A call that begins a second time may have been made the first time too, so the first counts in full.
        self.settle(event.attempt, event.call_id, None)
        amount = counted(event.reserved)
        if not self.run.fits(amount, kept):
            raise _refused(event, "", self.run.left(kept), kept)
        self.run = self.run.reserve(amount)
        scopes: dict[str, Account] = {}
        for allowance in event.within:
            ceiling = ceilings(allowance.ceiling)
            account = scopes.get(allowance.scope) or self.scopes.get(allowance.scope)
            account = account or self._of.scopes.get(allowance.scope) or Account(ceiling)
            scopes[allowance.scope] = account._replace(ceiling=_smaller(account.ceiling, ceiling))
        for scope, account in scopes.items():
            if not account.fits(amount):
                raise _refused(event, scope, account.left())
            self.scopes[scope] = account.reserve(amount)
        for allowance in event.shared:
            account = self._shared(allowance.scope)._replace(ceiling=ceilings(allowance.ceiling))
            if not account.fits(amount):
                hopeless = not account._replace(reserved=ZERO).fits(amount)
                raise _refused(event, allowance.scope, account.left(), shared=True, hopeless=hopeless)
            self.shared[allowance.scope] = account.reserve(amount)
        names = tuple(allowance.scope for allowance in event.shared)
        self.calls(event.attempt)[event.call_id] = Reservation(amount, tuple(scopes), names)

    def _shared(self, scope: str) -> Account:
        return self.shared.get(scope) or self._of.shared.get(scope) or Account(UNLIMITED)

    def settle(self, attempt: str, call_id: str, usage: Usage | None) -> None:
        """Count the usage of a call instead of its reservation. A call that is not open is already counted."""
        reservation = self.calls(attempt).pop(call_id, None)
        if reservation is None:
            return
        used = reservation.amount
        if usage is not None:
            requests, tokens, nanousd = counted(usage.amount)
            used = requests, tokens, used[2] if usage.nanousd is None else nanousd
        self.run = self.run.settle(reservation.amount, used)
        for scope in reservation.scopes:
            account = self.scopes.get(scope) or self._of.scopes[scope]
            self.scopes[scope] = account.settle(reservation.amount, used)
        for scope in reservation.shared:
            self.shared[scope] = self._shared(scope).settle(reservation.amount, used)


def _kept(event: ModelCallBegan, held_back: Sum) -> Sum:
    """What a call must leave free for the stages of the run that follow it: all that is held back, or their parts."""
    after, stages = event.after, event.stages
    if after >= stages:
        return held_back
    requests, tokens, nanousd = held_back
    return min(after, requests), tokens * after // stages, nanousd * after // stages


def _plus(one: Sum, other: Sum) -> Sum:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _minus(one: Sum, other: Sum) -> Sum:
    return one[0] - other[0], one[1] - other[1], one[2] - other[2]


def _smaller(one: Ceilings, other: Ceilings) -> Ceilings:
    requests, tokens, nanousd = map(smaller, one, other)
    return requests, tokens, nanousd


def _refused(
    event: ModelCallBegan,
    scope: str,
    left: Ceilings,
    kept: Sum = ZERO,
    *,
    shared: bool = False,
    hopeless: bool = False,
) -> AllowanceRefused:
    """Return the error of a reservation that exceeds the scope, or the run if ``scope`` is empty."""
    needed = counted(event.reserved)
    short = [flag for flag, amount, rest in zip(FLAGS, needed, left, strict=True) if rest is not None and amount > rest]
    owner = f"the budget of {scope}" if shared else f"the step {scope}" if scope else "the run"
    lacking = " and ".join(_lacking(flag, needed, left, owner) for flag in short)
    if shared:
        how = "retry the run on the next day (UTC) if the budget is for a day; otherwise fork it under a higher one"
        return AllowanceRefused(lacking, how, scope=scope, shared=True, hopeless=hopeless)
    steps = "reviews and the answer" if event.after >= event.stages else "the steps after it"
    beside = f", besides what is kept for {steps}" if any(kept) else ""
    how = f"raise {' and '.join(short)}, and resume the run"
    if scope:
        how = "raise the ceiling of that step or of its role"
        return AllowanceRefused(lacking, how, scope=scope)
    requests, tokens, nanousd = (each if flag in short else 0 for flag, each in zip(FLAGS, needed, strict=True))
    short_of = Amount(requests=requests, tokens=tokens, nanousd=nanousd)
    return AllowanceRefused(f"{lacking}{beside}", how, short_of=short_of)


def _lacking(flag: str, needed: Sum, left: Ceilings, owner: str) -> str:
    """Say what is left of one kind of allowance, and what the next call may need of it."""
    at = FLAGS.index(flag)
    amount, rest = needed[at], max(left[at] or 0, 0)
    if flag == "--max-requests":
        return f"{owner} has no model calls left"
    if flag == "--max-tokens":
        return f"the next model call may need {amount:,} tokens, and {owner} has {rest:,} left"
    return f"the next model call may cost {_dollars(amount)}, and {owner} has {_dollars(rest)} left"


def _dollars(nanousd: int) -> str:
    return f"${nanousd / NANO:.6f}".rstrip("0").rstrip(".")
