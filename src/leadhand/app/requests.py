"""Record what people answer to runs, each answer checked against the state of its run right before it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from leadhand.core.errors import LeadhandError
from leadhand.core.events import AnyEvent
from leadhand.core.evolve import fold, foreseen
from leadhand.core.state import RunState
from leadhand.engine.log import RunLog
from leadhand.ports import Clock
from leadhand.ports.heads import head_of


@dataclass(eq=False, slots=True)
class _Request:
    event: AnyEvent
    check: Callable[[RunState], object]
    blobs: Mapping[str, bytes]
    recorded: asyncio.Future[RunState] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Requests:
    """Appends answers of people to runs, with the head of the run after them.

    Answers to one run wait for each other, and those that wait are appended together: the state of the run is folded
    once for all of them, and however many there are, a list of runs is right after the last one.
    """

    def __init__(
        self,
        load: Callable[[str], Awaitable[RunState]],
        log: Callable[[str], RunLog],
        remember: Callable[[RunState], None],
        clock: Clock,
    ) -> None:
        """``load`` returns the state of a run, ``remember`` keeps it."""
        self._load = load
        self._log = log
        self._remember = remember
        self._clock = clock
        self._waiting: dict[str, list[_Request]] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def record(
        self,
        run_id: str,
        event: AnyEvent,
        check: Callable[[RunState], object],
        blobs: Mapping[str, bytes] | None = None,
    ) -> RunState:
        """Append an answer, and return the state of the run right after it. ``check`` raises UsageError if a state does
        not allow it; then the answer does not count.

        Raises that error, and StoreError.
        """
        request = _Request(event, check, blobs or {})
        self._waiting.setdefault(run_id, []).append(request)
        turn = self._turns.setdefault(run_id, asyncio.Lock())
        async with turn:
            if requests := self._waiting.pop(run_id, []):
                await asyncio.shield(self._append(run_id, requests))
        return await request.recorded

    async def _append(self, run_id: str, requests: Sequence[_Request]) -> None:
        try:
            state, log = await self._load(run_id), self._log(run_id)
            allowed, after = list[_Request](), state
            for each in requests:
                if _is_allowed(each, after):
                    allowed.append(each)
                    after = foreseen(after, [each.event], self._clock.now())
            if not allowed:
                return
            blobs = {digest: body for each in allowed for digest, body in each.blobs.items()}
            entries = await log.append(*(each.event for each in allowed), blobs=blobs, head=head_of(after))
            if missed := entries[0].seq - state.seq - 1:
                state = fold(state, await log.entries(state.seq, missed))
            for each, entry in zip(allowed, entries, strict=True):
                counts = not missed or _is_allowed(each, state)  # else another answer was first, and counts
                state = fold(state, [entry])
                if counts:
                    each.recorded.set_result(state)
            if missed:  # the head was not the right one, and did not count
                await log.append(head=head_of(state))
            self._remember(state)
        except Exception as error:
            for each in requests:
                if not each.recorded.done():
                    each.recorded.set_exception(error)


def _is_allowed(request: _Request, state: RunState) -> bool:
    """Whether a state allows a request; if not, its caller gets the error."""
    try:
        request.check(state)
    except LeadhandError as refusal:
        request.recorded.set_exception(refusal)
        return False
    return True
