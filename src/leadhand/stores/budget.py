"""A run's allowance: what is reserved before a model call, and settled after it.

Every call reserves an upper bound in the transaction that writes ``ModelCallBegan``, so no set of parallel workers
can jointly spend more than the ceiling. The single exception is a provider that reports more than was reserved; what
it reports is counted, since it is the truth.
"""

from __future__ import annotations

from collections.abc import Iterable

from leadhand.domain.errors import NEXT_ACTION, FailureClass
from leadhand.domain.events import (
    AnyEvent,
    AttemptLost,
    AttemptParked,
    AttemptReturned,
    ModelCallBegan,
    ModelCallReturned,
)
from leadhand.domain.limits import NANO, Amount, Ceiling, Usage
from leadhand.ports import AllowanceRefused

Sum = tuple[int, int, int]
"""Requests, tokens, nano-dollars."""
Ceilings = tuple[int | None, int | None, int | None]

ZERO: Sum = (0, 0, 0)
LARGEST = 2**53
"""No single amount counts for more, so that their sums stay within a database's integer."""

METERED = (ModelCallBegan, ModelCallReturned, AttemptReturned, AttemptParked, AttemptLost)
"""The events that move a budget; all of them are about an attempt."""


def counted(amount: Amount) -> Sum:
    """An amount as it is counted: neither negative nor beyond :data:`LARGEST`."""
    return (
        min(max(amount.requests, 0), LARGEST),
        min(max(amount.tokens, 0), LARGEST),
        min(max(amount.nanousd, 0), LARGEST),
    )


def ceilings(ceiling: Ceiling) -> Ceilings:
    """A ceiling as it is counted; one beyond :data:`LARGEST` is none."""

    def bounded(limit: int | None) -> int | None:
        return None if limit is None or limit > LARGEST else limit

    return bounded(ceiling.requests), bounded(ceiling.tokens), bounded(ceiling.nanousd)


class Budget:
    """The budget of one run, as its row and its open reservations say, changed by one append after another.

    ``open`` holds what is reserved, by attempt and call; only attempts that were loaded may be moved. After the
    appends, ``closed`` and ``opened`` say which rows to take away and to add.
    """

    __slots__ = ("ceiling", "held_back", "loaded", "open", "reserved", "spent")

    def __init__(self, ceiling: Ceilings, held_back: Sum, spent: Sum = ZERO, reserved: Sum = ZERO) -> None:
        self.ceiling = ceiling
        self.held_back = held_back
        self.spent = spent
        self.reserved = reserved
        self.open: dict[str, dict[str, Sum]] = {}
        self.loaded: dict[str, dict[str, Sum]] = {}

    def load(self, attempt: str, call_id: str, amount: Sum) -> None:
        """Take note of an open reservation of the database."""
        self.open.setdefault(attempt, {})[call_id] = amount
        self.loaded.setdefault(attempt, {})[call_id] = amount

    def apply(self, events: Iterable[AnyEvent]) -> None:
        """Reserve and settle what ``events`` say, all or nothing. Raises AllowanceRefused."""
        trial = _Trial(self)
        for event in events:
            match event:
                case ModelCallBegan():
                    trial.reserve(event, self.ceiling, ZERO if event.final else self.held_back)
                case ModelCallReturned():
                    trial.settle(event.attempt, event.call_id, event.usage)
                case AttemptReturned() | AttemptParked() | AttemptLost():
                    # Calls that are still open now were never heard of again: what they cost is unknown.
                    for call_id in list(trial.calls(event.attempt)):
                        trial.settle(event.attempt, call_id, None)
                case _:
                    pass
        self.spent, self.reserved = trial.spent, trial.reserved
        self.open.update(trial.open)

    def closed(self) -> list[tuple[str, str]]:
        """Attempt and call of each row that is to go."""
        return [
            (attempt, call_id)
            for attempt, calls in self.loaded.items()
            for call_id, amount in calls.items()
            if self.open[attempt].get(call_id) != amount
        ]

    def opened(self) -> list[tuple[str, str, int, int, int]]:
        """Attempt, call and amounts of each row that is to come."""
        return [
            (attempt, call_id, *amount)
            for attempt, calls in self.open.items()
            for call_id, amount in calls.items()
            if self.loaded.get(attempt, {}).get(call_id) != amount
        ]


class _Trial:
    """A budget as it would be after some events: kept only if all of them fit."""

    __slots__ = ("_of", "open", "reserved", "spent")

    def __init__(self, budget: Budget) -> None:
        self._of = budget
        self.spent = budget.spent
        self.reserved = budget.reserved
        self.open: dict[str, dict[str, Sum]] = {}

    def calls(self, attempt: str) -> dict[str, Sum]:
        """The open calls of an attempt, a copy that may be changed."""
        calls = self.open.get(attempt)
        if calls is None:
            calls = self.open[attempt] = dict(self._of.open.get(attempt, {}))
        return calls

    def reserve(self, event: ModelCallBegan, ceiling: Ceilings, held_back: Sum) -> None:
        # The same call of the same attempt begun twice, and never heard of in between: the first may have been made.
        self.settle(event.attempt, event.call_id, None)
        wanted = counted(event.reserved)
        for most, kept, spent, reserved, more in zip(
            ceiling, held_back, self.spent, self.reserved, wanted, strict=True
        ):
            if most is not None and spent + reserved + more > most - kept:
                raise _refused(event, ceiling, held_back, _plus(self.spent, self.reserved))
        self.reserved = _plus(self.reserved, wanted)
        self.calls(event.attempt)[event.call_id] = wanted

    def settle(self, attempt: str, call_id: str, usage: Usage | None) -> None:
        """Count what a call used instead of what it had reserved. A call that is not open was counted before."""
        reserved = self.calls(attempt).pop(call_id, None)
        if reserved is None:
            return
        self.reserved = _minus(self.reserved, reserved)
        if usage is None:
            self.spent = _plus(self.spent, reserved)
            return
        requests, tokens, nanousd = counted(usage.amount)
        self.spent = _plus(self.spent, (requests, tokens, reserved[2] if usage.nanousd is None else nanousd))


def _plus(one: Sum, other: Sum) -> Sum:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _minus(one: Sum, other: Sum) -> Sum:
    return one[0] - other[0], one[1] - other[1], one[2] - other[2]


def _refused(event: ModelCallBegan, ceiling: Ceilings, held_back: Sum, taken: Sum) -> AllowanceRefused:
    left = [
        None if most is None else max(most - kept - used, 0)
        for most, kept, used in zip(ceiling, held_back, taken, strict=True)
    ]
    kept = " beside what is kept for writing the answer" if any(held_back) else ""
    return AllowanceRefused(
        f"the model call {event.call_id} may need {_told(counted(event.reserved))}, and the run has {_told(left)} left"
        f"{kept}",
        NEXT_ACTION[FailureClass.EXHAUSTED],
    )


def _told(amounts: Iterable[int | None]) -> str:
    requests, tokens, nanousd = amounts
    parts = [
        *([] if requests is None else [f"{requests} request{'' if requests == 1 else 's'}"]),
        *([] if tokens is None else [f"{tokens} tokens"]),
        *([] if nanousd is None else [f"${nanousd / NANO:.6f}"]),
    ]
    return ", ".join(parts)
