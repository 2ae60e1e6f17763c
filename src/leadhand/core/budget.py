"""The arithmetic of budgets: what a model call reserves before it is made, and how the reservation is settled.

Every call reserves an upper bound in the transaction that writes ``ModelCallBegan``: from the run, and from each scope
that the event names (a step and its ancestors, and budgets of many runs). Parallel attempts therefore cannot exceed any
of these ceilings together. The only exception is a provider that reports more than was reserved; its report is counted,
since the money is spent.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, MutableMapping
from dataclasses import replace
from typing import Any, NamedTuple

from .errors import BudgetRefused
from .events import AnyEvent, AttemptParked, AttemptReturned, ModelCallBegan, ModelCallReturned, RunChanged
from .limits import NOTHING, Ceiling, Money, Usage
from .run import RunDefinition
from .words.failures import refused

METERED = (ModelCallBegan, ModelCallReturned, AttemptReturned, AttemptParked, RunChanged)
"""The events that change a budget: of an attempt, or :class:`~leadhand.core.events.RunChanged`."""


class Account(NamedTuple):
    """One ceiling, of a run or of a scope, with what was spent and reserved below it."""

    ceiling: Ceiling = Ceiling()
    spent: Money = NOTHING
    reserved: Money = NOTHING

    def left(self, kept: Money = NOTHING) -> Ceiling:
        """Return what can still be reserved if ``kept`` has to remain; negative if less than ``kept`` is left."""
        return self.ceiling.less(self.spent + self.reserved + kept)

    def reserve(self, amount: Money) -> Account:
        return self._replace(reserved=self.reserved + amount)

    def settle(self, reserved: Money, used: Money) -> Account:
        return Account(self.ceiling, self.spent + used, self.reserved - reserved)


class Reservation(NamedTuple):
    """The amount that an open call has reserved, and its scopes and shared accounts besides the run."""

    amount: Money
    scopes: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


Open = dict[str, Reservation]
"""The open reservations of an attempt, by call."""


class Budget:
    """The budget of one run: its own account, the accounts of its scopes, and the open reservations.

    ``open`` holds the reservations by attempt and call. A store that keeps budgets in a database loads what an append
    needs (:meth:`load`, :meth:`load_scope`), applies the events, and then writes what :meth:`closed`, :meth:`opened`
    and :meth:`changed_scopes` return. A store in memory only calls :meth:`apply`. ``shared`` holds accounts of many
    runs: one dictionary for all of them, which the store loads and writes. Their ceilings are those of each call.
    """

    __slots__ = ("held_back", "loaded", "loaded_scopes", "open", "run", "scopes", "shared")

    def __init__(self, run: Account, held_back: Money = NOTHING, shared: dict[str, Account] | None = None) -> None:
        self.run = run
        self.held_back = held_back
        self.shared: MutableMapping[str, Account] = {} if shared is None else shared
        self.scopes: MutableMapping[str, Account] = {}
        self.open: MutableMapping[str, Open] = {}
        self.loaded: dict[str, Open] = {}
        self.loaded_scopes: dict[str, Account] = {}

    @classmethod
    def of(cls, definition: RunDefinition, shared: dict[str, Account] | None = None) -> Budget:
        """Return the budget of a new run."""
        return cls(Account(definition.limits.ceiling), definition.held_back, shared)

    def load(self, attempt: str, call_id: str, reservation: Reservation) -> None:
        """Add an open reservation from the database. Its scopes must be loaded too."""
        self.open.setdefault(attempt, {})[call_id] = reservation
        self.loaded.setdefault(attempt, {})[call_id] = reservation

    def load_scope(self, scope: str, account: Account) -> None:
        """Add the account of a scope from the database."""
        self.scopes[scope] = self.loaded_scopes[scope] = account

    def apply(self, events: Iterable[AnyEvent]) -> None:
        """Apply the reservations and settlements of ``events``, all or none. Raises BudgetRefused."""
        run, held_back = self.run, self.held_back
        places: tuple[MutableMapping[str, Any], ...] = (self.scopes, self.open, self.shared)
        trial = tuple(ChainMap[str, Any]({}, place) for place in places)
        self.scopes, self.open, self.shared = trial
        try:
            for event in events:
                self._take(event)
            for place, changed in zip(places, trial, strict=True):
                place.update(changed.maps[0])
        except BudgetRefused:
            self.run, self.held_back = run, held_back
            raise
        finally:
            self.scopes, self.open, self.shared = places

    def _take(self, event: AnyEvent) -> None:
        match event:
            case ModelCallBegan():
                self._reserve(event)
            case ModelCallReturned():
                self._settle(event.attempt, event.call_id, event.usage)
            case AttemptReturned() | AttemptParked():
                # Calls that are still open will never return, so their cost is unknown.
                for call_id in self.open.get(event.attempt, {}):
                    self._settle(event.attempt, call_id, None)
            case RunChanged() if event.limits is not None:
                self.run, self.held_back = self.run._replace(ceiling=event.limits.ceiling), event.held_back
            case _:
                pass

    def _reserve(self, event: ModelCallBegan) -> None:
        # A call that begins a second time may have been made the first time too, so the first counts in full.
        self._settle(event.attempt, event.call_id, None)
        amount, kept = event.reserved, self._kept(event)
        if not amount.fits(left := self.run.left(kept)):
            raise refused(event, self.run.ceiling, left, kept)
        self.run = self.run.reserve(amount)
        for ceiling in event.within:  # an ancestor and its descendant may name one scope
            account = self.scopes.get(ceiling.scope, Account())
            self.scopes[ceiling.scope] = account._replace(ceiling=account.ceiling.within(ceiling))
        scopes = tuple(dict.fromkeys(each.scope for each in event.within))
        for scope in scopes:
            account = self.scopes[scope]
            if not amount.fits(left := account.left()):
                raise refused(event, replace(account.ceiling, scope=scope), left)
            self.scopes[scope] = account.reserve(amount)
        for ceiling in event.shared:
            account = self.shared.get(ceiling.scope, Account())._replace(ceiling=ceiling)
            if not amount.fits(left := account.left()):
                hopeless = not (account.spent + amount).fits(ceiling)
                raise refused(event, ceiling, left, shared=True, hopeless=hopeless)
            self.shared[ceiling.scope] = account.reserve(amount)
        reservation = Reservation(amount, scopes, tuple(each.scope for each in event.shared))
        self.open[event.attempt] = {**self.open.get(event.attempt, {}), event.call_id: reservation}

    def _kept(self, event: ModelCallBegan) -> Money:
        """What a call must leave free for the stages that follow it: all that is held back, or their parts."""
        after, stages, held_back = event.after, event.stages, self.held_back
        if after >= stages:
            return held_back
        parts = held_back.tokens * after // stages, held_back.nanousd * after // stages
        return Money(min(after, held_back.requests), *parts)

    def _settle(self, attempt: str, call_id: str, usage: Usage | None) -> None:
        """Count the usage of a call instead of its reservation. A call that is not open is already counted."""
        calls = self.open.get(attempt, {})
        if (reservation := calls.get(call_id)) is None:
            return
        self.open[attempt] = {each: calls[each] for each in calls if each != call_id}
        amount = reservation.amount
        used = amount if usage is None else usage.used(amount)
        self.run = self.run.settle(amount, used)
        for scope in reservation.scopes:
            self.scopes[scope] = self.scopes[scope].settle(amount, used)
        for scope in reservation.shared:
            self.shared[scope] = self.shared.get(scope, Account()).settle(amount, used)

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
