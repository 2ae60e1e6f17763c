"""Forks: a new run that copies another run's log up to one event, and continues independently."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from leadhand.core.approval import EFFECT
from leadhand.core.errors import UsageError
from leadhand.core.errors.advice import Advice
from leadhand.core.events import (
    AnyEvent,
    ApprovalAnswered,
    ApprovalRequested,
    Entry,
    ModelCallBegan,
    OrderIssued,
    RunChanged,
    RunClaimed,
    RunFinished,
    RunRequested,
    RunStarted,
    ToolCallBegan,
)
from leadhand.core.evolve import foreseen, start
from leadhand.core.run import ForkPoint, RunDefinition, with_turns
from leadhand.core.tool import Effect
from leadhand.ports import ContextStore
from leadhand.ports.heads import head_of

LEFT_OUT = (RunStarted, RunClaimed, RunRequested, ApprovalAnswered)
"""Events about the first run, its process and its people, which the fork does not copy."""


class MadeEffect(NamedTuple):
    """A call with effect ``once`` that the first run made after the fork point, and that the fork may repeat."""

    seq: int
    tool: str
    args: dict[str, Any]


async def fork(
    store: ContextStore, run_id: str, at: int, new_id: str, turns: Mapping[str, int] | None = None, **changes: Any
) -> None:
    """Create run ``new_id`` with the events of ``run_id`` up to sequence number ``at``; this process owns it.

    ``turns`` are the maximum turns of single workers, ``changes`` are fields of its definition that differ from those
    of the first run.

    Its budget includes what had been spent by then; its time limit starts again. It asks again about every call that
    was not made by then. Its calls can use the secrets of the first run. Raises NoSuchRun,
    and UsageError for an event from which a run cannot continue.
    """
    entries = await store.read(run_id)
    last = next((entry.seq for entry in entries if isinstance(entry.event, RunFinished)), entries[-1].seq + 1)
    if not 1 <= at < last:
        raise UsageError(
            f"run {run_id} cannot be forked at {at}",
            Advice("Choose an event from 1 to {last}; {show_event} shows one.", last=str(last - 1), run=run_id),
        )
    started = entries[0].event
    assert isinstance(started, RunStarted)
    origin = ForkPoint(run_id=run_id, seq=at)
    definition = with_turns(started.definition, turns or {}).evolve(forked_from=origin, submission="", **changes)
    created = await store.create(new_id, RunStarted(definition=definition), secrets=await store.secrets(run_id))
    plans = _plans([entry.event for entry in entries[:at]])
    kept = [_unshared(entry.event) for entry in entries[:at] if not _left_out(entry.event, plans)]
    if definition.limits != started.definition.limits or any(isinstance(event, RunChanged) for event in kept):
        # What the first run reserved fits the limits that it had then.
        before = _limits_of(started.definition.evolve(by=definition.by))
        kept = [before, *kept, _limits_of(definition).evolve(turns=dict(turns or {}))] if kept else []
    if kept:
        await store.append(new_id, kept, epoch=1, head=head_of(foreseen(start(new_id, created), kept, created.at)))


def _limits_of(definition: RunDefinition) -> RunChanged:
    held_back, held_back_s = definition.held_back, definition.held_back_s
    return RunChanged(by=definition.by, limits=definition.limits, held_back=held_back, held_back_s=held_back_s)


def _plans(events: Sequence[AnyEvent]) -> Collection[str]:
    """Return the ids of approvals of plans that are carried out already."""
    if not any(isinstance(each, OrderIssued) for each in events):
        return ()
    asked = (each.approval for each in events if isinstance(each, ApprovalRequested))
    return {each.approval_id for each in asked if each.kind == "plan"}


def _left_out(event: AnyEvent, plans: Collection[str]) -> bool:
    """Whether a fork leaves out this event. It asks again about calls, and about plans that are not carried out yet."""
    if isinstance(event, ApprovalRequested):
        return event.approval.kind != "effect" and event.approval.approval_id not in plans
    return isinstance(event, LEFT_OUT) and not (isinstance(event, ApprovalAnswered) and event.approval_id in plans)


def _unshared(event: AnyEvent) -> AnyEvent:
    """Return the event without its shared budgets: a fork does not take from them again what the first run took."""
    return event.evolve(shared=()) if isinstance(event, ModelCallBegan) else event


def done_after(entries: Sequence[Entry], at: int) -> list[MadeEffect]:
    """Return the irreversible calls that a run made after ``at``, in order."""
    not_done = {
        entry.event.approval_id.removesuffix(EFFECT): entry.seq
        for entry in entries
        if isinstance(entry.event, ApprovalAnswered) and entry.event.approval_id.endswith(EFFECT)
        if not entry.event.approve
    }
    return [
        MadeEffect(seq=entry.seq, tool=entry.event.tool, args=entry.event.args)
        for entry in entries
        if entry.seq > at
        and isinstance(entry.event, ToolCallBegan)
        and entry.event.effect is Effect.ONCE
        and entry.seq > not_done.get(entry.event.call_id, 0)
    ]
