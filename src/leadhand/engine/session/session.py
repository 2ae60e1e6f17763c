"""One attempt at a step: ask the model, make the calls of its reply, check its answer, and repeat.

An attempt first makes the call that its subtask names, then calls a model until the answer is accepted. Everything it
does is recorded in the log. Nothing is decided here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from functools import cached_property
from itertools import count

from leadhand.core.conversation import Message
from leadhand.core.errors import Failure, FailureClass, FlowError
from leadhand.core.events import (
    AttemptReturned,
    ConversationCompacted,
    ElementWritten,
    NoteEmitted,
)
from leadhand.core.text import is_blank
from leadhand.core.tool import GIVE_UP, GIVES_UP, CallState, ToolSpec
from leadhand.core.value import Json, compact_json, object_of, text_of
from leadhand.core.words.failures import ANOTHER_MODEL, ASK_OTHERWISE
from leadhand.core.work_order import resolved
from leadhand.core.work_result import summary_of
from leadhand.engine.gate import argument_problems
from leadhand.engine.session import answers, conversation, rules
from leadhand.engine.session.attempt import Attempt
from leadhand.engine.session.drafts import Written
from leadhand.engine.session.turn import Turn
from leadhand.ports import ModelError

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
_CANNOT = re.compile(rf"[\s*_`]*{GIVES_UP}[*_`]*:[*_`\s]*(?P<reason>.*)", re.DOTALL)
_NO_REASON = "no reason was given"


class Session(Attempt):
    """An attempt that a model carries out: it answers, and calls tools before that.

    If an answer is not accepted, the model is asked again with the reasons, up to ``max_repairs`` times.
    """

    _objections = 0
    _is_shown = False
    """Whether a draft of a structured answer is shown."""

    @property
    def _is_call(self) -> bool:
        """Whether the step is the call of a tool and nothing else: no model is asked."""
        return self._work.step.kind == "call"

    async def carry_out(self) -> AttemptReturned:
        """Return the end of the attempt. Raises :class:`Parked` if it has to wait."""
        try:
            return await self._carry_out()
        except (ModelError, FlowError) as error:
            return answers.failed(self._work, error.failure)

    async def _carry_out(self) -> AttemptReturned:
        work, rejected, feedback = self._work, -1, self._work.attempt.feedback
        self._compacted = work.lineage.compacted
        self._turns = await conversation.rebuilt(work, self._log)
        if self._turns:
            rules.refuse_again(work, self._turns, self._unfit)
        if work.worker.loop == "reply":  # every reply of the lineage was a complete answer; check the last one again
            self._objections = max(self._replies - 1, 0)
        if self._turns and feedback:
            # The last answer of the lineage was not accepted: continue the conversation with the reason.
            rejected = self._turns[-1].number
            self._turns[-1].objection = f"That was not accepted: {conversation.asked_again(work)}"
        elif not self._turns and (self._is_call or not feedback) and (first := self._ordered_turn()) is not None:
            self._turns.append(first)
        while True:
            if self._turns:
                turn = self._turns[-1]
                if reason := self._given_up(turn):
                    how = f"add a tool that can do it, or {ANOTHER_MODEL}"
                    return self._no_answer(Failure.of(reason, "gave_up", FailureClass.INVALID, how))
                await self._call(turn)
                ended = self._hopeless(turn) or (None if turn.number == rejected else await self._answered(turn))
                if ended is not None:
                    return ended
                if conversation.idle_turns(work, self._turns) >= conversation.MOST_IDLE:
                    message = f"the calls of the worker's last {conversation.MOST_IDLE} turns brought nothing new"
                    return self._no_answer(Failure.of(message, "no_progress", FailureClass.EXHAUSTED, ASK_OTHERWISE))
            if (replies := self._replies) >= work.max_turns:
                message = f"no result after {replies:,} {'turn' if replies == 1 else 'turns'}"
                return self._no_answer(answers.too_many_turns(message))
            await self._ask()

    @cached_property
    def _beginning(self) -> tuple[Message, ...]:
        """The first messages of the conversation."""
        return conversation.beginning(self._work.instructions, compact_json(self._work.brief))

    @property
    def _replies(self) -> int:
        """The number of model replies."""
        return sum(1 for turn in self._turns if turn.number > 0)

    def _made(self, through: Turn | None = None) -> list[CallState]:
        """Return the finished tool calls, in order; with ``through``, those of this turn and the ones before it."""
        turns = self._turns if through is None else (each for each in self._turns if each.number <= through.number)
        return [result for turn in turns for result in turn.results]

    def _ordered_turn(self) -> Turn | None:
        """Return the call that the subtask itself names, if it names a tool and all arguments are available; else the
        call that the step is, if it is one."""
        work, subtask = self._work, self._work.step.subtask
        if self._is_call:
            return conversation.ordered_turn(work, work.worker.tools[0], deepcopy(dict(work.brief)))
        if subtask is None or (tool := work.tools.get(subtask.tool or "")) is None:
            return None  # the model learns that a named tool was not called, and cannot call it either
        args = resolved(subtask.args, work.needs)
        if subtask.needs and (len(args) < len(subtask.args) or argument_problems(tool, args)):
            return None  # the model fills in the arguments from the results
        return conversation.ordered_turn(work, tool.name, args)

    # --- the end -----------------------------------------------------------------------------------------------------

    def _hopeless(self, turn: Turn) -> AttemptReturned | None:
        """Return the end of the attempt if a call of this turn failed in a way that the model cannot fix."""
        for result in turn.done.values():
            failure = result.failure
            if failure is not None and (
                self._is_call
                or failure.class_ in conversation.ENDING
                or (self._work.names(result.tool) and failure.class_ is not FailureClass.INVALID)
            ):
                return answers.failed(self._work, failure)
        return None

    async def _answered(self, turn: Turn) -> AttemptReturned | None:
        """Return the result if the turn ends the attempt: the subtask's own call is enough, or the model answered."""
        work, text, log = self._work, turn.message.text.strip(), self._log
        if turn.message.tool_calls and ((result := self._of_call(turn)) is not None or work.worker.loop != "reply"):
            return result
        withheld, made = await self._withheld(turn), self._made()
        problems = answers.problems_of(work, made, turn)
        if withheld is not None and work.step.judges and not problems:
            # Its verdicts count; the answer is written by itself, and checked again.
            return self._ok(text or "review", {**object_of(turn.value), "answer": ""})
        problems = problems or ([withheld.message] if withheld is not None else [])
        if not problems:
            if work.step.subtask is not None and work.step.subtask.output_schema is not None:
                return self._ok(compact_json(turn.value), shaped=turn.value)
            value = work.accepted(turn.value, turn.message.text, made)
            return self._ok(text or work.step.worker, None if value == turn.value else value)
        self._objections += 1
        turn.objection = answers.asked_for_again(work, made, turn, problems, gives_up=self._gives_up_with)
        failure = answers.not_accepted(work, made, turn, problems)
        if withheld is not None and self._objections > 1:
            return answers.failed(self._work, withheld)
        if self._objections > work.definition.limits.max_repairs:
            return answers.failed(self._work, failure)
        if self._replies < work.max_turns:
            log.append(NoteEmitted(attempt=work.attempt.attempt, message=failure.message, refused=True))
        return None

    def _of_call(self, turn: Turn) -> AttemptReturned | None:
        """Return the result if the turn made the ordered call, or the one for which the model worked out arguments, and
        what its tool returned is enough."""
        work, done = self._work, turn.done.get(0)
        if done is None or not done.ok:
            return None
        if turn.number > 0:
            names = [each.name for each in turn.message.tool_calls]
            subtask = work.step.subtask
            if subtask is None or names != [subtask.tool] or answers.unproven(work, self._made()) is not None:
                return None
        if not answers.is_enough(work, done.raw):
            return None
        said = done.summary or ""
        said = text_of(done.raw) if is_blank(said) and self._is_call else said
        said = summary_of(done.raw) if is_blank(said) else said
        shaped = work.step.subtask is not None and work.step.subtask.expected_output
        return self._ok(said, shaped=done.raw if shaped else None)

    async def _withheld(self, turn: Turn) -> Failure | None:
        """Let the hooks decide on the answer of the run, if the turn gives it. Return why they withhold it."""
        work, text = self._work, text_of(object_of(turn.value).get("answer"))
        text = text or (turn.message.text if work.step.final and not turn.message.tool_calls else "")
        if not text or work.step.subtask is not None or work.step.parent is not None:
            return None
        return await self._tools.hooks.before_answer(work.run_id, work.definition, text)

    def _ok(self, summary: str, value: Json = None, shaped: Json = None) -> AttemptReturned:
        return answers.completed(self._work, self._made(), summary, value, shaped)

    def _no_answer(self, lapse: Failure) -> AttemptReturned:
        """Return the end of an attempt without an answer, with the error of the ordered call, or of the last one."""
        made = self._made()
        proof = answers.unproven(self._work, made)
        errors = [call.failure for call in made if call.failure is not None]
        error = proof if proof is not None and proof.type != "unproven" else errors[-1] if errors else None
        if error is None:
            return answers.failed(self._work, lapse)
        message = lapse.message
        if error.message not in message:
            message = f"{message.rstrip('.')}; the last error: {error.message}"
        # Of a worker that gives up, the error says whether the same call is worth another try.
        of = error if lapse.type == "gave_up" else lapse
        return answers.failed(self._work, of.evolve(message=message))

    @property
    def _gives_up_in_words(self) -> bool:
        """Whether the instructions let the worker write that it gives up."""
        return self._work.worker.loop == "turns" and f"{GIVES_UP}:" in self._work.instructions

    def _given_up(self, turn: Turn) -> str:
        """Return why a reply gives up, with a call or in words (``CANNOT: reason``); "" if it does not."""
        for position in turn.open:
            if turn.calls[position].name == GIVE_UP:
                return str((turn.calls[position].arguments or {}).get("reason") or _NO_REASON)
        if turn.message.tool_calls or not self._gives_up_in_words:
            return ""
        found = _CANNOT.match(turn.message.text)
        return (found["reason"].strip() or _NO_REASON) if found is not None else ""

    # --- model calls -------------------------------------------------------------------------------------------------

    async def _ask(self) -> None:
        """Get one more reply of the model and commit it. Raises ModelError.

        If the conversation exceeds the model's context window, it is shortened, and the model is called again.
        """
        work, number = self._work, self._turns[-1].number + 1 if self._turns else 1
        while True:
            messages = conversation.messages_of(work, self._beginning, self._turns, self._compacted, self._objection)
            is_text = work.step.final and work.output is None
            on_text = self._on_text if is_text else self._on_structured()
            try:
                reply = await self._reply(number, messages, work.output, self._offered(), on_text)
                break
            except ModelError as error:
                shorter = conversation.compact(work, self._turns, self._compacted)
                if error.failure.class_ is not FailureClass.TOO_LARGE or shorter is None:
                    raise
            self._compacted = shorter
            await self._log.append(ConversationCompacted(attempt=work.attempt.attempt, **shorter._asdict()))
        self._turns.append(conversation.new_turn(work, number, reply.message, reply.value))

    def _objection(self, turn: Turn) -> str:
        """Return why a turn was not accepted; of a turn from the log too."""
        if not turn.objection:
            made = self._made(turn)
            problems = answers.problems_of(self._work, made, turn)
            turn.objection = answers.asked_for_again(self._work, made, turn, problems, gives_up=self._gives_up_with)
        return turn.objection

    @property
    def _gives_up_with(self) -> str:
        """The words that tell a worker how to give up."""
        return f"call {GIVE_UP} with" if GIVE_UP_SPEC in self._offered() else f"write {GIVES_UP}: and"

    def _offered(self) -> tuple[ToolSpec, ...]:
        """Return the tools as a model is shown them."""
        given, tools = self._work.step, tuple(self._work.tools.values())
        shaped = self._work.shape is not None and (given.subtask is not None or given.final)  # it cannot write words
        return (*tools, GIVE_UP_SPEC) if shaped or (tools and not self._gives_up_in_words) else tools

    def _on_structured(self) -> Callable[[str], None] | None:
        """Return what takes the pieces of a structured answer: it records elements, and shows a draft of the answer."""
        work, show, name = self._work, self._on_text, self._work.worker.elements
        may_show = work.details.draft if show is not None else None
        if not name and may_show is None:
            return None
        if self._is_shown and show is not None:
            show("")  # the earlier text was not accepted
        self._is_shown = False
        written, indexes, schema = Written(name, may_show), count(), {**object_of(work.shape), "required": [name]}

        def take(piece: str) -> None:
            nonlocal written, indexes
            if not piece:  # the answer starts again
                written, indexes = Written(name, may_show), count()
            elements, text = written.take(piece)
            if show is not None and (text or (self._is_shown and not piece)):
                show(text)
                self._is_shown = bool(text)
            if written.is_whole:
                return  # nothing is gained by beginning with a part of an answer that is here as a whole
            for value, index in zip(elements, indexes, strict=False):
                if answers.is_sound(work, {name: [value]}, schema):
                    self._log.append(ElementWritten(attempt=work.attempt.attempt, index=index, value=value))

        return take
