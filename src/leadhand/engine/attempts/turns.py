"""The turns of one attempt: call the model, make the tool calls of its reply, and repeat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import count
from typing import Any

from leadhand.core.conversation import Message
from leadhand.core.errors import AWAY, Failure, FailureClass
from leadhand.core.events import ConversationCompacted, ElementWritten, ToolCallReturned
from leadhand.core.ids import model_call_id
from leadhand.core.limits import Usage
from leadhand.core.tool import GIVE_UP, GIVES_UP, ApprovalPolicy, CallState, Effect, ToolSpec
from leadhand.core.value import Json
from leadhand.core.work_order import OpenCall
from leadhand.core.worker import CallSettings
from leadhand.engine.attempts.call_rules import CallRules
from leadhand.engine.attempts.conversation import Conversation, parallel_tools
from leadhand.engine.attempts.conversation_turn import Turn
from leadhand.engine.attempts.drafts import DraftWriter
from leadhand.engine.attempts.elements import DraftText, Elements
from leadhand.engine.attempts.endings import GaveUp, Parked, given_up
from leadhand.engine.attempts.long_texts import begun, in_parts
from leadhand.engine.calls.model_calls import ModelCall, ModelCalls
from leadhand.engine.calls.tool_calls import ToolCalls
from leadhand.engine.gate import OF_A_SECRET, argument_problems
from leadhand.engine.hooks import blocked, failed
from leadhand.engine.log import RunLog
from leadhand.ports import ModelError, Work
from leadhand.ports.models import ModelReply, ModelRequest, OutputSpec

GIVE_UP_SPEC = ToolSpec(
    name=GIVE_UP,
    description="State that your task cannot be done, and why.",
    parameters={
        "type": "object",
        "properties": {"reason": {"type": "string"}},
        "required": ["reason"],
        "additionalProperties": False,
    },
)


class Turns:
    """Runs the turns of one attempt."""

    def __init__(
        self,
        work: Work,
        log: RunLog,
        models: ModelCalls,
        tools: ToolCalls,
        draft: DraftWriter | None = None,
    ) -> None:
        self._work = work
        self._log = log
        self._models = models
        self._tools = tools
        self._draft = draft
        self._on_text = draft.write if draft is not None else None
        self._is_shown = False
        # The rules hold no reference to the turns, so that an attempt is freed at its end.
        self.rules = CallRules(work, partial(_unfit, tools, log))

    @property
    def _gives_up_in_words(self) -> bool:
        """Whether the instructions let the worker write that it gives up."""
        return self._work.worker.loop == "turns" and f"{GIVES_UP}:" in self._work.instructions

    @cached_property
    def _offered(self) -> tuple[ToolSpec, ...]:
        """The tools as a model is shown them."""
        tools = [*self.rules.specs.values()]
        given = self._work.step
        shaped = self._work.shape is not None and (given.subtask is not None or given.final)  # it cannot write words
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

        For a worker with ``elements``, those that ``is_sound`` accepts are committed while the model writes them.

        If the conversation exceeds the model's context window, it is shortened, and the model is called again.
        """
        work = self._work
        number = conversation.next_number
        while True:
            try:
                messages, before = conversation.messages(objection), begun(conversation.turns)
                writes = work.step.final and work.output is None
                on_text = self._on_text if writes else self._on_structured(is_sound)
                reply = await self._reply(number, messages, work.output, self._offered, on_text, before=before)
                break
            except ModelError as error:
                if error.failure.class_ is not FailureClass.TOO_LARGE or not conversation.compact():
                    raise
                now = conversation.compacted._asdict()
                await self._log.append(ConversationCompacted(attempt=work.attempt.attempt, **now))
        message = reply.message
        if (
            text := self._log.redacted(message.text)
        ) != message.text:  # what is said about it holds no part of a secret
            message = message.model_copy(update={"text": text})
        cut = work.worker.continues and reply.finish_reason == "length" and not message.tool_calls
        turn = Turn(number=number, message=message, value=reply.value, cut=cut, parallel=parallel_tools(work))
        conversation.turns.append(turn)
        return turn

    async def asked(
        self, number: int, messages: tuple[Message, ...], schema: Mapping[str, Any] | None, asked: Json
    ) -> ModelReply:
        """Make a model call of code, without tools, and record with the reply what it ``asked``. Raises ModelError."""
        on_text = self._on_text if self._work.step.final and schema is None else None
        return await self._reply(number, messages, schema, (), on_text, asked)

    async def _reply(
        self,
        number: int,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any] | None,
        tools: tuple[ToolSpec, ...],
        on_text: Callable[[str], None] | None,
        asked: Json = None,
        before: str = "",
    ) -> ModelReply:
        work = self._work
        hooks = self._tools.hooks
        refused = _model_refused(work) or await hooks.before_model(work, messages)
        if refused is not None:
            raise ModelError(refused, Usage(requests=0, nanousd=0))
        if hooks.has(work.definition, "after_model", "before_answer"):
            on_text = None  # nothing is shown or begun of a text that a hook has not let pass
        call_id, worker = model_call_id(work.step.step_id, number), work.worker
        limits, settings = work.definition.limits, worker.settings or CallSettings()
        request = ModelRequest(
            model=work.model,
            messages=messages,
            tools=tools,
            output=None if schema is None else OutputSpec.model_validate({"name": worker.name, "schema": schema}),
            max_tokens=settings.max_output_tokens or limits.max_output_tokens,
            temperature=settings.temperature,
            reasoning_effort=settings.reasoning_effort,
            partial=schema is None and in_parts(work),
            deadline_s=limits.attempt_timeout_s,
            patience_s=limits.model_patience_s,
            key=f"{work.run_id}/{call_id}",
            worker=worker.name,
            flow=work.definition.flow,
        )
        check = partial(hooks.after_model, work) if hooks.has(work.definition, "after_model") else None
        call = ModelCall(work, call_id, request, asked, check)
        if on_text is not None and number > 1 and work.step.final:
            on_text("")  # the earlier text was not accepted, or ended in the middle of a line
            if before:
                on_text(f"{before}\n")
        reply = await self._answered(call, work.models[1:], on_text)
        if self._draft is not None and reply.finish_reason != "length":  # a text may be cut in the middle of a secret
            self._draft.end()
        return reply

    async def _answered(
        self, call: ModelCall, others: Sequence[str], on_text: Callable[[str], None] | None
    ) -> ModelReply:
        """Make a call, with the next of the ``others`` if its model is unavailable. Raises ModelError."""
        try:
            return await self._models.ask(self._log, call, on_text)
        except ModelError as error:
            if not others or (error.failure.class_ is not FailureClass.UNAVAILABLE and error.failure.type != AWAY):
                raise
        request = call.request.evolve(model=others[0])
        return await self._answered(call._replace(request=request), others[1:], on_text)

    def _on_structured(self, is_sound: Callable[[Json], bool]) -> Callable[[str], None] | None:
        """Return what takes the pieces of a structured answer: it records elements, and shows a draft of the answer."""
        name, show, may_show = self._work.worker.elements, self._on_text, self._work.draft
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
            if elements.is_whole:
                return  # nothing is gained by beginning with a part of an answer that is here as a whole
            attempt = self._work.attempt.attempt
            events = [ElementWritten(attempt=attempt, index=n, value=value) for n, value in written if is_sound(value)]
            if events:
                self._log.append(*events)

        return take

    async def call(self, conversation: Conversation) -> None:
        """Make every open call of the last turn, in parallel; the log has their ends in the order of their end.

        Calls that the rules refuse are answered with the reason. Raises :class:`Parked` if a call has to wait for a
        person (after making the others), :class:`GaveUp` if the reply gives up.
        """
        turn, rules = conversation.turns[-1], self.rules
        if not turn.message.tool_calls and self._gives_up_in_words and (reason := given_up(turn.message.text)):
            raise GaveUp(reason)
        for position, call in enumerate(turn.calls):
            if position not in turn.done and call.name == GIVE_UP:
                raise GaveUp(str((call.arguments or {}).get("reason") or "no reason was given"))
        held: list[OpenCall] = []
        left = rules.calls_left(conversation)
        for positions in rules.rounds(turn):
            now: list[int] = []
            for position in positions:
                if rules.follows(turn, position):
                    continue  # it waits with the call that it follows
                failure, tool = rules.refusal(conversation, turn, position), rules.tool_of(turn, position)
                if failure is None and tool is not None and await self._is_blocked(turn, position, tool):
                    continue
                if failure is None and left is not None:
                    left -= 1
                    failure = rules.used_up() if left < 0 else None
                if failure is not None or tool is None:
                    if failure is not None:
                        rules.refuse(turn, position, failure)
                elif rules.needs_approval(turn, position, tool):
                    call_id, args = rules.call_id(turn, position), rules.args_of(turn, position)
                    seen = rules.hooked.get(call_id)
                    of_hook = seen.of_call(turn.calls[position].arguments or {}) if seen is not None else {}
                    held.append(OpenCall(call_id=call_id, kind="approval", tool=tool.name, args=args, **of_hook))
                elif not held or tool.effect is Effect.PURE:
                    now.append(position)
                # else: it has an effect and follows a call that may be denied, so it waits with that call
            if len(now) == 1:  # the usual case, which needs no extra task
                await self._call_tool(turn, now[0])
            elif now:  # gather() of nothing would still wait for a turn of the event loop
                await asyncio.gather(*(self._call_tool(turn, position) for position in now))
        # The controller decides what they ask for; another attempt continues with the answers.
        undecided = [each for _, each in sorted(turn.done.items()) if rules.asks(each)]
        held += [OpenCall(call_id=each.call_id, kind="asks", tool=each.tool) for each in undecided]
        if held:
            raise Parked(tuple(held))

    async def _is_blocked(self, turn: Turn, position: int, tool: ToolSpec) -> bool:
        """Let the hooks decide on a call; record it if it is not made, and take note of what they change otherwise."""
        rules, work = self.rules, self._work
        call_id, args = rules.call_id(turn, position), rules.args_of(turn, position)
        decided = await self._tools.hooks.before_tool(work, tool, args)
        failure = decided.failure
        if failure is None and decided.args is not None:
            answer = work.attempt.answers.get(call_id)
            unfit = self._tools.unfit(tool, decided.args, work.caller)
            if answer is not None and answer.ok:
                failure = failed(decided.hook, "before_tool", "changed arguments that a person approved")
            elif unfit is not None:
                failure = failed(decided.hook, "before_tool", f"returned arguments that do not fit: {unfit.message}")
        if failure is None and decided.asks and work.definition.approve is ApprovalPolicy.NEVER:
            reason = "it needs approval, and the run was started with --approve never"
            failure = blocked(decided.hook, f"the call of {tool.name}", reason)
        if failure is None:
            rules.hooked[call_id] = decided
            return False
        call: dict[str, Any] = {"call_id": call_id, "tool": tool.name, "effect": tool.effect, "failure": failure}
        await self._log.append(ToolCallReturned(attempt=work.attempt.attempt, ok=False, blocked_args=args, **call))
        turn.done[position] = CallState(**call, args=args)
        return True

    async def _call_tool(self, turn: Turn, position: int) -> None:
        """Make one call, and add its result to the turn."""
        call_id, args = self.rules.call_id(turn, position), self.rules.args_of(turn, position)
        tool, changed_by = self.rules.specs[turn.calls[position].name], self.rules.changed_by(call_id)
        result = await self._tools.call(self._log, self._work, call_id, tool, args, changed_by)
        self.rules.note(result)
        turn.done[position] = result


def _unfit(tools: ToolCalls, log: RunLog, tool: ToolSpec, args: dict[str, Json], work: Work) -> Failure | None:
    """Return why a tool cannot be called with these arguments, without a part of a secret in them."""
    failure = tools.unfit(tool, args, work.caller)
    if failure is None or failure.type != "bad_arguments" or (logged := log.redacted_value(args)) == args:
        return failure
    return failure.evolve(message="; ".join(argument_problems(tool, logged)) or OF_A_SECRET)


def _model_refused(work: Work) -> Failure | None:
    """Return why a model that a step names may not be called; those of the run and its workers were checked."""
    run = work.definition
    if not run.offline or work.model in {
        *run.models.names,
        *(name for worker in run.workers for name in worker.models),
    }:
        return None
    message = f"the step {work.step.step_id} uses the model {work.model}, and the run is offline"
    how = "leave out its model, or start the run without --offline"
    return Failure.of(message, "offline", FailureClass.UNAVAILABLE, how)
