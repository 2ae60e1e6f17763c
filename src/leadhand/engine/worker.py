"""Carries out one subtask: the named tool first, a model only for what is left to say."""

from __future__ import annotations

from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.ids import tool_call_id
from leadhand.domain.tool import Source
from leadhand.domain.value import Json
from leadhand.domain.work_order import Subtask
from leadhand.domain.work_result import ResultData, WorkResult
from leadhand.engine.conversation import PASSING, Conversation, Done, Turn, ordered_call
from leadhand.engine.gate import Unresolved, argument_faults, resolved, unmet
from leadhand.engine.turns import GaveUp, Turns
from leadhand.ports import ModelError, Work


class Worker:
    """One attempt at one subtask. It sees its brief and its own calls, and nothing of the run."""

    def __init__(self, work: Work, turns: Turns) -> None:
        if work.subtask is None:
            raise ValueError(f"{work.assignment.assignment_id} is no subtask")
        self._work = work
        self._subtask: Subtask = work.subtask
        self._turns = turns
        self._objections = 0
        self._rejected: int | None = None

    async def carry_out(self, conversation: Conversation) -> WorkResult:
        """The result of the attempt. Raises :class:`~leadhand.engine.turns.Parked` when it has to wait for others."""
        try:
            return await self._carry_out(conversation)
        except GaveUp as gave_up:
            return self._failed(self._cause(conversation, str(gave_up)))
        except ModelError as error:
            return self._failed(error.failure)
        except Unresolved as error:
            return self._failed(_invalid(str(error), "bad_reference"))

    async def _carry_out(self, conversation: Conversation) -> WorkResult:
        if conversation.turns and self._work.attempt.feedback:
            # What the lineage ended with was not accepted: it goes on from there, told why.
            self._rejected = conversation.turns[-1].number
        elif not conversation.turns and not self._work.attempt.feedback:
            first = self._ordered_turn()
            if first is not None:
                conversation.turns.append(first)
        while True:
            if conversation.turns:
                turn = conversation.turns[-1]
                await self._turns.call(turn)
                hopeless = self._hopeless(turn)
                if hopeless is not None:
                    return self._failed(hopeless)
                result = self._finished(conversation, turn)
                if result is not None:
                    return result
            if conversation.replies >= self._work.definition.limits.max_turns:
                message = f"no result after {conversation.replies} turns"
                return self._failed(
                    Failure.model_validate({"message": message, "type": "max_turns", "class": "exhausted"})
                )
            await self._turns.ask(conversation, self._objection)

    def _ordered_turn(self) -> Turn | None:
        """The call that the order itself asks for, when it names a tool and the arguments are all there."""
        if self._subtask.tool is None:
            return None
        tool = next(tool for tool in self._work.definition.tools if tool.name == self._subtask.tool)
        args = resolved(self._subtask.args, self._work.needs)
        if argument_faults(tool, args) and self._subtask.needs:
            return None  # the model fills in what the needs supply
        call_id = tool_call_id(self._work.assignment.assignment_id, 0, 0)
        return Turn(number=0, message=ordered_call(call_id, tool.name, args))

    def _hopeless(self, turn: Turn) -> Failure | None:
        """A failure of this turn that talking to a model cannot mend."""
        for done in turn.done.values():
            failure = done.failure
            if failure is None:
                continue
            if failure.class_ in PASSING:
                return failure
            if done.tool == self._subtask.tool and failure.class_ is not FailureClass.INVALID:
                return failure
        return None

    def _finished(self, conversation: Conversation, turn: Turn) -> WorkResult | None:
        """The result, when the turn ends the work: the ordered call says it all, or the model wrote its text."""
        if turn.number == self._rejected:
            return None
        if turn.message.tool_calls:
            done = turn.done.get(0)
            if turn.number == 0 and done is not None and done.ok and done.summary and not self._subtask.expected_output:
                return self._ok(conversation, done.summary)
            return None
        if self._wanting(conversation, turn):
            self._objections += 1
            if self._objections > self._work.definition.limits.max_repairs:
                return self._failed(_invalid(self._objection(turn), "unproven"))
            return None
        return self._ok(conversation, turn.message.text.strip())

    def _wanting(self, conversation: Conversation, turn: Turn) -> str:
        """What a text without calls lacks to be a result; empty when it is one."""
        if not turn.message.text.strip():
            return "Your answer is empty."
        tool = self._subtask.tool
        if tool is not None and not any(done.ok and done.tool == tool for done in conversation.finished):
            return f"You have not called {tool} with success. Call it, or call give_up with the reason."
        return ""

    def _objection(self, turn: Turn) -> str:
        if turn.number == self._rejected:
            return f"That was not accepted: {self._work.attempt.feedback}"
        if not turn.message.text.strip():
            return "Your answer is empty."
        return f"You have not called {self._subtask.tool} with success. Call it, or call give_up with the reason."

    def _ok(self, conversation: Conversation, summary: str) -> WorkResult:
        used = [done for done in conversation.finished if done.ok]
        sources: dict[str, Source] = {source.url: source for done in used for source in done.sources}
        for needed in self._work.needs.values():
            sources |= {source.url: source for source in needed.sources if source.url in summary}
        data = ResultData(
            summary=summary,
            raw=_raw(used),
            sources=tuple(sources.values()),
            sample=any(done.sample for done in used) or any(needed.sample for needed in self._work.needs.values()),
        )
        found = unmet(self._subtask.checks, data)
        if found:
            return self._failed(_invalid("; ".join(found), "unmet_check"))
        # What the calls returned is in their own events: the log holds no copy of it.
        return WorkResult(
            task_name=self._subtask.name,
            ok=True,
            data=data.model_copy(update={"raw": None}),
            used=tuple(done.call_id for done in used),
        )

    def _failed(self, failure: Failure) -> WorkResult:
        return WorkResult.failed(self._subtask.name, failure)

    def _cause(self, conversation: Conversation, reason: str) -> Failure:
        """Why the worker gave up: the last failure of a call, which has a class, in preference to its own words."""
        failures = [done.failure for done in conversation.finished if done.failure is not None]
        if failures:
            return failures[-1]
        return _invalid(reason, "gave_up")


def _raw(used: list[Done]) -> Json:
    """The data of a result: that of its one call, or of each by its id."""
    if len(used) == 1:
        return used[0].raw
    return {done.call_id: done.raw for done in used} if used else None


def _invalid(message: str, type_: str) -> Failure:
    return Failure.model_validate({"message": message, "type": type_, "class": FailureClass.INVALID})
