"""Check answers against what their tasks expect in words: code first, then a model in one short call.

An answer that lacks something is asked for once more. The next one is the result in any case, with a mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from leadhand.domain.errors import FailureClass
from leadhand.domain.tool import ToolResult
from leadhand.domain.value import object_of, texts_of
from leadhand.domain.work_result import NOT_AS_EXPECTED, WorkResult
from leadhand.engine.conversation import Conversation
from leadhand.engine.conversation_turn import Turn
from leadhand.engine.turns import Turns
from leadhand.ports import ModelError, Work


class Problems(Protocol):
    """Returns the other problems of an answer after the calls ``made``."""

    def __call__(self, made: Sequence[ToolResult], turn: Turn, *, first: bool) -> list[str]: ...


class Expectations:
    """What the task of one attempt expects in words."""

    def __init__(self, work: Work, turns: Turns) -> None:
        self._work = work
        self._turns = turns
        self._marked: WorkResult | None = None

    async def checked(
        self, conversation: Conversation, turn: Turn, result: WorkResult, problems: Problems
    ) -> WorkResult | None:
        """Return a result as it is, or marked with what it lacks; None if the model is to be asked once more."""
        expectation = self._work.expected(turn.value, conversation.finished(turn))
        if expectation is None:
            return result
        missing, unknown = expectation.missing, ""
        if not missing and expectation.question is not None:
            try:
                missing = await self._turns.judged(conversation, turn, expectation)
            except ModelError as error:
                unknown = f"nobody checked it: {error.failure.message}"
        if not missing and not unknown:
            return result
        marked = result.evolve(value={**object_of(result.value), NOT_AS_EXPECTED: list(missing) or [unknown]})
        last = conversation.replies >= self._work.max_turns
        before = _answers_before(conversation, turn)
        if unknown or last or any(self._missing(conversation, each, problems) for each in before):
            return marked
        turn.objection = _asked_again(missing)
        self._turns.refuse("; ".join(missing))
        self._marked = marked
        return None

    def better(self, result: WorkResult) -> WorkResult:
        """Return the marked result that there was, if asking once more brought none."""
        spent = result.error is not None and result.error.class_ in (FailureClass.INVALID, FailureClass.EXHAUSTED)
        return self._marked if spent and self._marked is not None else result

    def objection(self, conversation: Conversation, turn: Turn, problems: Problems) -> str:
        """Return the message about an answer from the log that lacked something; "" for another one."""
        missing = self._missing(conversation, turn, problems)
        return _asked_again(missing) if missing else ""

    def _missing(self, conversation: Conversation, turn: Turn, problems: Problems) -> Sequence[str]:
        """Return what an answer without other problems lacks, from what the log has: no model is asked."""
        made = conversation.finished(turn)
        expectation = self._work.expected(turn.value, made)
        if expectation is None or problems(made, turn, first=True):
            return ()
        return expectation.missing or texts_of(object_of(conversation.judged.get(turn.number + 1)).get("missing"))


def _answers_before(conversation: Conversation, turn: Turn) -> list[Turn]:
    return [each for each in conversation.turns if each.number < turn.number and not each.message.tool_calls]


def _asked_again(missing: Sequence[str]) -> str:
    how = "Write the whole answer again with that; answer with one JSON object, and nothing else."
    return f"That is not what expected_output asks for: {'; '.join(missing)}. {how}"
