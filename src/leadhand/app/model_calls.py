"""Single model calls of a run, for people who look at what a model was sent."""

from __future__ import annotations

from collections.abc import Sequence

from leadhand.app.document.model_call import CallReply, CallUsage, ModelCallDocument, sent_prompt
from leadhand.app.runtime import Runtime
from leadhand.core.errors import UnreadableRun, UsageError
from leadhand.core.events import Entry, ModelCallBegan, ModelCallReturned
from leadhand.core.ids import step_of
from leadhand.engine.sent_requests import sent_request


async def model_call(runtime: Runtime, run_id: str, name: str) -> ModelCallDocument:
    """Return one model call of a run: by its id, such as ``wo-001.0/t1`` (the latest, if it was made again), or by the
    number of the event with which it began.

    Raises NoSuchRun, UsageError if there is no such call, and UnreadableRun if a part of what was sent is lost.
    """
    state, entries = await runtime.load(run_id), await runtime.store.read(run_id)
    began = _found(entries, name)
    call = began.event
    assert isinstance(call, ModelCallBegan)
    ended, answer = _answer_to(call, entries[began.seq :]) or (None, None)
    message, usage = (answer.message, answer.usage) if answer is not None else (None, None)
    step = state.steps.get(step_of(call.attempt))
    try:
        request = await sent_request(began, entries, runtime.store)
    except (KeyError, ValueError) as error:
        what = f"event {began.seq} of run {run_id} is damaged: a part of the request is missing: {error}"
        raise UnreadableRun(run_id, began.seq, what) from error
    return ModelCallDocument(
        run_id=run_id,
        call_id=call.call_id,
        seq=began.seq,
        returned_seq=ended.seq if ended is not None else None,
        attempt=call.attempt,
        worker=step.step.worker if step is not None else "",
        model=call.model,
        began_at=began.at,
        ended_at=ended.at if ended is not None else None,
        duration_ms=answer.duration_ms if answer is not None else None,
        prompt=sent_prompt(request),
        reply=None if answer is None or message is None else CallReply.of(message, answer.value),
        finish_reason=answer.finish_reason if answer is not None else "",
        failure=answer.failure if answer is not None else None,
        usage=None if usage is None else CallUsage.of(usage),
    )


def _answer_to(call: ModelCallBegan, after: Sequence[Entry]) -> tuple[Entry, ModelCallReturned] | None:
    """Return the event with which a model call returned; None if it did not, before it was made again."""
    for entry in after:
        event = entry.event
        if isinstance(event, ModelCallBegan | ModelCallReturned) and (event.attempt, event.call_id) == (
            call.attempt,
            call.call_id,
        ):
            return (entry, event) if isinstance(event, ModelCallReturned) else None
    return None


def _found(entries: Sequence[Entry], name: str) -> Entry:
    """Return the event with which a model call began. Raises UsageError."""
    seq = int(name) if name.isascii() and name.isdigit() else 0
    for entry in reversed(entries[:seq] if seq else entries):
        event = entry.event
        if isinstance(event, ModelCallBegan) and (entry.seq == seq or (not seq and event.call_id == name)):
            return entry
    raise UsageError(
        f"the run has no model call {name!r}",
        "Name a call such as wo-001.0/t1, or the number of the event with which it began: the view lists both.",
    )
