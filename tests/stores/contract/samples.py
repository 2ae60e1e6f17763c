"""Sample events of the contract, and probes of what a store has left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from leadhand.core import events as ev
from leadhand.core.approval import Approval, args_hash
from leadhand.core.errors import BudgetRefused, Failure, FailureClass
from leadhand.core.limits import NOTHING, Ceiling, Limits, Money, Usage
from leadhand.core.run import ModelChoice, RunDefinition, RunStatus
from leadhand.core.tool import Effect
from leadhand.ports import ContextStore

PATIENCE_S = 10.0
"""The longest wait of a test, in seconds: it ends a test that would hang."""

ATTEMPT = "wo-001.0/a1"
ARGS = {"to": "Bob", "amount": 30}
UNLIMITED = Limits(budget=None)
Within = Mapping[str, Ceiling]
"""Ceilings by scope."""


class Contract:
    """Tests to inherit. They take their stores from fixtures of the class that inherits them."""

    pytestmark = pytest.mark.asyncio


def started(
    request: str = "Travel advice for Paris",
    *,
    limits: Limits = UNLIMITED,
    held_back: Money = NOTHING,
    detached: bool = False,
    flow: str = "work-order",
    **more: Any,
) -> ev.RunStarted:
    """The first event of a run."""
    return ev.RunStarted(
        definition=RunDefinition(
            request=request,
            flow=flow,
            models=ModelChoice(default="offline"),
            limits=limits,
            held_back=held_back,
            detached=detached,
            **more,
        )
    )


def pauses(*reasons: str) -> list[ev.AnyEvent]:
    """Return events that differ in their reasons."""
    return [ev.RunStatusSet(status=RunStatus.PAUSED, reason=reason) for reason in reasons]


def reasons(entries: list[ev.Entry]) -> list[str]:
    """Return the reasons of :func:`pauses`."""
    return [entry.event.reason for entry in entries if isinstance(entry.event, ev.RunStatusSet)]


def began(
    call: str, reserved: Money, *, attempt: str = ATTEMPT, kept: Money = NOTHING, within: Within | None = None,
    shared: Within | None = None,
) -> ev.ModelCallBegan:  # fmt: skip
    """A model call that reserves an amount, from the scopes in ``within`` and the accounts in ``shared`` too."""
    allowances = tuple(replace(ceiling, scope=scope) for scope, ceiling in (within or {}).items())
    of_many = tuple(replace(ceiling, scope=scope) for scope, ceiling in (shared or {}).items())
    return ev.ModelCallBegan(
        attempt=attempt, call_id=call, model="offline", reserved=reserved, kept=kept, within=allowances,
        shared=of_many,
    )  # fmt: skip


def tokens(number: int) -> Money:
    return Money(tokens=number)


def tokens_at_most(number: int) -> Ceiling:
    return Ceiling(tokens=number)


def returned(call: str, usage: Usage | None, *, attempt: str = ATTEMPT) -> ev.ModelCallReturned:
    """The return of a model call that used ``usage`` (None: unknown)."""
    return ev.ModelCallReturned(attempt=attempt, call_id=call, model="offline", usage=usage)


def lost(attempt: str = ATTEMPT) -> ev.AttemptReturned:
    failure = Failure.of("", "lost", FailureClass.LOST)
    return ev.AttemptReturned(attempt=attempt, lost=True, failure=failure)


async def fits(
    store: ContextStore, run_id: str, amount: Money, *, kept: Money = NOTHING, within: Within | None = None
) -> bool:
    """Whether a call could reserve this much now. The same append settles the reservation with nothing used."""
    probe = f"probe-{time.monotonic_ns()}"
    nothing = Usage(requests=0, nanousd=0)
    try:
        await store.append(run_id, [began(probe, amount, kept=kept, within=within), returned(probe, nothing)])
    except BudgetRefused:
        return False
    return True


async def tokens_left(store: ContextStore, run_id: str, *, kept: Money = NOTHING, within: Within | None = None) -> int:
    """Return how many tokens a call could reserve now, up to a thousand."""
    fitting, too_many = -1, 1_001
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        if await fits(store, run_id, tokens(middle), kept=kept, within=within):
            fitting = middle
        else:
            too_many = middle
    return fitting


async def collected(following: AsyncGenerator[list[ev.Entry]], until: int) -> list[ev.Entry]:
    """Return what a follower receives up to the sequence ``until``."""
    entries: list[ev.Entry] = []
    async with asyncio.timeout(PATIENCE_S):
        async for news in following:
            entries += news
            if entries[-1].seq >= until:
                break
    await following.aclose()
    return entries


async def next_of(following: AsyncGenerator[list[ev.Entry]]) -> list[ev.Entry]:
    """Return what a follower receives next."""
    async with asyncio.timeout(PATIENCE_S):
        return await anext(following)


def asks(call: str, *, tool: str = "pay_tool", kind: str = "call", **more: Any) -> ev.ApprovalRequested:
    """A request for approval of a call such as ``wo-001.0/t0/c0``."""
    attempt = f"{call.rpartition('/t')[0]}/a1"
    approval = {"approval_id": call, "kind": kind, "attempt": attempt, "tool": tool, "args": ARGS, **more}
    return ev.ApprovalRequested(approval=Approval.model_validate({**approval, "effect": Effect.ONCE}))


def says(call: str, *, yes: bool = True, shown: dict[str, Any] = ARGS, always: bool = False) -> ev.ApprovalAnswered:
    """A person's answer to the approval of a call that was ``shown`` with these arguments."""
    return ev.ApprovalAnswered(by="Ann", approval_id=call, approve=yes, args_hash=args_hash(shown), always=always)
