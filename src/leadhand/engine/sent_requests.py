"""What a model was sent, rebuilt from the log: the attempt runs again with the replies and results that the log has.

The prompts of a run are not stored: they would repeat every earlier turn. What is sent follows from the events before.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from itertools import takewhile
from typing import Any

from leadhand.core.conversation import ModelReply, ModelRequest, input_bound
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import (
    AnyEvent,
    AttemptScheduled,
    AttemptStarted,
    Entry,
    ModelCallBegan,
    ModelCallReturned,
    RunClaimed,
    RunStatusSet,
    StepIssued,
    ToolCallReturned,
)
from leadhand.core.evolve import replay
from leadhand.core.evolve.calls import result_of
from leadhand.core.ids import attempt_id, step_of
from leadhand.core.run import RunDefinition, RunStatus
from leadhand.core.tool import CallState, ToolSpec
from leadhand.core.value import Json, object_of
from leadhand.engine.attempt import Attempt
from leadhand.engine.code_attempt import asked_messages
from leadhand.engine.conversation import Conversation
from leadhand.engine.endings import Parked
from leadhand.engine.hooks import Hooks, ToolDecision
from leadhand.engine.host import with_payloads
from leadhand.engine.log import RunLog
from leadhand.engine.model_calls import ModelCall, ModelCalls
from leadhand.engine.tool_calls import ToolCalls, unfit_arguments
from leadhand.engine.turns import Turns
from leadhand.engine.work import work_of
from leadhand.flows.closing import policy_of
from leadhand.flows.flow import Flow
from leadhand.ports import ModelError, Work

CHANGED = "the log does not lead to this call: the code of the flow has changed since, or a secret was redacted"


class NotRebuilt(Exception):
    """The request of a call cannot be rebuilt from the log; the message says why."""


def answer_to(began: Entry, entries: Sequence[Entry]) -> tuple[Entry, ModelCallReturned] | None:
    """Return the event with which a model call returned; None without one."""
    assert isinstance(began.event, ModelCallBegan)
    for entry in entries[began.seq :]:
        event = entry.event
        if isinstance(event, ModelCallBegan | ModelCallReturned) and _is_call_of(event, began.event):
            return (entry, event) if isinstance(event, ModelCallReturned) else None
    return None


async def sent_request(began: Entry, entries: Sequence[Entry], flow: Flow, log: RunLog) -> ModelRequest:
    """Return what the model call that ``began`` sent. ``entries`` are the whole log of its run, from the first event.

    Raises NotRebuilt, and FlowError for an error of the flow.
    """
    call = began.event
    assert isinstance(call, ModelCallBegan)
    state = replay(log.run_id, entries[: _when_scheduled(call.attempt, began, entries)])
    policy = policy_of(flow, state.definition)
    work = await with_payloads(work_of(state, policy, step_of(call.attempt)), log)
    done = [entry for entry in entries if getattr(entry.event, "attempt", None) == call.attempt]
    turns = Turns(work, _SilentLog(log), _RecordedModels(began, done), _RecordedTools(done))
    if work.code is not None:
        return await _asked_by_code(began, entries, work, log, turns)
    conversation = await Conversation.rebuilt(work, log)
    turns.rules.refuse_again(conversation)
    try:
        await Attempt(work, turns).carry_out(conversation)
    except _Found as found:
        return found.request
    except Parked:
        pass
    raise NotRebuilt(CHANGED)


def is_as_sent(request: ModelRequest, began: ModelCallBegan) -> bool:
    """Whether a rebuilt request is as large as the one that was sent, to the byte: its upper bound was reserved."""
    bound = input_bound(request.messages, request.tools, request.output)
    return began.reserved.tokens == bound + request.max_tokens


def _is_call_of(event: ModelCallBegan | ModelCallReturned, call: ModelCallBegan) -> bool:
    return (event.attempt, event.call_id) == (call.attempt, call.call_id)


def _when_scheduled(attempt: str, began: Entry, entries: Sequence[Entry]) -> int:
    """Return how many entries the process that started an attempt had read when it built the work."""
    before = list(takewhile(lambda entry: not _starts(entry.event, attempt), entries[: began.seq]))
    at = 0
    for entry in before:
        match entry.event:
            case StepIssued(step=step) if attempt_id(step.step_id, 1) == attempt:
                at = entry.seq
            case AttemptScheduled(attempt=scheduled) if scheduled == attempt:
                at = entry.seq
            case RunClaimed() | RunStatusSet(status=RunStatus.RUNNING) if at:  # another process, or after a pause
                at = entry.seq
            case _:
                pass
    if not at:
        raise NotRebuilt(f"the log does not say when the attempt {attempt} was scheduled")
    moment = entries[at - 1].at  # entries of one commit have one time
    return at + sum(1 for _ in takewhile(lambda entry: entry.at == moment, before[at:]))


def _starts(event: AnyEvent, attempt: str) -> bool:
    return isinstance(event, AttemptStarted) and event.attempt == attempt


async def _asked_by_code(began: Entry, entries: Sequence[Entry], work: Work, log: RunLog, turns: Turns) -> ModelRequest:
    """Return the request of a call of code, which is recorded with its reply."""
    returned = answer_to(began, entries)
    asked = object_of(await log.unpack(returned[1].asked)) if returned is not None else {}
    if returned is None or not asked:
        raise NotRebuilt("the prompt of a call of code is recorded with its reply, and there is no reply yet")
    call_id = returned[1].call_id
    messages, output = asked_messages(work.instructions, asked), asked.get("output")
    return turns.request(call_id, messages, object_of(output) if output is not None else None, ())


class _Found(Exception):
    """The attempt makes the call that is looked for."""

    def __init__(self, request: ModelRequest) -> None:
        super().__init__()
        self.request = request


class _RecordedModels(ModelCalls):
    """Answers the model calls of an attempt from its log, up to the one that is looked for."""

    def __init__(self, wanted: Entry, entries: Sequence[Entry]) -> None:
        self._wanted = wanted
        self._entries = entries
        self._read = 0
        """How many entries of the attempt come before the next call."""

    async def ask(self, log: RunLog, call: ModelCall, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Return the recorded reply. Several requests in the log may be one call, which was made again."""
        failure: Failure | None = None
        for place, entry in enumerate(self._entries[self._read :], self._read + 1):
            event = entry.event
            if not isinstance(event, ModelCallBegan | ModelCallReturned) or event.call_id != call.call_id:
                continue
            if entry.seq == self._wanted.seq:
                raise _Found(call.request)
            if not isinstance(event, ModelCallReturned):
                continue
            self._read, failure = place, event.failure
            if event.message is not None:
                message, value = event.message, event.value
                if value is not None and not (message.text or message.tool_calls):  # the log has it once
                    message = message.model_copy(update={"text": json.dumps(value, ensure_ascii=False)})
                return ModelReply(message=message, value=value, finish_reason=event.finish_reason)
            if failure is not None and failure.class_ is FailureClass.TOO_LARGE:
                break  # the conversation is shortened before it is sent again
        if failure is None:
            raise NotRebuilt(CHANGED)
        raise ModelError(failure)


class _RecordedHooks(Hooks):
    """Blocks the tool calls that hooks of the run blocked, and lets everything else pass."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__()
        self._blocked = [
            entry.event
            for entry in entries
            if isinstance(entry.event, ToolCallReturned) and entry.event.blocked_args is not None
        ]

    def has(self, definition: RunDefinition, *points: str) -> bool:
        return False

    async def before_tool(self, work: Work, tool: ToolSpec, args: dict[str, Json]) -> ToolDecision:
        same = (event for event in self._blocked if (event.tool, event.args) == (tool.name, args))
        event = next(same, None)
        return ToolDecision(failure=event.failure if event is not None else None)


class _RecordedTools(ToolCalls):
    """Answers the tool calls of an attempt from its log."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        returned = (entry.event for entry in entries if isinstance(entry.event, ToolCallReturned))
        self._returned = {event.call_id: event for event in returned}
        self.hooks = _RecordedHooks(entries)

    def unfit(self, tool: ToolSpec, args: dict[str, Json], work: Work | None = None) -> Failure | None:
        return unfit_arguments(tool, args)

    async def call(
        self, log: RunLog, attempt: str, call_id: str, tool: ToolSpec, args: dict[str, Json], **_: Any
    ) -> CallState:
        event = self._returned.get(call_id)
        if event is None:
            raise NotRebuilt(CHANGED)
        result = result_of(CallState(call_id, tool.name, args, tool.effect), event)
        return result._replace(raw=await log.unpack(event.raw))


class _SilentLog(RunLog):
    """Reads as another log does, and writes nothing."""

    def __init__(self, log: RunLog) -> None:
        super().__init__(log._store, log.run_id, log._redactor)

    def append(self, *events: AnyEvent, **_: Any) -> Awaitable[list[Entry]]:
        done: asyncio.Future[list[Entry]] = asyncio.get_running_loop().create_future()
        done.set_result([])
        return done
