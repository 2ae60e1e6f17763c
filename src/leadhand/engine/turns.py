"""The turns of one attempt: ask, make the calls of the reply, ask again; rebuilt from the log, anywhere."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from leadhand.domain.assignment import OpenCall
from leadhand.domain.conversation import AssistantMessage, Message, ModelReply, ToolCall, ToolMessage, UserMessage
from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.ids import model_call_id, tool_call_id
from leadhand.domain.state import Answered, ModelTurn, ToolEvidence
from leadhand.domain.tool import ApprovalPolicy, Effect, Source, ToolSpec
from leadhand.domain.value import Json
from leadhand.engine.log import RunLog
from leadhand.engine.model_calls import Ask, ModelCalls
from leadhand.engine.prompting import opening
from leadhand.engine.tool_calls import Outcome, ToolCalls, denied
from leadhand.ports import Work

GIVE_UP = "give_up"
GIVE_UP_SPEC = ToolSpec(
    name=GIVE_UP,
    description="Say that the subtask cannot be done, and why.",
    parameters={
        "type": "object",
        "properties": {"reason": {"type": "string"}},
        "required": ["reason"],
        "additionalProperties": False,
    },
)


PASSING = frozenset({FailureClass.TRANSIENT, FailureClass.RATE_LIMITED, FailureClass.LOST})
"""Failures of a call that the controller answers with a further attempt; a model could not mend them."""


class Parked(Exception):
    """The attempt must wait for others: it ends here, and another attempt continues it."""

    def __init__(self, open_calls: tuple[OpenCall, ...]) -> None:
        super().__init__(f"{len(open_calls)} open calls")
        self.open_calls = open_calls


class GaveUp(Exception):
    """The worker said that it cannot do its subtask."""


@dataclass(slots=True)
class Done:
    """A finished tool call as the conversation needs it."""

    call_id: str
    tool: str
    ok: bool
    summary: str | None = None
    raw: Json = None
    sources: tuple[Source, ...] = ()
    sample: bool = False
    failure: Failure | None = None

    def content(self) -> str:
        """What the model is told of the call: JSON."""
        if self.failure is not None:
            return json.dumps({"isError": True, "message": self.failure.message, "class": self.failure.class_.value})
        told = {"summary": self.summary, "raw": self.raw}
        if self.sources:
            told["sources"] = [source.model_dump() for source in self.sources]
        if self.sample:
            told["sample"] = True
        return json.dumps({key: value for key, value in told.items() if value is not None}, ensure_ascii=False)


@dataclass(slots=True)
class Turn:
    """One reply of the model (or, as turn 0, the call that the order itself asks for), and what its calls came to."""

    number: int
    message: AssistantMessage
    value: Json = None
    done: dict[int, Done] = field(default_factory=dict[int, Done])

    @property
    def said(self) -> AssistantMessage:
        """The message as the model said it: a structured answer is its value, written out."""
        if self.value is None or self.message.text or self.message.tool_calls:
            return self.message
        return self.message.model_copy(update={"text": json.dumps(self.value, ensure_ascii=False)})


class Conversation:
    """The turns of an attempt's lineage. Nothing in it is kept anywhere but in the log."""

    def __init__(self, work: Work, turns: list[Turn]) -> None:
        self._work = work
        self.turns = turns

    @classmethod
    async def rebuilt(cls, work: Work, log: RunLog) -> Conversation:
        """The conversation as the log of the lineage has it, with large payloads fetched.

        Calls that failed in passing are as if they had not been made: they are made again, under the same key.
        """
        turns: dict[int, Turn] = {}
        finished: list[ToolEvidence] = []
        for call in work.calls:
            if isinstance(call, ModelTurn):
                number = int(call.call_id.rpartition("/t")[2])
                turns[number] = Turn(number=number, message=call.message, value=call.value)
            elif call.failure is None or call.failure.class_ not in PASSING:
                finished.append(call)
        for evidence in finished:
            number, position = (int(part) for part in evidence.call_id.rpartition("/t")[2].split("/c"))
            if number not in turns:
                turns[number] = Turn(
                    number=number, message=ordered_call(evidence.call_id, evidence.tool, evidence.args)
                )
            turns[number].done[position] = Done(
                call_id=evidence.call_id,
                tool=evidence.tool,
                ok=evidence.ok,
                summary=evidence.summary,
                raw=await log.unpack(evidence.raw),
                sources=evidence.sources,
                sample=evidence.sample,
                failure=evidence.failure,
            )
        return cls(work, [turns[number] for number in sorted(turns)])

    def messages(self, objection: Callable[[Turn], str]) -> tuple[Message, ...]:
        """Everything said so far. ``objection`` says what was wrong with a reply that ended a turn and did not do."""
        said: list[Message] = list(opening(self._work.brief))
        if self._work.attempt.feedback:
            said.append(UserMessage(text=f"An earlier try was not accepted: {self._work.attempt.feedback}"))
        for turn in self.turns:
            said.append(turn.said)
            for position, call in enumerate(turn.message.tool_calls):
                done = turn.done.get(position)
                if done is not None:
                    said.append(ToolMessage(call_id=call.id, name=call.name, content=done.content(), ok=done.ok))
                else:  # no tool was offered, and no conversation may leave a call without its answer
                    refusal = json.dumps({"isError": True, "message": objection(turn)})
                    said.append(ToolMessage(call_id=call.id, name=call.name, content=refusal, ok=False))
            if not turn.message.tool_calls:
                said.append(UserMessage(text=objection(turn)))
        return tuple(said)

    @property
    def finished(self) -> Iterable[Done]:
        """Every finished tool call, in order."""
        for turn in self.turns:
            yield from (turn.done[position] for position in sorted(turn.done))

    @property
    def replies(self) -> int:
        """How often a model was asked."""
        return sum(1 for turn in self.turns if turn.number > 0)


def ordered_call(call_id: str, tool: str, args: dict[str, Json]) -> AssistantMessage:
    """The call that an order asks for, as if a model had made it: turn 0.

    Its id in the conversation is nine letters and digits: Mistral takes no other, OpenAI none above forty characters.
    """
    short = hashlib.sha256(call_id.encode()).hexdigest()[:9]
    return AssistantMessage(tool_calls=(ToolCall(id=short, name=tool, arguments=args),))


class Turns:
    """Carries the turns of one attempt on."""

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
        self._specs = {tool.name: tool for tool in work.definition.tools if tool.name in work.brief.tools}

    async def ask(self, conversation: Conversation, objection: Callable[[Turn], str]) -> Turn:
        """One more reply of the model, committed. Raises ModelError."""
        work = self._work
        number = conversation.turns[-1].number + 1 if conversation.turns else 1
        limits = work.definition.limits
        specs = tuple(self._specs.values())
        reply: ModelReply = await self._models.ask(
            self._log,
            work.attempt.attempt,
            Ask(
                call_id=model_call_id(work.assignment.assignment_id, number),
                model=work.definition.models.of(work.assignment.role),
                messages=conversation.messages(objection),
                tools=(*specs, GIVE_UP_SPEC) if specs and work.subtask is not None else specs,
                output=work.brief.output,
                max_tokens=limits.max_output_tokens,
                deadline_s=limits.attempt_timeout_s,
                final=work.brief.final,
            ),
            self._on_text if work.brief.draft else None,
        )
        turn = Turn(number=number, message=reply.message, value=reply.value)
        conversation.turns.append(turn)
        return turn

    async def call(self, turn: Turn) -> None:
        """Make every call of a turn that is still open, in parallel; their order in the log is that of their ends.

        Raises :class:`Parked` when one has to wait for a person (the others were made first), :class:`GaveUp` when the
        reply gives up.
        """
        todo = [(position, call) for position, call in enumerate(turn.message.tool_calls) if position not in turn.done]
        for _, call in todo:
            if call.name == GIVE_UP:
                raise GaveUp(str((call.arguments or {}).get("reason") or "no reason was given"))
        held: list[OpenCall] = []
        now: list[tuple[int, ToolCall]] = []
        for position, call in todo:
            tool = self._specs.get(call.name)
            if tool is not None and call.arguments is not None and self._must_ask(turn, position, tool):
                call_id = self._call_id(turn, position)
                held.append(OpenCall(call_id=call_id, kind="approval", tool=tool.name, args=call.arguments))
            elif not held or tool is None or tool.effect is Effect.PURE:
                now.append((position, call))
            # else: it has an effect, and stands after a call that may yet be denied: it waits with it
        await asyncio.gather(*(self._one(turn, position, call) for position, call in now))
        if held:
            raise Parked(tuple(held))

    def _call_id(self, turn: Turn, position: int) -> str:
        return tool_call_id(self._work.assignment.assignment_id, turn.number, position)

    def _must_ask(self, turn: Turn, position: int, tool: ToolSpec) -> bool:
        """Whether a person has to be asked before a call, and has not answered yet."""
        answered = self._call_id(turn, position) in self._work.attempt.answers
        return not answered and denied(tool, self._work.definition.approve) is None

    async def _one(self, turn: Turn, position: int, call: ToolCall) -> None:
        """Make one call, or refuse it; what it comes to is in the turn."""
        call_id = self._call_id(turn, position)
        tool = self._specs.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self._specs)) or "none"
            turn.done[position] = _refused(
                call_id, call.name, f"there is no tool {call.name}; there are: {known}", "unknown_tool"
            )
            return
        if call.arguments is None:
            turn.done[position] = _refused(call_id, call.name, "the arguments are no JSON object", "bad_arguments")
            return
        answer = self._work.attempt.answers.get(call_id)
        denial = denied(tool, self._work.definition.approve) if answer is None else not answer.ok
        if denial:
            reason = _denial(answer, self._work.definition.approve)
            turn.done[position] = _refused(call_id, call.name, reason, "denied", FailureClass.REJECTED)
            return
        args = call.arguments if answer is None or answer.args is None else answer.args
        outcome = await self._tools.call(
            self._log,
            self._work.attempt.attempt,
            call_id,
            tool,
            args,
            offline=self._work.definition.offline,
        )
        turn.done[position] = _done(outcome, tool.name)


def _denial(answer: Answered | None, policy: ApprovalPolicy) -> str:
    """Why a call is not made, for the model and for the gap that names it."""
    if answer is not None:
        return f"a person denied it: {answer.content}" if answer.content else "a person denied it"
    if policy is ApprovalPolicy.NEVER:
        return "it needs a person's yes, and the run was started with --approve never"
    return "the tool is never to be called"


def _refused(call_id: str, tool: str, message: str, type_: str, class_: FailureClass = FailureClass.INVALID) -> Done:
    failure = Failure.model_validate({"message": message, "type": type_, "class": class_})
    return Done(call_id=call_id, tool=tool, ok=False, failure=failure)


def _done(outcome: Outcome, tool: str) -> Done:
    returned = outcome.returned
    if returned is None:
        return Done(call_id=outcome.call_id, tool=tool, ok=False, failure=outcome.failure)
    return Done(
        call_id=outcome.call_id,
        tool=tool,
        ok=True,
        summary=returned.summary,
        raw=returned.raw,
        sources=returned.sources,
        sample=returned.sample,
    )
