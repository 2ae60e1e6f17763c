"""The arithmetic of budgets: what a model call reserves before it is made, and how the reservation is settled.

Every call reserves an upper bound in the transaction that writes ``ModelCallBegan``, from the run and from each scope
that the event names. Parallel attempts therefore cannot exceed any of these ceilings together; only a provider that
reports more than was reserved can.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import NamedTuple

from .events import AnyEvent, AttemptParked, AttemptReturned, ModelCallBegan, ModelCallReturned, RunChanged
from .limits import NOTHING, Ceiling, Money, Usage
from .words.failures import refused

METERED = (ModelCallBegan, ModelCallReturned, AttemptReturned, AttemptParked, RunChanged)
"""The events that change a budget: of an attempt, or :class:`~leadhand.core.events.RunChanged`."""


class Account(NamedTuple):
    """One ceiling, of a run or of a scope, with what was spent and reserved below it."""

    ceiling: Ceiling = Ceiling()
    spent: Money = NOTHING
    reserved: Money = NOTHING

    def reserve(
        self, event: ModelCallBegan, scope: str = "", kept: Money = NOTHING, *, shared: bool = False
    ) -> Account:
        """Return the account after a call's reservation, which leaves ``kept``. Raises BudgetRefused."""
        amount, left = event.reserved, self.ceiling.less(self.spent + self.reserved + kept)
        if not amount.fits(left):
            error = refused(amount, scope, left, kept, shared=shared)
            error.may_fit = amount.fits(self.ceiling.less(self.spent + kept))
            raise error
        return self._replace(reserved=self.reserved + amount)

    def settle(self, reserved: Money, used: Money) -> Account:
        return Account(self.ceiling, self.spent + used, self.reserved - reserved)


class Reservation(NamedTuple):
    """The amount that an open call has reserved, and its scopes and shared accounts besides the run."""

    amount: Money
    scopes: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


class Budget:
    """The budget of one run: its own account, those of its ``scopes``, and the ``open`` reservations.

    The reservations are by attempt and call. A store that keeps budgets in a database loads what an append needs,
    applies the events, and writes what is there then. ``shared`` holds accounts of many runs, in one dictionary for all
    of them. Their ceilings are those of each call.
    """

    __slots__ = ("open", "run", "scopes", "shared")

    def __init__(self, run: Account, shared: dict[str, Account] | None = None) -> None:
        self.run = run
        self.shared = {} if shared is None else shared
        self.scopes: dict[str, Account] = {}
        self.open: dict[tuple[str, str], Reservation] = {}

    def apply(self, events: Iterable[AnyEvent]) -> None:
        """Apply the reservations and settlements of ``events``, all or none. Raises BudgetRefused."""
        trial = copy(self)
        trial.scopes, trial.open, trial.shared = dict(self.scopes), dict(self.open), dict(self.shared)
        for event in events:
            trial._take(event)
        self.run, self.scopes, self.open = trial.run, trial.scopes, trial.open
        self.shared.update(trial.shared)

    def _take(self, event: AnyEvent) -> None:
        match event:
            case ModelCallBegan():
                self._reserve(event)
            case ModelCallReturned():
                self._settle((event.attempt, event.call_id), event.usage)
            case AttemptReturned() | AttemptParked():
                # Calls that are still open will never return, so their cost is unknown.
                for key in [key for key in self.open if key[0] == event.attempt]:
                    self._settle(key, None)
            case RunChanged():
                self.run = self.run._replace(ceiling=event.limits.ceiling)
            case _:
                pass

    def _reserve(self, event: ModelCallBegan) -> None:
        # A call that begins a second time may have been made the first time too, so the first counts in full.
        self._settle((event.attempt, event.call_id), None)
        self.run = self.run.reserve(event, kept=event.kept)
        for ceiling in event.within:  # an ancestor and its descendant may name one scope
            account = self.scopes.get(ceiling.scope, Account())
            self.scopes[ceiling.scope] = account._replace(ceiling=account.ceiling.within(ceiling))
        scopes = tuple(dict.fromkeys(each.scope for each in event.within))
        for scope in scopes:
            self.scopes[scope] = self.scopes[scope].reserve(event, scope)
        for ceiling in event.shared:
            account = self.shared.get(ceiling.scope, Account())._replace(ceiling=ceiling)
            self.shared[ceiling.scope] = account.reserve(event, ceiling.scope, shared=True)
        shared = tuple(each.scope for each in event.shared)
        self.open[event.attempt, event.call_id] = Reservation(event.reserved, scopes, shared)

    def _settle(self, key: tuple[str, str], usage: Usage | None) -> None:
        """Count the usage of a call instead of its reservation. A call that is not open is already counted."""
        if (reservation := self.open.pop(key, None)) is None:
            return
        amount = reservation.amount
        used = amount if usage is None else usage.used(amount)
        self.run = self.run.settle(amount, used)
        for scope in reservation.scopes:
            self.scopes[scope] = self.scopes[scope].settle(amount, used)
        for scope in reservation.shared:
            self.shared[scope] = self.shared.get(scope, Account()).settle(amount, used)
