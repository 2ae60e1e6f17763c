"""Carry out attempts at steps and record everything they do in the log. Nothing is decided here.

An attempt first makes the call that its subtask names, then calls a model until the answer is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import Any

from leadhand.core.artifact import BLOB_ABOVE
from leadhand.core.decide.attempts import TOO_LONG
from leadhand.core.errors import Failure, FailureClass, FlowError
from leadhand.core.events import AttemptReturned, NoteEmitted
from leadhand.core.outcome import unproven_call
from leadhand.core.text import is_blank
from leadhand.core.tool import CallState
from leadhand.core.value import Json, compact_json, is_object, json_problem, object_of, text_of
from leadhand.core.words.failures import ASK_OTHERWISE, NOT_ACCEPTED, written_call
from leadhand.core.work_order import Subtask, resolved
from leadhand.core.work_result import summary_of
from leadhand.engine.attempts.conversation import ENDING, MOST_IDLE, Conversation, asked_again, ordered_call
from leadhand.engine.attempts.conversation_turn import Turn
from leadhand.engine.attempts.endings import GaveUp, completed, failed, gave_up, no_news, no_result, too_many_turns
from leadhand.engine.attempts.long_texts import grows, never_ended, next_part, whole
from leadhand.engine.attempts.turns import Turns
from leadhand.engine.gate import (
    OF_A_SECRET,
    argument_problems,
    malformed,
    proposed_problems,
    schema_problems,
)
from leadhand.engine.hooks import Hooks
from leadhand.engine.log import RunLog
from leadhand.ports import ModelError, Work

NO_SUBTASK = Subtask(name="-")


class Attempt:
    """One attempt at one step. It has access to its brief and its own calls only.

    If an answer is not accepted, the model is asked again with the reasons, up to ``max_repairs`` times.
    """

    def __init__(self, work: Work, log: RunLog, turns: Turns, hooks: Hooks) -> None:
        self._work, self._log, self._hooks = work, log, hooks
        self._subtask: Subtask = work.step.subtask or NO_SUBTASK
        self._tool = next((tool for tool in work.definition.tools if tool.name == self._subtask.tool), None)
        self._turns = turns
        self._objections = 0
        self._rejected: int | None = None
        self._withheld: tuple[Turn, Failure] | None = None
        """The last answer that a hook did not let pass, and why."""

    async def carry_out(self, conversation: Conversation) -> AttemptReturned:
        """Return the end of the attempt. Raises :class:`~.endings.Parked` if it has to wait."""
        try:
            result = await self._carry_out(conversation)
        except GaveUp as error:
            result = self._failed(self._cause(conversation, gave_up(str(error))))
        except (ModelError, FlowError) as error:
            result = self._failed(error.failure)
        return result

    async def _carry_out(self, conversation: Conversation) -> AttemptReturned:
        if self._one_reply:  # every reply of the lineage was a complete answer; check the last one again
            self._objections = max(conversation.answers - 1, 0)
        if conversation.turns and self._work.attempt.feedback:
            # The last answer of the lineage was not accepted: continue the conversation with the reason.
            last = conversation.turns[-1]
            last.cut = False  # the next text is another one
            self._rejected, last.objection = last.number, f"That was not accepted: {asked_again(self._work)}"
        elif not conversation.turns and (self._is_call or not self._work.attempt.feedback):
            first = self._ordered_turn()
            if first is not None:
                conversation.turns.append(first)
        while True:
            if conversation.turns:
                turn = conversation.turns[-1]
                await self._turns.call(conversation)
                hopeless = self._hopeless(turn)
                if hopeless is not None:
                    return self._failed(hopeless)
                if not turn.cut:
                    await self._check_answer(whole(conversation.turns))
                result = self._finished(conversation, turn)
                if result is not None:
                    return result
                if conversation.idle_turns() >= MOST_IDLE:
                    stuck = Failure.of(no_news(turn), "no_progress", FailureClass.EXHAUSTED, ASK_OTHERWISE)
                    return self._failed(self._cause(conversation, stuck))
            if conversation.replies >= self._work.max_turns:
                if self._work.attempt.feedback == TOO_LONG:
                    return self._failed(never_ended(self._work, conversation.replies))
                message = no_result(conversation)
                return self._failed(self._cause(conversation, too_many_turns(message)))
            await self._turns.ask(conversation, lambda turn: self._objection(conversation, turn), self._is_sound)

    async def _check_answer(self, turn: Turn) -> None:
        """Let the hooks decide on the answer of the run, if the turn gives it, or the last part of it."""
        given = self._work.step
        text = text_of(object_of(turn.value).get("answer")) if turn.value is not None else ""
        text = text or (turn.message.text if given.final and not turn.message.tool_calls else "")
        if text and given.subtask is None and given.parent is None:
            failure = await self._hooks.before_answer(self._work.run_id, self._work.definition, text)
            self._withheld = None if failure is None else (turn, failure)

    def _why_withheld(self, turn: Turn) -> Failure | None:
        return self._withheld[1] if self._withheld is not None and self._withheld[0].number == turn.number else None

    @property
    def _one_reply(self) -> bool:
        return self._work.worker.loop == "reply"

    @property
    def _is_call(self) -> bool:
        """Whether the step is the call of a tool and nothing else: no model is asked."""
        return self._work.step.kind == "call"

    def _ordered_turn(self) -> Turn | None:
        """Return the call that the subtask itself names, if it names a tool and all arguments are available; else the
        call that the step is, if it is one."""
        if self._is_call:
            return Turn(number=0, message=ordered_call(self._work.worker.tools[0], deepcopy(dict(self._work.brief))))
        tool = self._tool
        if tool is None or tool.name not in self._work.tools:
            return None  # the model learns that a named tool was not called, and cannot call it either
        args = resolved(self._subtask.args, self._work.needs)
        if self._subtask.needs and (len(args) < len(self._subtask.args) or argument_problems(tool, args)):
            return None  # the model fills in the arguments from the results
        return Turn(number=0, message=ordered_call(tool.name, args))

    def _hopeless(self, turn: Turn) -> Failure | None:
        """Return a failure of this turn that the model cannot fix, if any."""
        for result in turn.done.values():
            failure = result.failure
            if failure is None:
                continue
            if failure.class_ in ENDING or self._is_call:
                return failure
            if result.tool == self._subtask.tool and failure.class_ is not FailureClass.INVALID:
                return failure
        return None

    def _finished(self, conversation: Conversation, turn: Turn) -> AttemptReturned | None:
        """Return the result if the turn ends the attempt: the subtask's own call is enough, or the model answered."""
        if turn.number == self._rejected:
            return None
        if turn.message.tool_calls:
            done = turn.done.get(0)
            if done is not None and done.ok and self._is_ordered(conversation, turn) and self._is_enough(done.raw):
                said = done.summary or ""
                said = text_of(done.raw) if is_blank(said) and self._is_call else said
                said = summary_of(self._log.redacted_value(done.raw)) if is_blank(said) else said
                return self._ok(conversation, said, shaped=done.raw if self._subtask.expected_output else None)
            if not self._one_reply:
                return None
        if turn.cut:
            if conversation.replies < self._work.max_turns - 1 and grows(conversation.turns):
                return None
            return self._failed(never_ended(self._work, conversation.replies))
        turn, last = whole(conversation.turns), turn
        made, text = conversation.finished(turn), turn.message.text.strip()
        problems, withheld = self._problems(made, turn), self._why_withheld(turn)
        if withheld is not None and self._work.step.judges and not problems:
            # Its verdicts count; the answer is written by itself, and checked again.
            return self._ok(conversation, text or "review", {**object_of(turn.value), "answer": ""})
        problems = problems or ([withheld.message] if withheld is not None else [])
        if not problems:
            if self._subtask.output_schema is not None:
                return self._ok(conversation, compact_json(turn.value), shaped=turn.value)
            value = self._work.accepted(turn.value, turn.message.text, made)
            text = text or self._work.step.worker
            return self._ok(conversation, text, None if value == turn.value else value)
        self._objections += 1
        if (logged := self._log.redacted_value(turn.value)) != turn.value:  # what is said of it names no secret
            problems = self._problems(made, replace(turn, value=logged)) or [OF_A_SECRET]
        last.objection = self._asked_again(made, turn, problems)
        if withheld is not None and self._objections > 1:
            return self._failed(withheld)
        if self._objections > self._work.definition.limits.max_repairs:
            return self._failed(self._given_up(made, turn, problems))
        if conversation.replies < self._work.max_turns:
            message = self._given_up(made, turn, problems).message
            self._log.append(NoteEmitted(attempt=self._work.attempt.attempt, message=message, refused=True))
        return None

    # --- what is wrong with an answer --------------------------------------------------------------------------------

    def _problems(self, made: Sequence[CallState], turn: Turn) -> list[str]:
        """Return the problems of an answer after the calls ``made``, one sentence each."""
        output = self._work.shape
        if output is None and turn.message.tool_calls:  # each call was answered with an error, as no tools were offered
            return ["the answer calls a tool, but no tools are available here"]
        if output is not None and (turn.value is None or turn.message.tool_calls):
            return [f"the answer is not one JSON object that matches the schema of {self._work.worker.name}"]
        if output is None and is_blank(turn.message.text):
            return ["the answer is empty"]
        proof = self._support(made)
        if proof is not None:
            return [proof.message]
        found = schema_problems(output, turn.value) if output is not None else []
        if found and self._subtask.output_schema is not None:
            return found
        found = found or self._work.problems(turn.value, turn.message.text, made)
        return found or proposed_problems(self._work, turn.value)

    def _is_ordered(self, conversation: Conversation, turn: Turn) -> bool:
        """Whether a turn makes one call: the one that was ordered, or for which the model worked out arguments."""
        if turn.number == 0:
            return True
        names = [each.name for each in turn.message.tool_calls]
        return names == [self._subtask.tool] and self._support(conversation.finished(turn)) is None

    def _is_enough(self, raw: Json) -> bool:
        """Whether what the tool of the subtask returned is the result, so that no model has to write it.

        The subtask expects nothing else, or the very object that was returned: all of its fields, and no others.
        """
        if self._work.definition.worker_calls == "always" and not self._is_call:
            return False
        if not self._subtask.expected_output:
            return True
        schema = self._subtask.output_schema
        if schema is None or not is_object(raw) or raw.keys() != object_of(schema.get("properties")).keys():
            return False
        return len(compact_json(raw)) <= BLOB_ABOVE and not schema_problems(schema, raw)

    def _support(self, made: Sequence[CallState]) -> Failure | None:
        """Return why the calls of the attempt do not show that the ordered call was made; None if they do."""
        answers = self._work.attempt.answers
        approved = [call_id for call_id, answer in answers.items() if answer.ok]
        return unproven_call(self._subtask, made, approved)

    def _is_sound(self, element: Json) -> bool:
        """Whether one element of an answer that is being written passes the checks that need nothing else."""
        value = {self._work.worker.elements: [element]}
        if json_problem(value) or schema_problems(self._schema_of_elements, value):
            return False
        try:
            return not proposed_problems(self._work, value)
        except FlowError:
            return False  # the whole answer fails with it

    @cached_property
    def _schema_of_elements(self) -> dict[str, Any]:
        return {**object_of(self._work.shape), "required": [self._work.worker.elements]}

    def _objection(self, conversation: Conversation, turn: Turn) -> str:
        """Return why a turn was not accepted, or what asks for the rest of a text; of a turn from the log too."""
        if not turn.objection and turn.cut:
            turn.objection = next_part(turn)
        if not turn.objection:
            made = conversation.finished(turn)
            said = whole([*(each for each in conversation.turns if each.number < turn.number), turn])
            turn.objection = self._asked_again(made, said, self._problems(made, said))
        return turn.objection

    def _asked_again(self, made: Sequence[CallState], turn: Turn, problems: list[str]) -> str:
        """Return the message that asks a model for a better answer."""
        output = self._work.shape
        if (output is None or self._subtask.output_schema is not None) and not turn.message.tool_calls:
            if is_blank(turn.said.text):  # the log has the value of a structured answer, and not its text
                return "Your answer is empty."
            if self._support(made) is not None:
                tool, args = self._subtask.tool or "", resolved(self._subtask.args, self._work.needs)
                call = written_call(tool, args) if args else tool
                return f"You have not called {call} successfully. Call it, or call give_up with the reason."
        how = "" if output is None else "; answer with one JSON object, and nothing else"
        reason = "; ".join(problems) or "it was not accepted"
        return f"That cannot be used: {reason}. Write the whole answer again, with corrections{how}."

    def _given_up(self, made: Sequence[CallState], turn: Turn, problems: list[str]) -> Failure:
        """Return the message of an attempt that failed because its answers were not accepted."""
        message = "; ".join(problems)
        worker = self._work.worker
        if not self._one_reply and (proof := self._support(made)) is not None:
            lapse = "the worker gave no answer" if is_blank(turn.said.text) else "the worker answered without it"
            return proof.evolve(message=f"{proof.message}; {lapse}")
        if self._work.shape is None:
            type_ = "malformed_answer" if self._one_reply else "bad_thought"
            return Failure.of(message, type_, FailureClass.INVALID, NOT_ACCEPTED)
        if turn.value is None and not turn.message.tool_calls:
            text = " ".join(turn.message.text.split())
            said = f"{text[:80]}…" if len(text) > 80 else text
            message = f"the model answered with text instead of a JSON object ({worker.name}): {said!r}"
        return malformed(message)

    # --- results -----------------------------------------------------------------------------------------------------

    def _ok(self, conversation: Conversation, summary: str, value: Json = None, shaped: Json = None) -> AttemptReturned:
        return completed(self._work, conversation.finished(), summary, value, shaped)

    def _failed(self, failure: Failure) -> AttemptReturned:
        return failed(self._work, failure)

    def _cause(self, conversation: Conversation, lapse: Failure) -> Failure:
        """Return why there is no result: the failed call, first the ordered one, else the worker's own words."""
        made = conversation.finished()
        proof = self._support(made)
        if proof is not None and proof.type != "unproven":
            return proof if lapse.type == "gave_up" else proof.evolve(message=f"{proof.message}; {lapse.message}")
        causes = [result.failure for result in made if result.failure is not None]
        return causes[-1] if causes and lapse.type == "gave_up" else lapse
