"""What every attempt can do: call models and tools, within its rights, with every call recorded in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from leadhand.core.conversation import Message
from leadhand.core.errors import AWAY, Failure, FailureClass, ToolError
from leadhand.core.events import ToolCallReturned
from leadhand.core.ids import model_call_id, question_id
from leadhand.core.limits import Usage
from leadhand.core.secret import has_secret
from leadhand.core.tool import ApprovalPolicy, CallState, Effect, ToolSpec
from leadhand.core.value import Json
from leadhand.core.words.failures import no_such_secret
from leadhand.core.work_order import OpenCall
from leadhand.core.worker import CallSettings
from leadhand.engine.calls.model_calls import ModelCall, ModelCalls
from leadhand.engine.calls.tool_calls import ToolCalls
from leadhand.engine.gate import secret_problems
from leadhand.engine.hooks import blocked
from leadhand.engine.hooks import failed as hook_failed
from leadhand.engine.log import RunLog
from leadhand.engine.secrets import NoSuchSecret
from leadhand.engine.session import rules
from leadhand.engine.session.conversation import explained
from leadhand.engine.session.drafts import DraftWriter
from leadhand.engine.session.turn import Turn
from leadhand.ports import ModelError, Work
from leadhand.ports.models import ModelReply, ModelRequest, OutputSpec


class Parked(Exception):
    """The attempt has to wait: it ends here, and another attempt continues it."""

    def __init__(self, open_calls: tuple[OpenCall, ...]) -> None:
        super().__init__(f"{len(open_calls)} open calls")
        self.open_calls = open_calls


class Attempt:
    """One attempt at one step. It has access to its brief and its own calls only."""

    def __init__(
        self, work: Work, log: RunLog, models: ModelCalls, tools: ToolCalls, draft: DraftWriter | None = None
    ) -> None:
        self._work, self._log = work, log
        self._turns: list[Turn] = []
        """The conversation, all of which comes from the log."""
        self._models, self._tools, self._draft = models, tools, draft
        self._on_text = draft.write if draft is not None else None
        """Takes the text of an answer while it is written."""

    async def _reply(
        self,
        number: int,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any] | None,
        tools: tuple[ToolSpec, ...] = (),
        on_text: Callable[[str], None] | None = None,
        asked: Json = None,
    ) -> ModelReply:
        """Make a model call, with the next model if one is unavailable, and record with the reply what code ``asked``.

        Raises ModelError.
        """
        work, hooks, worker = self._work, self._tools.hooks, self._work.worker
        limits, settings = work.definition.limits, worker.settings or CallSettings()
        refused = _model_refused(work) or await hooks.before_model(work, messages)
        if refused is not None:
            raise ModelError(refused, Usage(requests=0, nanousd=0))
        if hooks.has(work.definition, "after_model", "before_answer"):
            on_text = None  # nothing is shown or begun of a text that a hook has not let pass
        if self._log.secrets.known:
            messages = explained(messages)
        call_id = model_call_id(work.key, work.attempt.conversation, number)
        request = ModelRequest(
            model=work.models[0],
            messages=messages,
            tools=tools,
            output=None if schema is None else OutputSpec.model_validate({"name": worker.name, "schema": schema}),
            max_tokens=settings.max_output_tokens or limits.max_output_tokens,
            temperature=settings.temperature,
            reasoning_effort=settings.reasoning_effort,
            deadline_s=limits.attempt_timeout,
            patience_s=limits.model_patience,
            key=f"{work.run_id}/{call_id}",
            worker=worker.name,
            flow=work.definition.flow,
        )
        check = partial(hooks.after_model, work) if hooks.has(work.definition, "after_model") else None
        if on_text is not None and number > 1 and work.step.final:
            on_text("")  # the earlier text was not accepted
        reply = await self._by_any_model(ModelCall(work, call_id, request, asked, check), work.models[1:], on_text)
        if self._draft is not None:
            self._draft.end()
        return reply

    async def _by_any_model(
        self, call: ModelCall, others: Sequence[str], on_text: Callable[[str], None] | None
    ) -> ModelReply:
        """Make a call, with the next of the ``others`` if its model is unavailable. Raises ModelError."""
        try:
            return await self._models.ask(self._log, call, on_text)
        except ModelError as error:
            if not others or (error.failure.class_ is not FailureClass.UNAVAILABLE and error.failure.type != AWAY):
                raise
        request = call.request.evolve(model=others[0])
        return await self._by_any_model(call._replace(request=request), others[1:], on_text)

    # --- tool calls --------------------------------------------------------------------------------------------------

    async def _call(self, turn: Turn) -> None:
        """Make every open call of a turn, in parallel; the log has their ends in the order of their end.

        Calls that the rules refuse are answered with the reason. Raises :class:`Parked` if a call has to wait for a
        person (after making the others).
        """
        work, left = self._work, rules.calls_left(self._work, self._turns)
        held: list[OpenCall] = []
        first = [position for position in turn.open if not rules.follows(work, turn, position)]
        for positions in (first, [position for position in turn.open if position not in first]):
            now: list[int] = []
            for position in positions:
                if rules.follows(work, turn, position):
                    continue  # it waits with the call that it follows
                tool = rules.tool_of(work, turn, position)
                failure = rules.refusal(work, self._turns, turn, position, self._unfit)
                if failure is None and tool is not None and await self._is_blocked(turn, position, tool):
                    continue
                tool = rules.tool_of(work, turn, position)  # a hook may have changed the arguments
                secrets: dict[str, str] = {}
                if failure is None and tool is not None:
                    failure, secrets = await self._with_secrets(turn, position, tool)
                if failure is None and left is not None:
                    left -= 1
                    failure = rules.used_up(work) if left < 0 else None
                if failure is not None or tool is None:
                    if failure is not None:
                        rules.refuse(work, turn, position, failure)
                elif secrets or rules.needs_approval(work, self._turns, turn, position, tool):
                    try:
                        await self._tools.confirm(tool)
                    except ToolError as error:
                        await self._prevent(turn, position, tool, error.failure)
                        continue
                    call_id, args = turn.call_id(position), rules.args_of(work, turn, position)
                    seen = turn.hooked.get(position)
                    of_hook = seen.of_call(turn.calls[position].arguments or {}) if seen is not None else {}
                    about: dict[str, Any] = {**of_hook, "secrets": secrets}
                    held.append(OpenCall(call_id=call_id, kind="approval", tool=tool.name, args=args, **about))
                elif not held or tool.effect is Effect.PURE:
                    now.append(position)
                # else: it has an effect and follows a call that may be denied, so it waits with that call
            if len(now) == 1:  # the usual case, which needs no extra task
                await self._call_tool(turn, now[0])
            elif now:  # gather() of nothing would still wait for a turn of the event loop
                await asyncio.gather(*(self._call_tool(turn, position) for position in now))
        # The controller decides what they ask for; another attempt continues with the answers.
        undecided = [each for each in turn.results if rules.is_undecided(work, each)]
        held += [OpenCall(call_id=each.call_id, kind="asks", tool=each.tool) for each in undecided]
        for each in (each for each in turn.results if each.question is not None):
            number = 1 + len(work.asked_by(each.call_id))
            held.append(OpenCall(call_id=question_id(each.call_id, number), kind="question", tool=each.tool))
        if held:
            raise Parked(tuple(held))

    async def _is_blocked(self, turn: Turn, position: int, tool: ToolSpec) -> bool:
        """Let the hooks decide on a call; record it if it is not made, and take note of what they change otherwise."""
        work = self._work
        if not self._tools.hooks.has(work.definition, "before_tool"):
            return False
        args = rules.args_of(work, turn, position)
        decided = await self._tools.hooks.before_tool(work, tool, args)
        failure = decided.failure
        if failure is None and decided.args is not None:
            answer, unfit = rules.answer_of(work, turn, position), self._tools.unfit(tool, decided.args, work.caller)
            if answer is not None and answer.ok:
                failure = hook_failed(decided.hook, "before_tool", "changed arguments that a person approved")
            elif unfit is not None:
                what = f"returned arguments that do not fit: {unfit.message}"
                failure = hook_failed(decided.hook, "before_tool", what)
        if failure is None and decided.asks and work.definition.approve is ApprovalPolicy.NEVER:
            reason = "it needs approval, and the approval policy of the run is never"
            failure = blocked(decided.hook, f"the call of {tool.name}", reason)
        if failure is None:
            turn.hooked[position] = decided
            return False
        await self._prevent(turn, position, tool, failure)
        return True

    async def _prevent(self, turn: Turn, position: int, tool: ToolSpec, failure: Failure) -> None:
        """Record a call that is not made, for the reason in ``failure``."""
        args, failure = rules.args_of(self._work, turn, position), failure.evolve(not_made=True)
        call: Any = {"call_id": turn.call_id(position), "tool": tool.name, "effect": tool.effect, "failure": failure}
        returned = ToolCallReturned(attempt=self._work.attempt.attempt, ok=False, blocked_args=args, **call)
        await self._log.append(returned)
        turn.done[position] = CallState(**call, args=args)

    async def _with_secrets(self, turn: Turn, position: int, tool: ToolSpec) -> tuple[Failure | None, dict[str, str]]:
        """Return why a call cannot be made with the secrets in its arguments, or the arguments with those for which a
        person is asked first, and what they have in words."""
        work, args, secrets = self._work, rules.args_of(self._work, turn, position), self._log.secrets
        if tool.keeps_references or not has_secret(args):
            return None, {}
        try:
            found, revealed = await secrets.origins(args), await secrets.reveal(args)
        except NoSuchSecret as missing:
            return no_such_secret(str(missing)), {}
        if problems := secret_problems(tool, revealed):
            return Failure.of("; ".join(problems), "bad_arguments", FailureClass.INVALID), {}
        passed_on = rules.passed_on(work, turn, position, tool, found)
        if rules.answer_of(work, turn, position) is not None:
            return None, {}
        never = passed_on and work.definition.approve is ApprovalPolicy.NEVER
        return (rules.denial(None, tool, ApprovalPolicy.NEVER) if never else None), passed_on

    async def _call_tool(self, turn: Turn, position: int) -> None:
        """Make one call, and add its result to the turn."""
        work, call_id = self._work, turn.call_id(position)
        args = rules.args_of(work, turn, position)
        tool = work.tools[turn.calls[position].name].called_with(args)
        by = rules.changed_by(work, turn, position)
        turn.done[position] = await self._tools.call(self._log, work, call_id, tool, args, by)

    def _unfit(self, tool: ToolSpec, args: dict[str, Json]) -> Failure | None:
        """Return why a tool cannot be called with these arguments."""
        return self._tools.unfit(tool, args, self._work.caller)


def _model_refused(work: Work) -> Failure | None:
    """Return why a model that a step names may not be called; those of the run and its workers were checked."""
    run, model = work.definition, work.models[0]
    if not run.offline or model in {*run.models.names, *(name for worker in run.workers for name in worker.models)}:
        return None
    message = f"the step {work.key} uses the model {model}, and the run is offline"
    how = "leave out its model, or do not start the run offline"
    return Failure.of(message, "offline", FailureClass.UNAVAILABLE, how)
