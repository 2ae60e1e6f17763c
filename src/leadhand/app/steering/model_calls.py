"""Single model calls of a run, for people who look at what a model was sent, what it answered, and what that used."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from leadhand.app.export.document import Document
from leadhand.app.export.shapes import RunUsage
from leadhand.app.runtime.runtime import Runtime
from leadhand.core.conversation import AssistantMessage, Message, ToolCall, ToolMessage
from leadhand.core.errors import Failure, UnreadableRun, UsageError
from leadhand.core.events import Entry, ModelCallBegan, ModelCallReturned
from leadhand.core.ids import step_of
from leadhand.core.limits import Usage, usd
from leadhand.core.value import Json, Moment, unset
from leadhand.engine.sent_requests import sent_request
from leadhand.ports.models import ModelRequest


class SentMessage(Document):
    """A message of a prompt. ``call_id`` and ``name`` say whose result a tool message is."""

    role: str
    text: str
    tool_calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=unset)
    call_id: str | None = Field(default=None, exclude_if=unset)
    name: str | None = Field(default=None, exclude_if=unset)


class OfferedTool(Document):
    """A tool that the model could call."""

    name: str
    description: str
    parameters: dict[str, Json]


class SentPrompt(Document):
    """What a model was sent, with secrets redacted."""

    messages: tuple[SentMessage, ...]
    tools: tuple[OfferedTool, ...]
    output: dict[str, Json] | None = Field(description="The JSON schema of the structured answer that was asked for.")
    max_tokens: int = Field(description="The most tokens of the answer.")


class CallReply(Document):
    """What a model answered: text, tool calls, or a structured answer."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    value: Json


class ModelCallDocument(Document):
    """One model call of a run. Without ``ended_at``, it has not ended, or its process died."""

    run_id: str
    call_id: str = Field(description="The key of the turn. A call that was made again has the same one.")
    seq: int = Field(description="The number of the event with which the call began. The view lists calls by it.")
    returned_seq: int | None
    attempt: str
    worker: str
    model: str
    began_at: Moment
    ended_at: Moment | None
    duration_ms: int | None
    prompt: SentPrompt
    reply: CallReply | None
    finish_reason: str
    failure: Failure | None
    usage: RunUsage | None = Field(description="Null until the call ends, and if the provider did not say.")


def sent_prompt(request: ModelRequest) -> SentPrompt:
    """Return what a request sends."""
    offered = set(OfferedTool.model_fields)
    return SentPrompt(
        messages=tuple(map(_sent, request.messages)),
        tools=tuple(OfferedTool(**tool.model_dump(include=offered)) for tool in request.tools),
        output=request.output.schema_ if request.output is not None else None,
        max_tokens=request.max_tokens,
    )


def _sent(message: Message) -> SentMessage:
    if isinstance(message, ToolMessage):
        return SentMessage(role=message.role, text=message.content, call_id=message.call_id, name=message.name)
    calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
    return SentMessage(role=message.role, text=message.text, tool_calls=calls)


async def model_call(runtime: Runtime, run_id: str, name: str) -> ModelCallDocument:
    """Return one model call of a run: by its id, such as ``wo-001.0/t1`` (the latest, if it was made again), or by the
    number of the event with which it began.

    Raises NoSuchRun, UsageError if there is no such call, and UnreadableRun if a part of what was sent is lost.
    """
    state, entries = await runtime.load(run_id), await runtime.store.read(run_id)
    began = _found(entries, name)
    call = began.event
    assert isinstance(call, ModelCallBegan)
    try:
        request = await sent_request(began, entries, runtime.store)
    except (KeyError, ValueError) as error:
        what = f"event {began.seq} of run {run_id} is damaged: a part of the request is missing: {error}"
        raise UnreadableRun(run_id, began.seq, what) from error
    step, ended = state.steps.get(step_of(call.attempt)), _end_of(call, entries[began.seq :])
    found: dict[str, Any] = dict.fromkeys(("returned_seq", "ended_at", "duration_ms", "reply", "failure", "usage"))
    found["finish_reason"] = ""
    if ended is not None:
        answer: Any = ended.event
        found |= {"returned_seq": ended.seq, "ended_at": ended.at, "duration_ms": answer.duration_ms}
        found |= {"finish_reason": answer.finish_reason, "failure": answer.failure}
        found["usage"] = _used(answer.usage) if answer.usage is not None else None
        if (said := answer.message) is not None:
            found["reply"] = CallReply(text=said.text, tool_calls=said.tool_calls, value=answer.value)
    return ModelCallDocument(
        run_id=run_id,
        call_id=call.call_id,
        seq=began.seq,
        attempt=call.attempt,
        worker=step.step.worker if step is not None else "",
        model=call.model,
        began_at=began.at,
        prompt=sent_prompt(request),
        **found,
    )


def _used(usage: Usage) -> RunUsage:
    used = {name: value for name, value in usage if name != "nanousd"}
    return RunUsage(**used, cost_usd=None if usage.nanousd is None else usd(usage.nanousd))


def _end_of(call: ModelCallBegan, after: Sequence[Entry]) -> Entry | None:
    """Return the entry with which a model call returned; None if it did not, before it was made again."""
    key = call.attempt, call.call_id
    for entry in after:
        event = entry.event
        if isinstance(event, ModelCallBegan | ModelCallReturned) and (event.attempt, event.call_id) == key:
            return entry if isinstance(event, ModelCallReturned) else None
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
