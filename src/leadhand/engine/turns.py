"""The turns of one attempt: call the model, make the tool calls of its reply, and repeat."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import count
from typing import Any, Literal

from leadhand.domain.approval import policy_of
from leadhand.domain.conversation import Message, ModelReply, ModelRequest, OutputSpec, ToolCall
from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.events import AnswerRefused, ConversationCompacted, ElementWritten
from leadhand.domain.evidence import made_call
from leadhand.domain.evolve.calls import EXPIRED
from leadhand.domain.ids import model_call_id, tool_call_id
from leadhand.domain.limits import Usage
from leadhand.domain.ordered_calls import written_call
from leadhand.domain.state import CallAnswer
from leadhand.domain.tool import GIVE_UP, GIVES_UP, ApprovalPolicy, Effect, ToolResult, ToolSpec
from leadhand.domain.value import Json, lean_schema
from leadhand.domain.work_order import OpenCall
from leadhand.engine.conversation import (
    MOST_REPEATED,
    REPEATED,
    SAME_RESULTS,
    Conversation,
    Turn,
    parallel_tools,
)
from leadhand.engine.elements import DraftText, Elements
from leadhand.engine.log import RunLog
from leadhand.engine.model_calls import ModelCall, ModelCalls
from leadhand.engine.tool_calls import ToolCalls
from leadhand.ports import ModelError, Work

GIVE_UP_SPEC = ToolSpec(
    name=GIVE_UP,
    description="State that the subtask cannot be done, and why.",
    parameters={
        "type": "object",
        "properties": {"reason": {"type": "string"}},
        "required": ["reason"],
        "additionalProperties": False,
    },
)


_NO_OBJECT = "the arguments are not a JSON object"
_LISTED = '{"calls": [{"tool": "name", "args": {…}}]}'
_CANNOT = re.compile(rf"[\s*_`]*{GIVES_UP}[*_`]*:[*_`\s]*(?P<reason>.*)", re.DOTALL)


def given_up(text: str) -> str:
    """Return why a worker gives up in words: ``CANNOT: reason``; "" for any other text."""
    found = _CANNOT.match(text)
    return (found["reason"].strip() or "no reason was given") if found is not None else ""


class Parked(Exception):
    """The attempt has to wait: it ends here, and another attempt continues it."""

    def __init__(self, open_calls: tuple[OpenCall, ...]) -> None:
        super().__init__(f"{len(open_calls)} open calls")
        self.open_calls = open_calls


class GaveUp(Exception):
    """The worker gave up its subtask."""


class Stuck(Exception):
    """The worker keeps asking for a call whose result does not change: ``call``, as people read it."""

    def __init__(self, call: str) -> None:
        super().__init__(call)
        self.call = call


class Turns:
    """Runs the turns of one attempt."""

    def __init__(
        self,
        work: Work,
        log: RunLog,
        models: ModelCalls,
        tools: ToolCalls,
        on_text: Callable[[str], None] | None = None,
    ) -> None:
        self._work = work
        self._log = log
        self._models = models
        self._tools = tools
        self._on_text = on_text
        self._is_shown = False
        self._specs = {tool.name: tool for tool in work.definition.tools if tool.name in work.tools}
        self._acted = {call.call_id for call in work.calls if isinstance(call, ToolResult) and made_call(call).acted}

    @property
    def _gives_up_in_words(self) -> bool:
        """Whether the instructions let the worker write that it gives up."""
        return self._work.role.loop == "turns" and f"{GIVES_UP}:" in self._work.instructions

    @cached_property
    def _offered(self) -> tuple[ToolSpec, ...]:
        """The tools as a model is shown them."""
        tools = [tool.model_copy(update={"parameters": lean_schema(tool.parameters)}) for tool in self._specs.values()]
        shaped = self._work.assignment.subtask is not None and self._work.shape is not None  # it cannot write words
        if shaped or (tools and not self._gives_up_in_words):
            tools.append(GIVE_UP_SPEC)
        return tuple(tools)

    async def ask(
        self,
        conversation: Conversation,
        objection: Callable[[Turn], str],
        is_sound: Callable[[Json], bool] = lambda _element: False,
    ) -> Turn:
        """Get one more reply of the model and commit it. Raises ModelError.

        For a role with ``elements``, those that ``is_sound`` accepts are committed while the model writes them.

        If the conversation exceeds the model's context window, tool results are shortened, and the model is called
        again.
        """
        work = self._work
        number = conversation.turns[-1].number + 1 if conversation.turns else 1
        while True:
            try:
                reply = await self._ask(number, conversation.messages(objection), is_sound)
                break
            except ModelError as error:
                if error.failure.class_ is not FailureClass.TOO_LARGE or not conversation.compact():
                    raise
                through, keep = conversation.compacted
                await self._log.append(ConversationCompacted(attempt=work.attempt.attempt, through=through, keep=keep))
        message = reply.message
        if (
            text := self._log.redacted(message.text)
        ) != message.text:  # what is said about it holds no part of a secret
            message = message.model_copy(update={"text": text})
        turn = Turn(number=number, message=message, value=reply.value, parallel=parallel_tools(work))
        conversation.turns.append(turn)
        return turn

    def refuse(self, reason: str) -> None:
        """Record why an answer was not accepted, in words for people: the model is asked again."""
        self._log.append(AnswerRefused(attempt=self._work.attempt.attempt, reason=reason))

    async def _ask(self, number: int, messages: tuple[Message, ...], is_sound: Callable[[Json], bool]) -> ModelReply:
        on_text = self._on_text if self._work.assignment.answers else self._on_structured(is_sound)
        return await self._reply(number, messages, self._work.output, self._offered, on_text)

    async def asked(
        self, number: int, messages: tuple[Message, ...], schema: Mapping[str, Any] | None, asked: Json
    ) -> ModelReply:
        """Make a model call of code, without tools, and record with the reply what it ``asked``. Raises ModelError."""
        on_text = self._on_text if self._work.assignment.answers and schema is None else None
        return await self._reply(number, messages, schema, (), on_text, asked)

    async def _reply(
        self,
        number: int,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any] | None,
        tools: tuple[ToolSpec, ...],
        on_text: Callable[[str], None] | None,
        asked: Json = None,
    ) -> ModelReply:
        work = self._work
        if (refused := _model_refused(work)) is not None:
            raise ModelError(refused, Usage(requests=0, nanousd=0))
        limits = work.definition.limits
        call_id = model_call_id(work.assignment.assignment_id, number)
        request = ModelRequest(
            model=work.model,
            messages=messages,
            tools=tools,
            output=None if schema is None else OutputSpec.model_validate({"name": work.role.name, "schema": schema}),
            max_tokens=limits.max_output_tokens,
            deadline_s=limits.attempt_timeout_s,
            patience_s=limits.model_patience_s,
            key=f"{work.run_id}/{call_id}",
            role=work.role.name,
        )
        call = ModelCall(
            attempt=work.attempt.attempt,
            call_id=call_id,
            request=request,
            final=work.assignment.answers,
            judges=bool(work.assignment.judges),
            within=work.scopes,
            budgets=work.definition.budgets,
            asked=asked,
        )
        if on_text is not None and number > 1 and work.assignment.answers:
            on_text("")  # the earlier text was not accepted
        return await self._models.ask(self._log, call, on_text)

    def _on_structured(self, is_sound: Callable[[Json], bool]) -> Callable[[str], None] | None:
        """Return what takes the pieces of a structured answer: it records elements, and shows a draft of the answer."""
        name, show, may_show = self._work.role.elements, self._on_text, self._work.draft
        if not name and (show is None or may_show is None):
            return None
        if self._is_shown and show is not None:
            show("")  # the earlier text was not accepted
        self._is_shown = False
        elements, indexes, draft = Elements(name), count(), DraftText("answer", may_show or (lambda _: False))

        def take(piece: str) -> None:
            nonlocal elements, indexes, draft
            if not piece:  # the answer starts again
                elements, indexes, draft = Elements(name), count(), DraftText("answer", may_show or (lambda _: False))
            text = draft.take(piece)
            if show is not None and (text or (self._is_shown and not piece)):
                show(text)
                self._is_shown = bool(text)
            written = [(next(indexes), value) for value in elements.take(piece)] if name else []
            attempt = self._work.attempt.attempt
            events = [ElementWritten(attempt=attempt, index=n, value=value) for n, value in written if is_sound(value)]
            if events:
                self._log.append(*events)

        return take

    async def call(self, conversation: Conversation) -> None:
        """Make every open call of the last turn, in parallel; the log has their ends in the order of their end.

        A call whose result did not change is refused. Raises :class:`Parked` if a call has to wait for a person (after
        making the others), :class:`GaveUp` if the reply gives up, :class:`Stuck` if it was refused too often.
        """
        turn = conversation.turns[-1]
        if not turn.message.tool_calls and self._gives_up_in_words and (reason := given_up(turn.message.text)):
            raise GaveUp(reason)
        todo = [(position, call) for position, call in enumerate(turn.calls) if position not in turn.done]
        for _, call in todo:
            if call.name == GIVE_UP:
                raise GaveUp(str((call.arguments or {}).get("reason") or "no reason was given"))
        held: list[OpenCall] = []
        now: list[tuple[int, ToolCall]] = []
        for position, call in todo:
            tool = self._tool_of(turn, position)
            if tool is not None and self._is_refused(conversation, turn, position, tool):
                continue
            if tool is not None and call.arguments is not None and (kind := self._waits_for(turn, position, tool)):
                call_id = self._call_id(turn, position)
                held.append(OpenCall(call_id=call_id, kind=kind, tool=tool.name, args=call.arguments))
            elif not held or tool is None or tool.effect is Effect.PURE:
                now.append((position, call))
            # else: it has an effect and follows a call that may be denied, so it waits with that call
        if len(now) == 1:  # the usual case, which needs no extra task
            await self._call_tool(turn, *now[0])
        else:
            await asyncio.gather(*(self._call_tool(turn, position, call) for position, call in now))
        for position, _ in now:
            result = turn.done[position]
            if result.asks and result.ok:  # the controller decides; another attempt continues with the answer
                held.append(OpenCall(call_id=result.call_id, kind="asks", tool=result.tool))
        if held:
            raise Parked(tuple(held))

    def _is_refused(self, conversation: Conversation, turn: Turn, position: int, tool: ToolSpec) -> bool:
        """Refuse a call that would only give the same result again. Raises :class:`Stuck` if it was refused too often.

        People decide about calls with the effect ``once``, and about those that were answered already.
        """
        call_id, call = self._call_id(turn, position), turn.calls[position]
        if tool.polling or tool.effect is Effect.ONCE or call_id in self._work.attempt.answers:
            return False
        refused = conversation.repeated(turn, position)
        if refused >= MOST_REPEATED:
            raise Stuck(written_call(tool.name, call.arguments or {}))
        if refused:
            message = f"this call was made and had the same result {SAME_RESULTS} times, so it was not made again: use"
            message += " the result, make another call, or call give_up"
            failure = Failure.of(message, REPEATED, FailureClass.INVALID)
            turn.done[position] = ToolResult(call_id=call_id, tool=tool.name, failure=failure)
        return refused > 0

    def _tool_of(self, turn: Turn, position: int) -> ToolSpec | None:
        """Return the tool of a call that can be made; None if there is no such tool, or none that lists the call."""
        tool, outer = self._specs.get(turn.calls[position].name), turn.outer[position]
        return None if tool is None or tool.parallel or (outer and outer.name not in self._specs) else tool

    def _call_id(self, turn: Turn, position: int) -> str:
        return tool_call_id(self._work.assignment.assignment_id, turn.number, turn.first + position)

    def _waits_for(self, turn: Turn, position: int, tool: ToolSpec) -> Literal["approval", "child"] | None:
        """Return what this call has to wait for: "approval", "child", or None."""
        if self._call_id(turn, position) in self._work.attempt.answers:
            return None
        if self._policy(tool, repeated=self._is_repeated(turn, position, tool)) is ApprovalPolicy.ASK:
            return "approval"
        return "child" if tool.delegate else None

    def _policy(self, tool: ToolSpec, *, repeated: bool) -> ApprovalPolicy:
        """What holds for a call. An approval of the tool for the whole run does not cover a subtask's second call."""
        definition = self._work.definition
        policy = policy_of(tool, definition.approve, definition.approve_rules)
        if policy is ApprovalPolicy.ASK and tool.name in self._work.allowed and not repeated:
            return ApprovalPolicy.AUTO
        return policy

    def _is_repeated(self, turn: Turn, position: int, tool: ToolSpec) -> bool:
        """Whether a call does again what its subtask orders once: before it, or beside it in the reply, is another."""
        subtask = self._work.assignment.subtask
        if subtask is None or subtask.tool != tool.name or tool.effect is not Effect.ONCE:
            return False
        return bool(self._acted) or any(call.name == tool.name for call in turn.calls[:position])

    async def _call_tool(self, turn: Turn, position: int, call: ToolCall) -> None:
        """Make one call, or refuse it, and add its result to the turn."""
        call_id = self._call_id(turn, position)
        tool, answer = self._tool_of(turn, position), self._work.attempt.answers.get(call_id)
        if tool is None:
            failure = self._unusable(call, turn.outer[position])
        elif call.arguments is None:
            failure = Failure.of(_NO_OBJECT, "bad_arguments", FailureClass.INVALID)
        elif self._policy(tool, repeated=False) is ApprovalPolicy.NEVER if answer is None else not answer.ok:
            reason = _denial(answer, tool, self._work.definition.approve)
            failure = Failure.of(reason, "denied", FailureClass.REJECTED)
        elif answer is None and self._is_repeated(turn, position, tool):
            message = f"this subtask calls {tool.name} once, and a call was made: another one needs its own subtask"
            failure = Failure.of(message, "called_twice", FailureClass.INVALID)
        else:
            args = call.arguments if answer is None or answer.args is None else answer.args
            attempt, run = self._work.attempt.attempt, self._work.definition
            result = await self._tools.call(
                self._log, attempt, call_id, tool, args, offline=run.offline, documents=run.documents
            )
            if made_call(result).acted:
                self._acted.add(call_id)
            turn.done[position] = result
            return
        turn.done[position] = ToolResult(call_id=call_id, tool=call.name, failure=failure)

    def _unusable(self, call: ToolCall, outer: ToolCall | None) -> Failure:
        """Return why a call has no tool that can be called."""
        if call.name in self._specs and self._specs[call.name].parallel:
            message = f"{call.name} needs calls: {_LISTED}"
            if outer is not None:
                message = f"calls of {call.name} cannot be nested: list all calls in one"
            elif call.arguments is None:
                message = _NO_OBJECT
            elif self._work.code is not None:
                message = f"code does not call {call.name}: it makes calls at once with asyncio.gather"
            return Failure.of(message, "bad_arguments", FailureClass.INVALID)
        if outer is not None and not call.name:
            return Failure.of(f"a call in the list names its tool: {_LISTED}", "bad_arguments", FailureClass.INVALID)
        name = call.name if outer is None or outer.name in self._specs else outer.name
        known = ", ".join(sorted(self._specs)) or "none"
        return Failure.of(f"there is no tool {name}; choose from: {known}", "unknown_tool", FailureClass.INVALID)


def _model_refused(work: Work) -> Failure | None:
    """Return why a model that an assignment names may not be called; those of the run and its roles were checked."""
    run = work.definition
    if not run.offline or work.model in {*run.models.names, *(role.model for role in run.roles)}:
        return None
    message = f"the assignment {work.assignment.assignment_id} uses the model {work.model}, and the run is offline"
    how = "leave out its model, or start the run without --offline"
    return Failure.of(message, "offline", FailureClass.UNAVAILABLE, how)


def _denial(answer: CallAnswer | None, tool: ToolSpec, policy: ApprovalPolicy) -> str:
    """Return why a call is refused, for the model and for the gap that names it."""
    if answer is not None and answer.content == EXPIRED:
        return f"it needs approval, and {EXPIRED}"
    if answer is not None:
        return f"a person denied it: {answer.content}" if answer.content else "a person denied it"
    if tool.approval is ApprovalPolicy.NEVER:
        return "the tool does not allow calls"
    if policy is ApprovalPolicy.NEVER:
        return "it needs approval, and the run was started with --approve never"
    return "a rule of the run's approval policy denies it"
